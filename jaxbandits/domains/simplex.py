"""The simplex `{x >= 0, sum x = total}`: distributions for total = 1."""

import math

import jax
import jax.numpy as jnp

from jaxbandits.core import linalg
from jaxbandits.core.batching import trials_last, while_loop
from jaxbandits.core.linalg import UNROLLED, added
from jaxbandits.core.pytree import ArrayLike, param, pytree
from jaxbandits.core.simplex import first_least, indicator
from jaxbandits.domains import points
from jaxbandits.domains.points import Shape


@pytree
class Simplex:
    """`{x in R^d: x >= 0, sum x = total}`; no interior points. Learners start from the middle, the least norm."""

    total: ArrayLike = param(1.0, "(0, inf)", "sum of the coordinates")

    @property
    def diameter(self) -> ArrayLike:
        """Of d >= 2; for d = 1, a single point, an upper bound."""
        return math.sqrt(2.0) * self.total

    def zero(self, shape: Shape) -> jax.Array:
        """`[d]` all coordinates equal."""
        return points.zeros(shape) + self.total / points.size(shape)

    def outer_radius(self, shape: Shape) -> ArrayLike:
        del shape
        return self.total

    def lmo(self, direction: jax.Array, guess: None = None) -> tuple[jax.Array, None]:
        """`[d]` the total on the first of the least coordinates."""
        del guess
        return linalg.scale(indicator(first_least(direction), len(direction)), self.total), None

    def project(self, x: jax.Array) -> jax.Array:
        """`[d]` the nearest point (Euclidean)."""
        return project_simplex(x, self.total)

    def contains(self, x: jax.Array) -> jax.Array:
        return _contains(x, self.total)


def project_simplex(y: jax.Array, total: ArrayLike) -> jax.Array:
    """`[d]` `argmin ||x - y||` over `x >= 0, sum x = total`: `max(y - s, 0)` for the s that gives the sum.

    Michelot's iteration: with the entries above s taken to be the positive ones, s follows from their sum; entries that
    fall to s drop out, and s only grows. It ends after d rounds at most, three or four as a rule; no sort, which would
    take one trial at a time.

    References: C. Michelot, "A finite algorithm for finding the projection of a point onto the canonical simplex of
      R^n", JOTA 1986.
    """
    y = _below_zero(y)  # relative to the largest, so that s lies in [-total, 0) and keeps its digits

    def next_threshold(s: jax.Array) -> jax.Array:
        return _threshold(y, s, total)

    start = _threshold(y, jnp.full_like(linalg.total(y), -jnp.inf), total)

    def growing(now: tuple[jax.Array, jax.Array]) -> jax.Array:
        return now[1] > now[0]

    def step(now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return now[1], next_threshold(now[1])

    return _positive_part(y, while_loop(growing, step, (start, next_threshold(start)), len(y))[1])


@trials_last
def _below_zero(y: jax.Array) -> jax.Array:
    return y - jnp.max(y, axis=0)


@trials_last
def _threshold(y: jax.Array, s: jax.Array, total: ArrayLike) -> jax.Array:
    """What s must be if the entries above it are the positive ones."""
    above = y > s
    terms, count = jnp.where(above, y, 0.0), above.astype(y.dtype)
    if y.shape[0] > UNROLLED:
        return (jnp.sum(terms, axis=0) - total) / jnp.sum(count, axis=0)
    return (added(terms) - total) / added(count)


@trials_last
def _positive_part(y: jax.Array, s: jax.Array) -> jax.Array:
    return jnp.maximum(y - s, 0.0)


@trials_last
def _contains(x: jax.Array, total: ArrayLike) -> jax.Array:
    # Averages keep the sum up to a random walk of roundings that 2 / sqrt(t) forgets: 64 for 10^8 rounds.
    slack = (64 + x.shape[0]) * jnp.finfo(x.dtype).eps * total
    return (jnp.min(x, axis=0) >= -slack) & (jnp.abs(jnp.sum(x, axis=0) - total) <= slack)
