"""Running sums of squares that neither overflow nor underflow, because a power of two is stored separately."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax


class ScaledSquares(NamedTuple):
    """The sum of squares of sizes, `scale^2 total`, as part of a state.

    In float32 the square of 1e20 is infinite and that of 1e-23 is zero. Here sizes may lie anywhere between 1e-37 and
    1e38, and multiplying all of them by a power of two within that range changes only `scale`.
    """

    scale: jax.Array  # []  power of two, at most the largest size and more than half of it; 0 before the first size
    total: jax.Array  # []  sum of (size / scale)^2

    @classmethod
    def init(cls, dtype: jnp.dtype) -> "ScaledSquares":
        """Return the empty sum."""
        return cls(scale=jnp.zeros((), dtype), total=jnp.zeros((), dtype))

    @property
    def inverse_scale(self) -> jax.Array:
        """The exact reciprocal of `scale`, by a subtraction of exponents: a division costs as much as ten products."""
        unsigned = _unsigned_type(self.scale.dtype)
        twice_bias = unsigned(2 * (jnp.finfo(self.scale.dtype).maxexp - 1) << jnp.finfo(self.scale.dtype).nmant)
        return lax.bitcast_convert_type(twice_bias - lax.bitcast_convert_type(self.scale, unsigned), self.scale.dtype)

    def add(self, size: jax.Array) -> "ScaledSquares":
        """Add the square of a size `[]` >= 0; the total is NaN from the first infinite size on."""
        # The largest power of two whose reciprocal is a normal number.
        largest = 2.0 ** (jnp.finfo(size.dtype).maxexp - 2)
        rescaled = self._replace(scale=jnp.maximum(self.scale, _power_of_two(jnp.minimum(size, largest))))
        earlier, new = self.scale * rescaled.inverse_scale, size * rescaled.inverse_scale
        total = self.total * (earlier * earlier) + new * new
        return rescaled._replace(total=jnp.where(jnp.isinf(size), jnp.nan, total))


def _power_of_two(x: jax.Array) -> jax.Array:
    """Return the largest power of two that is at most x >= 0, exactly; 0 for 0 and for subnormal numbers."""
    unsigned = _unsigned_type(x.dtype)
    fraction = unsigned((1 << jnp.finfo(x.dtype).nmant) - 1)
    return lax.bitcast_convert_type(lax.bitcast_convert_type(x, unsigned) & ~fraction, x.dtype)


def _unsigned_type(dtype: Any) -> Any:
    """Return the type of unsigned integers of the same size."""
    return jnp.uint32 if dtype == jnp.float32 else jnp.uint64
