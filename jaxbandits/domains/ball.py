"""The Euclidean ball `{||x|| <= radius}` (Frobenius norm for matrices)."""

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.domains import points
from jaxbandits.domains.points import Point, Shape


@pytree
class L2Ball:
    """`{||x|| <= radius}`, centred at the origin; points may be any pytree of arrays."""

    radius: ArrayLike = param(1.0, "(0, inf)", "radius")

    @property
    def diameter(self) -> ArrayLike:
        return 2.0 * points.as_floats(self.radius)

    def zero(self, shape: Shape) -> Point:
        """Return the centre."""
        return points.zeros(shape)

    def center(self, shape: Shape) -> Point:
        return points.zeros(shape)

    def inner_radius(self, shape: Shape) -> ArrayLike:
        del shape
        return self.radius

    def outer_radius(self, shape: Shape) -> ArrayLike:
        del shape
        return self.radius

    def project(self, x: Point) -> Point:
        """Return the Euclidean projection on the ball."""
        norm = _positive(points.norm(x))
        return points.scale(x, jnp.minimum(1.0, self.radius / points.nan_if_infinite(norm)))

    def lmo(self, direction: Point, guess: None = None) -> tuple[Point, None]:
        """Return `argmin_{||v|| <= radius} <direction, v>`, in closed form; the origin when the direction is zero."""
        del guess
        norm = _positive(points.norm(direction))
        return jax.tree.map(lambda a: -(a / norm) * self.radius, direction), None

    def contains(self, x: Point) -> jax.Array:
        # If the square of x / radius overflows, the point is outside; if it underflows, the point is inside. The
        # comparison is right in both cases, and needs no root.
        relative = points.scale(x, 1.0 / points.as_floats(self.radius))
        square = points.inner(relative, relative)
        return square <= 1.0 + 32.0 * jnp.finfo(square.dtype).eps


def _positive(norm: jax.Array) -> jax.Array:
    # A direction of subnormal length gives a point inside the ball, never outside.
    return jnp.maximum(norm, jnp.finfo(norm.dtype).tiny)
