"""All of R^d: nothing to project on, nothing to minimise linearly over."""

import math

from jaxbandits.base.pytree import pytree
from jaxbandits.domains import points
from jaxbandits.domains.points import Point, Shape


@pytree
class WholeSpace:
    """$R^d$, and the matrices, and the parameters of any model."""

    @property
    def diameter(self) -> float:
        return math.inf

    def zero(self, shape: Shape) -> Point:
        return points.zeros(shape)

    def project(self, x: Point) -> Point:
        return x
