"""The box `{low <= x <= high}`, with separate bounds for each coordinate."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, lists_to_arrays, param, pytree, static
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

    def __post_init__(self) -> None:
        lists_to_arrays(self, "low", "high")

    def check(self) -> None:
        if not self._is_sweep:
            self._check_shapes()
        low, high = np.asarray(self.low), np.asarray(self.high)
        if low.ndim and high.ndim:  # in a sweep, numbers for some points against arrays
            axes = max(low.ndim, high.ndim)
            low, high = (a.reshape(a.shape + (1,) * (axes - a.ndim)) for a in (low, high))
        empty = ~(low < high)
        if empty.any():
            low, high = (np.broadcast_to(a, empty.shape)[empty][0] for a in (low, high))
            raise InputError(f"Box.low must lie below Box.high, got {low} and {high}")

    def _check_shapes(self) -> None:
        shape = np.shape(points.zeros(self.dim))
        for name, bound in (("low", self.low), ("high", self.high)):
            if np.shape(bound) not in ((), shape):
                raise InputError(
                    f"Box.{name} must be a number or an array of shape {shape}, got shape {np.shape(bound)}"
                )

    @property
    def _is_sweep(self) -> bool:
        """True if the bounds have one value per point of a sweep, where both have a first axis of the same length.

        Numbers at d points look like the bounds `[d]` of one box, and are taken for these.
        """
        shape, low, high = np.shape(points.zeros(self.dim)), np.shape(self.low), np.shape(self.high)
        if {low, high} <= {(), shape} or not (low and high):
            return False
        return low[0] == high[0] and {low[1:], high[1:]} <= {(), shape}

    @property
    def diameter(self) -> ArrayLike:
        if self._is_sweep:
            return jax.vmap(lambda box: box.diameter)(self)
        return jnp.linalg.norm(points.zeros(self.dim) + (points.as_floats(self.high) - points.as_floats(self.low)))

    def zero(self, shape: Shape) -> jax.Array:
        """Return the point `[d]` nearest to the origin."""
        return self.project(points.zeros(shape))

    def center(self, shape: Shape) -> jax.Array:
        """Return the midpoint `[d]` of the box."""
        return points.zeros(shape) + self._middle

    def inner_radius(self, shape: Shape) -> ArrayLike:
        """Return half the length of the shortest side."""
        if self._is_sweep:
            return jax.vmap(lambda box: box.inner_radius(shape))(self)
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
        self._check_shapes()
        return jnp.clip(x, self.low, self.high)

    def contains(self, x: jax.Array) -> jax.Array:
        slack = 16.0 * jnp.finfo(x.dtype).eps * self._furthest
        return jnp.all(jnp.abs(x - self.project(x)) <= slack)

    @property
    def _middle(self) -> ArrayLike:
        self._check_shapes()
        return 0.5 * points.as_floats(self.low) + 0.5 * points.as_floats(self.high)

    @property
    def _furthest(self) -> jax.Array:
        return jnp.maximum(jnp.abs(points.as_floats(self.low)), jnp.abs(points.as_floats(self.high)))
