"""Bandits with K arms and no features: algorithms and environments, under one name."""

from jaxbandits.algorithms.armed import *
from jaxbandits.environments.armed import *
