"""The capped simplex `{0 <= x <= cap, sum x = total}`.

With cap = 1 and total = k it is the convex hull of the indicator vectors of all sets of k coordinates.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains import points
from jaxbandits.domains.points import Shape
from jaxbandits.tracing.batching import fori_loop
from jaxbandits.tracing.short_axes import WRITTEN_OUT


@pytree
class CappedSimplex:
    """`{x in R^d: 0 <= x <= cap, sum x = total}`, which has no interior points. Learners start from its centre."""

    dim: int = static(range="[1, inf)", doc="number of coordinates d")
    total: ArrayLike = param(1.0, "(0, inf)", "sum of the coordinates, at most d cap")
    cap: ArrayLike = param(1.0, "(0, inf)", "largest value of a coordinate")

    def check(self) -> None:
        with np.errstate(over="ignore"):
            filled = np.asarray(self.total, float) / np.asarray(self.cap, float)
        if np.any(filled > self.dim * (1.0 + 1e-6)):
            raise InputError(
                f"CappedSimplex.total must be at most {self.dim} (dim) times the cap, got {np.max(filled):g} times "
                "the cap"
            )

    @property
    def diameter(self) -> ArrayLike:
        """The distance between two vertices whose nonzero coordinates overlap as little as possible."""
        vertex = self._vertex(jnp.arange(self.dim))
        return jnp.sqrt(2.0 * jnp.maximum(jnp.sum(vertex * vertex) - jnp.sum(vertex * vertex[::-1]), 0.0))

    def zero(self, shape: Shape) -> jax.Array:
        """Return the centre `[d]`, whose coordinates are all equal."""
        return points.zeros(shape) + self.total / points.size(shape)

    def outer_radius(self, shape: Shape) -> ArrayLike:
        """Return the norm of a vertex; all vertices have the same norm."""
        return points.norm(self._vertex(jnp.arange(points.size(shape))))

    def lmo(self, direction: jax.Array, guess: None = None) -> tuple[jax.Array, None]:
        """Return the vertex `[d]` whose large coordinates are those where the direction is smallest.

        Coordinates are filled up to the cap one by one, until their sum is `total`; ties go to the first coordinate.
        """
        del guess
        return self._vertex(_rank(direction)), None

    def project(self, x: jax.Array) -> jax.Array:
        """Return the Euclidean projection `[d]`: `clip(x - s, 0, cap)` with s such that the sum is `total`.

        Let k = ceil(total / cap), and let p be the k-th largest coordinate. Then s lies in [p - cap, p], because fewer
        than k coordinates exceed p and at least k are at least p. The code computes s - p, which keeps its precision
        however large the coordinates are. The sum decreases with s, so that bisection finds which coordinates are
        clipped, and s then solves a linear equation.
        """
        total, cap = self.total, self.cap
        k = jnp.clip(jnp.ceil(total / jnp.asarray(cap, x.dtype)), 1, len(x)).astype(int)
        # Beyond these bounds a coordinate is clipped for every s.
        x = jnp.clip(x - _kth_largest(x, k), -2.0 * cap, 2.0 * cap)

        def halve(_: jax.Array, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            low, high = ends
            middle = 0.5 * (low + high)
            above = jnp.sum(jnp.clip(x - middle, 0.0, cap)) > total
            return jnp.where(above, middle, low), jnp.where(above, high, middle)

        high = jnp.zeros_like(x[0])  # has the type of x: the cap may be float64 while x is float32
        steps = jnp.finfo(x.dtype).nmant  # `_clip_to_sum` corrects the remaining error
        low, high = fori_loop(0, steps, halve, (high - cap, high))
        return _clip_to_sum(x - 0.5 * (low + high), total, cap)

    def contains(self, x: jax.Array) -> jax.Array:
        eps = jnp.finfo(x.dtype).eps * (64 + len(x))  # the tolerance of `Simplex.contains`
        inside = (jnp.min(x) >= -eps * self.cap) & (jnp.max(x) <= self.cap * (1.0 + eps))
        return inside & (jnp.abs(jnp.sum(x) - self.total) <= eps * self.total)

    def _vertex(self, rank: jax.Array) -> jax.Array:
        total, cap = points.as_floats(self.total), points.as_floats(self.cap)
        return jnp.clip(total - cap * rank, 0.0, cap)


def _kth_largest(values: jax.Array, k: jax.Array) -> jax.Array:
    if len(values) > WRITTEN_OUT:
        return jnp.sort(values)[len(values) - k]
    return jnp.sum(jnp.where(_rank(values) == len(values) - k, values, 0.0))


def _rank(values: jax.Array) -> jax.Array:
    """Return `[d]`: for each coordinate, the number of coordinates that are smaller, or equal with a smaller index."""
    if len(values) > WRITTEN_OUT:
        return jnp.argsort(jnp.argsort(values))
    index = jnp.arange(len(values))
    is_equal = values == values[:, None]
    return jnp.sum((values < values[:, None]) | (is_equal & (index < index[:, None])), axis=1)


def _clip_to_sum(y: jax.Array, total: ArrayLike, cap: ArrayLike) -> jax.Array:
    """Return `clip(y - s, 0, cap)` for the s with which the sum is `total`; the initial guess is s = 0.

    Given the set of coordinates that lie strictly between 0 and the cap, s solves a linear equation. The equation is
    solved twice, because the first solution may move coordinates across 0 or the cap.
    """
    for _ in range(2):
        full, free = y >= cap, (y < cap) & (y > 0.0)
        count = jnp.sum(free)
        excess = jnp.sum(jnp.where(free, y, 0.0)) + cap * jnp.sum(full) - total
        y = y - jnp.where(count > 0, excess / jnp.maximum(count, 1), 0.0)
    return jnp.clip(y, 0.0, cap)
