"""Bandits that several players share, who lose rewards by collisions: algorithms and environments, under one name."""

from jaxbandits.algorithms.teams import *
from jaxbandits.environments.teams import *
