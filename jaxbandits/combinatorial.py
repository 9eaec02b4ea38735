"""Bandits whose learners choose several items per round, as a list or a set: algorithms and environments."""

from jaxbandits.algorithms.combinatorial import *
from jaxbandits.environments.combinatorial import *
