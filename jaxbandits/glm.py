"""Generalised linear bandits: algorithms, environments, links and data, under one name."""

from jaxbandits.algorithms.glm import *
from jaxbandits.environments.datasets.covertype import load_covertype as load_covertype
from jaxbandits.environments.glm import *
from jaxbandits.estimation import links as links
