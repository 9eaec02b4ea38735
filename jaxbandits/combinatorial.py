"""Bandits that choose several items per round, in a list or a set: algorithms and environments, under one name."""

from jaxbandits.algorithms.combinatorial import *
from jaxbandits.environments.combinatorial import *
