"""Bandits with K arms and no features: algorithms and environments, in one namespace."""

from jaxbandits.algorithms.armed import *
from jaxbandits.environments.armed import *
