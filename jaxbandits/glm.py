"""Generalised linear bandits: algorithms, environments, links and data, in one namespace."""

from jaxbandits.algorithms.glm import *
from jaxbandits.environments.datasets.covertype import load_covertype as load_covertype
from jaxbandits.environments.glm import *
from jaxbandits.estimation import links as links
