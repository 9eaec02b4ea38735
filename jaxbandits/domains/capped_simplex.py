"""The capped simplex `{0 <= x <= cap, sum x = total}`: for cap = 1 and a whole total, k-sets in the mean."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.core.batching import fori_loop, trials_last
from jaxbandits.core.errors import InputError
from jaxbandits.core.linalg import UNROLLED
from jaxbandits.core.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains import points
from jaxbandits.domains.points import Shape


@pytree
class CappedSimplex:
    """`{x in R^d: 0 <= x <= cap, sum x = total}`; no interior points. Learners start from the middle."""

    dim: int = static(range="[1, inf)", doc="d: the diameter depends on it")
    total: ArrayLike = param(1.0, "(0, inf)", "sum of the coordinates, at most d cap")
    cap: ArrayLike = param(1.0, "(0, inf)", "largest value of a coordinate")

    def check(self) -> None:
        with np.errstate(over="ignore"):
            filled = np.asarray(self.total, float) / np.asarray(self.cap, float)
        if np.any(filled > self.dim * (1.0 + 1e-6)):
            raise InputError(f"CappedSimplex.total must be at most dim = {self.dim} caps, got {np.max(filled):g} caps")

    @property
    def diameter(self) -> ArrayLike:
        """Of two vertices whose large coordinates avoid each other."""
        vertex = self._vertex(jnp.arange(self.dim))
        return jnp.sqrt(2.0 * jnp.maximum(jnp.sum(vertex * vertex) - jnp.sum(vertex * vertex[::-1]), 0.0))

    def zero(self, shape: Shape) -> jax.Array:
        """`[d]` all coordinates equal."""
        return points.zeros(shape) + self.total / points.size(shape)

    def outer_radius(self, shape: Shape) -> ArrayLike:
        """The norm of a vertex."""
        return points.norm(self._vertex(jnp.arange(points.size(shape))))

    def lmo(self, direction: jax.Array, guess: None = None) -> tuple[jax.Array, None]:
        """`[d]` the cap on the least coordinates, the first of equal ones, until the total is spent."""
        del guess
        return self._vertex(_rank(direction)), None

    def project(self, x: jax.Array) -> jax.Array:
        """`[d]` the nearest point (Euclidean): `clip(x - s, 0, cap)` for the s that gives the sum.

        The sum falls with s: bisection finds which coordinates are clipped, from which s follows.
        """
        total, cap = self.total, self.cap
        x = _below_zero(x)  # relative to the largest: s keeps its digits where all coordinates are large

        def halve(_: jax.Array, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            return _halved(x, *ends, total, cap)

        steps = jnp.finfo(x.dtype).nmant  # the rest is done by the corrections of `_clipped`
        return _clipped(x, *fori_loop(0, steps, halve, _ends(x, cap)), total, cap)

    def contains(self, x: jax.Array) -> jax.Array:
        return _contains(x, self.total, self.cap)

    def _vertex(self, rank: jax.Array) -> jax.Array:
        return _spent(rank, self.total, self.cap)


@trials_last
def _rank(values: jax.Array) -> jax.Array:
    """`[d]` how many coordinates are less, or equal and before."""
    n = values.shape[0]
    if n > UNROLLED:
        order = jnp.argsort(values, axis=0, stable=True)
        return jnp.argsort(order, axis=0)
    index = lax.broadcasted_iota(jnp.int32, values.shape, 0)
    return sum(
        ((values[k] < values) | ((values[k] == values) & (k < index))).astype(jnp.int32) for k in range(n)
    ) + jnp.zeros_like(index)


@trials_last
def _spent(rank: jax.Array, total: ArrayLike, cap: ArrayLike) -> jax.Array:
    return jnp.clip(total - cap * rank, 0.0, cap)


@trials_last
def _below_zero(y: jax.Array) -> jax.Array:
    return y - jnp.max(y, axis=0)


@trials_last
def _ends(y: jax.Array, cap: ArrayLike) -> tuple[jax.Array, jax.Array]:
    """Thresholds at which every coordinate is at the cap, and at 0."""
    low = jnp.min(y, axis=0) - cap
    return low, jnp.max(y, axis=0).astype(low.dtype)  # of one type: the cap may be float64 where y is float32


@trials_last
def _halved(
    y: jax.Array, low: jax.Array, high: jax.Array, total: ArrayLike, cap: ArrayLike
) -> tuple[jax.Array, jax.Array]:
    middle = 0.5 * (low + high)
    above = jnp.sum(jnp.clip(y - middle, 0.0, cap), axis=0) > total
    return jnp.where(above, middle, low), jnp.where(above, high, middle)


@trials_last
def _clipped(y: jax.Array, low: jax.Array, high: jax.Array, total: ArrayLike, cap: ArrayLike) -> jax.Array:
    """With the coordinates that are strictly between 0 and the cap known, s solves a linear equation.

    What is missing from s stays apart: added to a large s it would be rounded away. The second time corrects for
    coordinates that the first put on the other side of 0 or the cap.
    """
    y = y - 0.5 * (low + high)
    for _ in range(2):
        full, free = y >= cap, (y < cap) & (y > 0.0)
        count = jnp.sum(free, axis=0)
        excess = jnp.sum(jnp.where(free, y, 0.0), axis=0) + cap * jnp.sum(full, axis=0) - total
        y = y - jnp.where(count > 0, excess / jnp.maximum(count, 1), 0.0)
    return jnp.clip(y, 0.0, cap)


@trials_last
def _contains(x: jax.Array, total: ArrayLike, cap: ArrayLike) -> jax.Array:
    eps = jnp.finfo(x.dtype).eps * (64 + x.shape[0])  # as for the simplex
    inside = (jnp.min(x, axis=0) >= -eps * cap) & (jnp.max(x, axis=0) <= cap * (1.0 + eps))
    return inside & (jnp.abs(jnp.sum(x, axis=0) - total) <= eps * total)
