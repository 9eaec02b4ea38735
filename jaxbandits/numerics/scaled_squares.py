"""Running sums of squares that neither overflow nor underflow: a power of two is kept apart."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax


class ScaledSquares(NamedTuple):
    """The sum of squares of sizes, `scale^2 total`, as part of a state.

    In float32 the square of 1e20 is infinite and that of 1e-23 is zero. Here sizes may lie anywhere between 1e-37 and
    1e38, and multiplying all of them by a power of two in that range changes `scale` alone.
    """

    scale: jax.Array  # []  power of two, at most the largest size and more than half of it; 0 before the first
    total: jax.Array  # []  sum of (size / scale)^2

    @classmethod
    def init(cls, dtype: jnp.dtype) -> "ScaledSquares":
        """Return the sum of nothing."""
        return cls(scale=jnp.zeros((), dtype), total=jnp.zeros((), dtype))

    def add(self, size: jax.Array) -> "ScaledSquares":
        """Add the square of a size `[]` >= 0; the total is NaN from the first infinite one on."""
        scale = jnp.maximum(self.scale, _power_of_two(size))
        divisor = jnp.where(scale > 0.0, scale, 1.0)
        earlier, new = self.scale / divisor, size / divisor
        return ScaledSquares(scale=scale, total=self.total * (earlier * earlier) + new * new)


def _power_of_two(x: jax.Array) -> jax.Array:
    """Return the largest power of two that is at most x >= 0, exactly; 0 for 0 and what is smaller than normal."""
    unsigned = jnp.uint32 if x.dtype == jnp.float32 else jnp.uint64
    fraction = unsigned((1 << jnp.finfo(x.dtype).nmant) - 1)
    return lax.bitcast_convert_type(lax.bitcast_convert_type(x, unsigned) & ~fraction, x.dtype)
