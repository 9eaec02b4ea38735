"""A set K shrunk towards an interior point c: `(1 - shrink) K + shrink c`.

One-point gradient estimators play perturbed points and need a shrunk set so that these points are feasible. If K
contains the ball of radius r around c and y is in the shrunk set, then `y + delta u` lies in K for every unit vector u
and every delta <= shrink r. With c = 0 this is the set that papers write as K_delta = (1 - delta / r) K.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, PyTree, param, pytree
from jaxbandits.domains import points, protocol
from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.points import Point, Shape


@pytree
class Shrunk:
    """`{(1 - shrink) x + shrink c: x in base}`. The methods `lmo`, `project` and `contains` exist if `base` has them.

    The centre c is `base.center`, the centre of the largest ball inside `base`. A set without interior points has no
    such centre and cannot be shrunk. Learners start from `(1 - shrink) x + shrink c`, where x is the point from which
    they start on `base`.
    """

    base: Any = param(factory=L2Ball, doc="the set K; it needs center and inner_radius")
    shrink: ArrayLike = param(0.0, "[0, 1)", "fraction by which K shrinks; gradient estimators use delta / r")

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
        """Return R, or an upper bound on it if c is not the origin."""
        return (1.0 - self.shrink) * self.base.outer_radius(shape) + self.shrink * points.norm(self.center(shape))

    # These are properties so that `hasattr`, by which `protocol.check` tests for a method, is True only if `base` has
    # it.

    @property
    def lmo(self) -> Callable[..., tuple[Point, PyTree]]:
        """The method `lmo(direction, guess)` of `protocol.Domain`: maps the point of `base.lmo` to its image."""
        of_base = self.base.lmo

        def lmo(direction: Point, guess: PyTree = None) -> tuple[Point, PyTree]:
            vertex, guess = of_base(direction, guess)
            return self._image(vertex), guess

        return lmo

    @property
    def project(self) -> Callable[[Point], Point]:
        """The method `project(x)` of `protocol.Domain`; a point whose preimage lies in `base` is returned unchanged."""
        of_base = self.base.project

        def project(x: Point) -> Point:
            preimage = self._preimage(x)
            nearest = of_base(preimage)
            moved = [jnp.any(a != b) for a, b in zip(*map(jax.tree.leaves, (nearest, preimage)), strict=True)]
            return points.where(functools.reduce(jnp.logical_or, moved), self._image(nearest), x)

        return project

    @property
    def contains(self) -> Callable[[Point], jax.Array]:
        """The method `contains(x)` of `protocol.Domain`."""
        of_base = self.base.contains
        return lambda x: of_base(self._preimage(x))

    def _image(self, x: Point) -> Point:
        return points.average(x, self.base.center(points.shape_of(x)), self.shrink)

    def _preimage(self, x: Point) -> Point:
        center = self.base.center(points.shape_of(x))
        return points.add(center, points.scale(points.subtract(x, center), 1.0 / (1.0 - self.shrink)))
