"""Constrained online convex optimisation: algorithms and environments, under one name."""

from jaxbandits.algorithms.coco.bfw_tvc import BFWTVC
from jaxbandits.algorithms.coco.lbpm import LBPM
from jaxbandits.algorithms.coco.loo_bogd import LOOBOGD
from jaxbandits.algorithms.coco.lpm import LPM
from jaxbandits.algorithms.coco.ofw import OFW
from jaxbandits.algorithms.coco.ofw_tvc import OFWTVC
from jaxbandits.algorithms.coco.one_point import OnePoint
from jaxbandits.algorithms.coco.opdp import OPDP
from jaxbandits.algorithms.coco.pf_ofw import PFOFW
from jaxbandits.algorithms.coco.scbfw_tvc import SCBFWTVC
from jaxbandits.algorithms.coco.scofw import SCOFW
from jaxbandits.algorithms.coco.scofw_tvc import SCOFWTVC
from jaxbandits.algorithms.coco.sinha_vaze import SinhaVaze
from jaxbandits.algorithms.coco.strongly_convex_sinha_vaze import StronglyConvexSinhaVaze
from jaxbandits.algorithms.coco.two_point import TwoPoint
from jaxbandits.environments.coco.linear_constraints import LinearConstraints
from jaxbandits.environments.coco.matrix_completion import MatrixCompletion
from jaxbandits.environments.coco.quadratic_constraints import QuadraticConstraints

__all__ = [
    "BFWTVC",
    "LBPM",
    "LOOBOGD",
    "LPM",
    "OFW",
    "OFWTVC",
    "OPDP",
    "PFOFW",
    "SCBFWTVC",
    "SCOFW",
    "SCOFWTVC",
    "LinearConstraints",
    "MatrixCompletion",
    "OnePoint",
    "QuadraticConstraints",
    "SinhaVaze",
    "StronglyConvexSinhaVaze",
    "TwoPoint",
]
