"""Constrained online convex optimisation: algorithms and environments, under one name."""

from jaxbandits.algorithms.coco.ofw_tvc import OFWTVC
from jaxbandits.environments.coco.linear_constraints import LinearConstraints

__all__ = ["OFWTVC", "LinearConstraints"]
