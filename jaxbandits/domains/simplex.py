"""The simplex `{x >= 0, sum x = total}`: distributions for total = 1."""

import math

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.domains import points
from jaxbandits.domains.points import Shape
from jaxbandits.numerics import first_axis
from jaxbandits.numerics.simplex import indicator
from jaxbandits.tracing.batching import while_loop


@pytree
class Simplex:
    """`{x in R^d: x >= 0, sum x = total}`, which has no interior. Learners start at its centre."""

    total: ArrayLike = param(1.0, "(0, inf)", "sum of the coordinates")

    @property
    def diameter(self) -> ArrayLike:
        """Of d >= 2; for d = 1, a single point, an upper bound."""
        return math.sqrt(2.0) * self.total

    def zero(self, shape: Shape) -> jax.Array:
        """Return `[d]`, all coordinates equal."""
        return points.zeros(shape) + self.total / points.size(shape)

    def outer_radius(self, shape: Shape) -> ArrayLike:
        del shape
        return self.total

    def lmo(self, direction: jax.Array, guess: None = None) -> tuple[jax.Array, None]:
        """Return `[d]`, the total on the first of the smallest coordinates."""
        del guess
        return self.total * indicator(first_axis.argmin(direction), len(direction)), None

    def project(self, x: jax.Array) -> jax.Array:
        """Return the nearest point `[d]` (Euclidean)."""
        return project_simplex(x, self.total)

    def contains(self, x: jax.Array) -> jax.Array:
        # Averages keep the sum up to a random walk of roundings that 2 / sqrt(t) forgets: 64 for 10^8 rounds.
        slack = (64 + len(x)) * jnp.finfo(x.dtype).eps * self.total
        return (jnp.min(x) >= -slack) & (jnp.abs(jnp.sum(x) - self.total) <= slack)


def project_simplex(y: jax.Array, total: ArrayLike) -> jax.Array:
    """Return `[d]` `argmin ||x - y||` over `x >= 0, sum x = total`: `max(y - s, 0)` for the s that gives the sum.

    Michelot's iteration: with the entries above s taken to be the positive ones, s follows from their sum; entries that
    fall to s drop out, and s only grows. It ends after d rounds at most, three or four as a rule; no sort, which would
    take one trial at a time.

    References: C. Michelot, "A finite algorithm for finding the projection of a point onto the canonical simplex of
      R^n", JOTA 1986.
    """
    y = y - jnp.max(y)  # relative to the largest, so that s lies in [-total, 0) and keeps its digits

    def threshold(s: ArrayLike) -> jax.Array:
        """Return the s for which the entries above it are the positive ones."""
        above = y > s
        return (jnp.sum(jnp.where(above, y, 0.0)) - total) / jnp.sum(above.astype(y.dtype))

    start = threshold(-jnp.inf)

    def growing(now: tuple[jax.Array, jax.Array]) -> jax.Array:
        return now[1] > now[0]

    def step(now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return now[1], threshold(now[1])

    return jnp.maximum(y - while_loop(growing, step, (start, threshold(start)), len(y))[1], 0.0)
