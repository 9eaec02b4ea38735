"""Convex sets."""

from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.nuclear import NuclearBall
from jaxbandits.domains.whole_space import WholeSpace

__all__ = ["L2Ball", "NuclearBall", "WholeSpace"]
