"""Convex sets on which learners play."""

from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.box import Box
from jaxbandits.domains.capped_simplex import CappedSimplex
from jaxbandits.domains.l1_ball import L1Ball
from jaxbandits.domains.nuclear import NuclearBall
from jaxbandits.domains.polytope import Polytope
from jaxbandits.domains.shrunk import Shrunk
from jaxbandits.domains.simplex import Simplex
from jaxbandits.domains.spectrahedron import Spectrahedron
from jaxbandits.domains.whole_space import WholeSpace

__all__ = [
    "Box",
    "CappedSimplex",
    "L1Ball",
    "L2Ball",
    "NuclearBall",
    "Polytope",
    "Shrunk",
    "Simplex",
    "Spectrahedron",
    "WholeSpace",
]
