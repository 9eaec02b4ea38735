"""All of R^d: the projection is the identity, and linear functions have no minimum."""

import math

from jaxbandits.base.pytree import pytree
from jaxbandits.domains import points
from jaxbandits.domains.points import Point, Shape


@pytree
class WholeSpace:
    """The space $R^d$, the space of all matrices of a shape, or the space of all parameters of a model."""

    @property
    def diameter(self) -> float:
        return math.inf

    def zero(self, shape: Shape) -> Point:
        return points.zeros(shape)

    def project(self, x: Point) -> Point:
        return x
