"""Running sums of squares that neither overflow nor underflow, because a common scale is stored separately."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax


class ScaledSquares(NamedTuple):
    """Sum of squares of non-negative numbers (sizes), stored as `scale^2 total`, for use in the state of a learner.

    In float32 the square of 1e20 is infinite and the square of 1e-23 is zero. Here sizes may lie anywhere between 1e-37
    and 1e38. If all sizes are multiplied by a power of two and stay in that range, only `scale` changes.
    """

    scale: jax.Array  # []  largest power of two that is at most the largest size; 0 if no size was added
    total: jax.Array  # []  sum of (size / scale)^2

    @classmethod
    def init(cls, dtype: jnp.dtype) -> "ScaledSquares":
        """Return the empty sum."""
        return cls(scale=jnp.zeros((), dtype), total=jnp.zeros((), dtype))

    @property
    def inverse_scale(self) -> jax.Array:
        """Exact reciprocal of `scale`, computed by subtracting exponents: a division costs as much as ten products."""
        unsigned = _unsigned_type(self.scale.dtype)
        twice_bias = unsigned(2 * (jnp.finfo(self.scale.dtype).maxexp - 1) << jnp.finfo(self.scale.dtype).nmant)
        return lax.bitcast_convert_type(twice_bias - lax.bitcast_convert_type(self.scale, unsigned), self.scale.dtype)

    def add(self, size: jax.Array) -> "ScaledSquares":
        """Return the sum with the square of a size `[]` >= 0 added; an infinite size makes the total NaN."""
        # The largest power of two whose reciprocal is a normal number.
        largest = 2.0 ** (jnp.finfo(size.dtype).maxexp - 2)
        rescaled = self._replace(scale=jnp.maximum(self.scale, _power_of_two(jnp.minimum(size, largest))))
        earlier, new = self.scale * rescaled.inverse_scale, size * rescaled.inverse_scale
        total = self.total * (earlier * earlier) + new * new
        return rescaled._replace(total=jnp.where(jnp.isinf(size), jnp.nan, total))


def _power_of_two(x: jax.Array) -> jax.Array:
    """Return the largest power of two that is at most x >= 0; the result is 0 if x is 0 or subnormal."""
    unsigned = _unsigned_type(x.dtype)
    fraction = unsigned((1 << jnp.finfo(x.dtype).nmant) - 1)
    return lax.bitcast_convert_type(lax.bitcast_convert_type(x, unsigned) & ~fraction, x.dtype)


def _unsigned_type(dtype: Any) -> Any:
    """Return the type of unsigned integers with the same number of bits."""
    return jnp.uint32 if dtype == jnp.float32 else jnp.uint64
