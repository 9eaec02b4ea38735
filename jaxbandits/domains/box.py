"""The box `{low <= x <= high}`, each coordinate on its own."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.core import linalg
from jaxbandits.core.batching import trials_last
from jaxbandits.core.errors import InputError
from jaxbandits.core.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains import points
from jaxbandits.domains.points import Shape


@pytree
class Box:
    """`{x: low <= x <= high}` of vectors or matrices; the bounds are numbers, or arrays of the shape of x.

    Learners start from the point nearest to the origin; `center` is the middle.
    """

    dim: int | tuple[int, ...] = static(range="[1, inf)", doc="d, or the shape of x: the diameter depends on it")
    low: ArrayLike = param(-1.0, "(-inf, inf)", "least values, below high: one, or [d]")
    high: ArrayLike = param(1.0, "(-inf, inf)", "largest values: one, or [d]")

    def check(self) -> None:
        for name, bound in (("low", self.low), ("high", self.high)):
            if isinstance(bound, (list, tuple)):
                raise InputError(f"Box.{name} must be a number or an array, got a {type(bound).__name__}")
        low, high = np.asarray(self.low), np.asarray(self.high)
        try:
            empty = ~(low < high)
        except ValueError:
            raise InputError(f"Box.low and Box.high must have one shape, got {low.shape} and {high.shape}") from None
        if empty.any():
            low, high = (np.broadcast_to(a, empty.shape)[empty][0] for a in (low, high))
            raise InputError(f"Box.low must lie below Box.high, got {low} and {high}")

    @property
    def diameter(self) -> ArrayLike:
        return linalg.norm(_width(points.zeros(self.dim), self.low, self.high))

    def zero(self, shape: Shape) -> jax.Array:
        """`[d]` the point nearest to the origin."""
        return self.project(points.zeros(shape))

    def center(self, shape: Shape) -> jax.Array:
        """`[d]` the middle."""
        return _middle(points.zeros(shape), self.low, self.high)

    def inner_radius(self, shape: Shape) -> ArrayLike:
        """Half the shortest side."""
        return 0.5 * jnp.min(_width(points.zeros(shape), self.low, self.high))

    def outer_radius(self, shape: Shape) -> ArrayLike:
        return linalg.norm(_furthest(points.zeros(shape), self.low, self.high))

    def lmo(self, direction: jax.Array, guess: None = None) -> tuple[jax.Array, None]:
        """`[d]` low where the direction is positive, high where it is negative, the middle where it is zero."""
        del guess
        return _opposite(direction, self.low, self.high), None

    def project(self, x: jax.Array) -> jax.Array:
        """`[d]` the nearest point: every coordinate clipped."""
        return _clip(x, self.low, self.high)

    def contains(self, x: jax.Array) -> jax.Array:
        slack = 16.0 * jnp.finfo(x.dtype).eps * _furthest(x, self.low, self.high)
        return jnp.all(jnp.abs(x - self.project(x)) <= slack)


_clip = trials_last(jnp.clip)


@trials_last
def _width(like: jax.Array, low: ArrayLike, high: ArrayLike) -> jax.Array:
    return jnp.zeros_like(like) + (high - low)


@trials_last
def _middle(like: jax.Array, low: ArrayLike, high: ArrayLike) -> jax.Array:
    return jnp.zeros_like(like) + (0.5 * low + 0.5 * high)


@trials_last
def _furthest(like: jax.Array, low: ArrayLike, high: ArrayLike) -> jax.Array:
    return jnp.zeros_like(like) + jnp.maximum(jnp.abs(low), jnp.abs(high))


@trials_last
def _opposite(direction: jax.Array, low: ArrayLike, high: ArrayLike) -> jax.Array:
    return jnp.where(direction > 0.0, low, jnp.where(direction < 0.0, high, 0.5 * low + 0.5 * high))
