"""Bandits shared by several players, who lose rewards when they collide: algorithms and environments."""

from jaxbandits.algorithms.teams import *
from jaxbandits.environments.teams import *
