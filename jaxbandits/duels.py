"""Dueling bandits, in which each round compares two arms: algorithms and environments, in one namespace."""

from jaxbandits.algorithms.duels import *
from jaxbandits.environments.duels import *
