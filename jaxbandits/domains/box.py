"""The box `{low <= x <= high}`, with separate bounds for each coordinate."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains import points
from jaxbandits.domains.points import Shape


@pytree
class Box:
    """`{x: low <= x <= high}` for vectors or matrices x; the bounds are numbers or arrays with the shape of x.

    Learners start from the point of the box nearest to the origin, whereas `center` is the midpoint of the box.
    """

    dim: int | tuple[int, ...] = static(range="[1, inf)", doc="d, or the shape of x; determines the diameter")
    low: ArrayLike = param(-1.0, "(-inf, inf)", "lower bounds, less than high: one number, or [d]")
    high: ArrayLike = param(1.0, "(-inf, inf)", "upper bounds: one number, or [d]")

    def check(self) -> None:
        shape = np.shape(points.zeros(self.dim))
        for name, bound in (("low", self.low), ("high", self.high)):
            if isinstance(bound, (list, tuple)):
                raise InputError(f"Box.{name} must be a number or an array, got a {type(bound).__name__}")
            if np.shape(bound) not in ((), shape):
                raise InputError(
                    f"Box.{name} must be a number or an array of shape {shape}, got shape {np.shape(bound)}"
                )
        low, high = np.asarray(self.low), np.asarray(self.high)
        empty = ~(low < high)
        if empty.any():
            low, high = (np.broadcast_to(a, empty.shape)[empty][0] for a in (low, high))
            raise InputError(f"Box.low must lie below Box.high, got {low} and {high}")

    @property
    def diameter(self) -> ArrayLike:
        return jnp.linalg.norm(points.zeros(self.dim) + (points.as_floats(self.high) - points.as_floats(self.low)))

    def zero(self, shape: Shape) -> jax.Array:
        """Return the point `[d]` nearest to the origin."""
        return self.project(points.zeros(shape))

    def center(self, shape: Shape) -> jax.Array:
        """Return the midpoint `[d]` of the box."""
        return points.zeros(shape) + self._middle

    def inner_radius(self, shape: Shape) -> ArrayLike:
        """Return half the length of the shortest side."""
        return 0.5 * jnp.min(jnp.asarray(points.as_floats(self.high)) - points.as_floats(self.low))

    def outer_radius(self, shape: Shape) -> ArrayLike:
        return jnp.linalg.norm(points.zeros(shape) + self._furthest)

    def lmo(self, direction: jax.Array, guess: None = None) -> tuple[jax.Array, None]:
        """Return the point `[d]` with `low` where the direction is positive and `high` where it is negative.

        Where the direction is 0, the coordinate is the midpoint of its interval.
        """
        del guess
        vertex = jnp.where(direction < 0.0, self.high, self._middle)
        return jnp.where(direction > 0.0, self.low, vertex), None

    def project(self, x: jax.Array) -> jax.Array:
        """Return the nearest point `[d]` of the box, by clipping every coordinate."""
        return jnp.clip(x, self.low, self.high)

    def contains(self, x: jax.Array) -> jax.Array:
        slack = 16.0 * jnp.finfo(x.dtype).eps * self._furthest
        return jnp.all(jnp.abs(x - self.project(x)) <= slack)

    @property
    def _middle(self) -> ArrayLike:
        return 0.5 * points.as_floats(self.low) + 0.5 * points.as_floats(self.high)

    @property
    def _furthest(self) -> jax.Array:
        return jnp.maximum(jnp.abs(points.as_floats(self.low)), jnp.abs(points.as_floats(self.high)))
