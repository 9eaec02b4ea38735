"""The simplex `{x >= 0, sum x = total}`; with total = 1 its points are probability distributions."""

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
    """`{x in R^d: x >= 0, sum x = total}`, which has no interior points. Learners start from its centre."""

    total: ArrayLike = param(1.0, "(0, inf)", "sum of the coordinates")

    @property
    def diameter(self) -> ArrayLike:
        """The diameter for d >= 2; an upper bound for d = 1, where the set is a point."""
        return math.sqrt(2.0) * points.as_floats(self.total)

    def zero(self, shape: Shape) -> jax.Array:
        """Return the centre `[d]`, whose coordinates are all equal."""
        return points.zeros(shape) + self.total / points.size(shape)

    def outer_radius(self, shape: Shape) -> ArrayLike:
        del shape
        return self.total

    def lmo(self, direction: jax.Array, guess: None = None) -> tuple[jax.Array, None]:
        """Return the vertex `[d]`: `total` at the (first) smallest coordinate of the direction, 0 elsewhere."""
        del guess
        return self.total * indicator(first_axis.argmin(direction), len(direction)), None

    def project(self, x: jax.Array) -> jax.Array:
        """Return the Euclidean projection `[d]`."""
        return project_simplex(x, self.total)

    def contains(self, x: jax.Array) -> jax.Array:
        # The rounding errors of a running average make the sum a random walk, damped by 2 / sqrt(t): 64 is enough for
        # 10^8 rounds.
        slack = (64 + len(x)) * jnp.finfo(x.dtype).eps * self.total
        return (jnp.min(x) >= -slack) & (jnp.abs(jnp.sum(x) - self.total) <= slack)


def project_simplex(y: jax.Array, total: ArrayLike) -> jax.Array:
    """Return `argmin ||x - y||` `[d]` over `x >= 0, sum x = total`, which is `max(y - s, 0)` for a threshold s.

    The threshold is computed by Michelot's iteration: the next s is the solution under the assumption that the entries
    above the current s are the positive ones. Entries that are at most s drop out, so that s never decreases. The
    iteration ends after at most d steps, usually three or four. It needs no sort, which XLA:CPU would run for one trial
    at a time.

    References: C. Michelot, "A finite algorithm for finding the projection of a point onto the canonical simplex of
      R^n", JOTA 1986.
    """
    y = y - jnp.max(y)  # relative to the largest entry, so that s lies in [-total, 0) and keeps its precision

    def threshold(s: ArrayLike) -> jax.Array:
        """Return the next s, under the assumption that the entries above the given s are the positive ones."""
        above = y > s
        return (jnp.sum(jnp.where(above, y, 0.0)) - total) / jnp.sum(above.astype(y.dtype))

    start = threshold(-jnp.inf)

    def growing(now: tuple[jax.Array, jax.Array]) -> jax.Array:
        return now[1] > now[0]

    def step(now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return now[1], threshold(now[1])

    return jnp.maximum(y - while_loop(growing, step, (start, threshold(start)), len(y))[1], 0.0)
