"""The l1 ball `{|x_1| + ... + |x_d| <= radius}`: the convex hull of the points `+- radius e_i`."""

import math

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.domains import points
from jaxbandits.domains.points import Shape
from jaxbandits.domains.simplex import project_simplex
from jaxbandits.numerics import first_axis
from jaxbandits.numerics.simplex import indicator


@pytree
class L1Ball:
    """`{x in R^d: ||x||_1 <= radius}`."""

    radius: ArrayLike = param(1.0, "(0, inf)", "radius")

    @property
    def diameter(self) -> ArrayLike:
        return 2.0 * points.as_floats(self.radius)

    def zero(self, shape: Shape) -> jax.Array:
        """Return the centre `[d]`."""
        return points.zeros(shape)

    def center(self, shape: Shape) -> jax.Array:
        return points.zeros(shape)

    def inner_radius(self, shape: Shape) -> ArrayLike:
        return self.radius / math.sqrt(points.size(shape))

    def outer_radius(self, shape: Shape) -> ArrayLike:
        del shape
        return self.radius

    def lmo(self, direction: jax.Array, guess: None = None) -> tuple[jax.Array, None]:
        """Return `-radius sign(c_i) e_i` `[d]` for the first index i of the largest `|c_i|`; 0 for a zero direction."""
        del guess
        unit = indicator(first_axis.argmin(-jnp.abs(direction)), len(direction))
        return -points.as_floats(self.radius) * jnp.sign(direction) * unit, None

    def project(self, x: jax.Array) -> jax.Array:
        """Return the Euclidean projection `[d]`.

        For a point outside the ball, its absolute values are projected on the simplex, and its signs are kept.
        """
        outside = jnp.sum(jnp.abs(x)) > self.radius
        return points.where(outside, jnp.sign(x) * project_simplex(jnp.abs(x), self.radius), x)

    def contains(self, x: jax.Array) -> jax.Array:
        norm = jnp.sum(jnp.abs(x))
        return norm <= self.radius * (1.0 + (16 + len(x)) * jnp.finfo(norm.dtype).eps)
