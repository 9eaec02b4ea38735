"""Constrained online convex optimisation: algorithms and environments, in one namespace."""

from jaxbandits.algorithms.coco import *
from jaxbandits.algorithms.coco.one_point import OnePoint as OnePoint
from jaxbandits.algorithms.coco.two_point import TwoPoint as TwoPoint
from jaxbandits.environments.coco import *
