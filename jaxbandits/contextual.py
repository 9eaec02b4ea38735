"""Bandits with a context that all arms share: algorithms and environments, under one name."""

from jaxbandits.algorithms.contextual import *
from jaxbandits.environments.contextual import *
