"""A set shrunk towards an interior point: `(1 - shrink) K + shrink c`, from which steps of length shrink r stay in K.

One-point gradient estimators need it: if K contains the ball of radius r around c and y is in the shrunk set, then
`y + delta u` lies in K for every unit vector u as long as delta <= shrink r. With c = 0 the set is
K_delta = (1 - delta / r) K of the papers.
"""

from collections.abc import Callable
from typing import Any

import jax

from jaxbandits.base.pytree import ArrayLike, PyTree, param, pytree
from jaxbandits.domains import points, protocol
from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.points import Point, Shape


@pytree
class Shrunk:
    """`{(1 - shrink) x + shrink c: x in base}`, with the methods that `base` has.

    The centre c is that of `base`, the centre of its largest ball. A set without interior points has none, and cannot
    be shrunk in this way. Learners start from the image of the starting point of `base`.
    """

    base: Any = param(factory=L2Ball, doc="K; needs center, inner_radius, and every method called on this domain")
    shrink: ArrayLike = param(0.0, "[0, 1)", "0 gives K, near 1 little more than c is left; delta / r for estimators")

    def check(self) -> None:
        protocol.check(self.base, "Shrunk.base", "center", "inner_radius")

    @property
    def diameter(self) -> ArrayLike:
        return (1.0 - self.shrink) * self.base.diameter

    def zero(self, shape: Shape) -> Point:
        return self._image(self.base.zero(shape))

    def center(self, shape: Shape) -> Point:
        return self.base.center(shape)

    def inner_radius(self, shape: Shape) -> ArrayLike:
        return (1.0 - self.shrink) * self.base.inner_radius(shape)

    def outer_radius(self, shape: Shape) -> ArrayLike:
        """Return R, an upper bound if c is not the origin."""
        return (1.0 - self.shrink) * self.base.outer_radius(shape) + self.shrink * points.norm(self.center(shape))

    # These are properties, so that they exist exactly if `base` has them (`protocol.check`).

    @property
    def lmo(self) -> Callable[..., tuple[Point, PyTree]]:
        """`lmo(direction, guess)` of `protocol.Domain`: the image of the answer of `base`."""
        of_base = self.base.lmo

        def lmo(direction: Point, guess: PyTree = None) -> tuple[Point, PyTree]:
            vertex, guess = of_base(direction, guess)
            return self._image(vertex), guess

        return lmo

    @property
    def project(self) -> Callable[[Point], Point]:
        """`project(x)` of `protocol.Domain`."""
        of_base = self.base.project
        return lambda x: self._image(of_base(self._preimage(x)))

    @property
    def contains(self) -> Callable[[Point], jax.Array]:
        """`contains(x)` of `protocol.Domain`."""
        of_base = self.base.contains
        return lambda x: of_base(self._preimage(x))

    def _image(self, x: Point) -> Point:
        return points.average(x, self.base.center(points.shape_of(x)), self.shrink)

    def _preimage(self, x: Point) -> Point:
        center = self.base.center(points.shape_of(x))
        return points.add(center, points.scale(points.subtract(x, center), 1.0 / (1.0 - self.shrink)))
