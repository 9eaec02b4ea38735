"""Dueling bandits, which compare two arms a round: algorithms and environments, under one name."""

from jaxbandits.algorithms.duels import *
from jaxbandits.environments.duels import *
