"""Exact order statistics without sorting, by bisection over the bits of the numbers.

Positive floats have the same order as the integers that their bits represent. For each bit of the result, a bisection
step counts the numbers below a candidate, which takes 32 passes over the data in float32 and 64 in float64. Under
`vmap` each pass is a vectorised loop over trials, whereas XLA:CPU would sort the numbers of one trial at a time.
"""

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.tracing import batching


def median(values: jax.Array, count: jax.Array) -> jax.Array:
    """Return the median of the first `count` numbers; for an even count, the mean of the middle two.

    Args:
      values: `[n]` finite numbers.
      count: `[]` whole number from 0 to n; for 0 the result is 0.
    """
    n, real = values.shape[0], values.dtype
    ranks = jnp.arange(n, dtype=jnp.int32)
    count = count.astype(jnp.int32)
    keys = _keys(jnp.where(ranks < count, values, jnp.inf))
    lower = _select(keys, lax.shift_right_arithmetic(count - 1, jnp.int32(1)))
    # The next order statistic equals `lower` if more than count // 2 numbers are at most `lower`.
    is_double = jnp.sum(keys <= lower, dtype=jnp.int32) > lax.shift_right_arithmetic(count, jnp.int32(1))
    upper = jnp.where(is_double, lower, jnp.min(jnp.where(keys > lower, keys, jnp.iinfo(keys.dtype).max)))
    middle = 0.5 * _value(lower, real) + 0.5 * _value(jnp.where(count % 2 == 1, lower, upper), real)
    return jnp.where(count > 0, middle, 0.0)


def _select(keys: jax.Array, rank: jax.Array) -> jax.Array:
    """Return the integer of the given rank among integers `[n]`; the smallest integer has rank 0."""
    info = jnp.iinfo(keys.dtype)
    top = jnp.asarray(info.min, keys.dtype)  # the highest bit, which is the sign

    def decide(i: jax.Array, found: jax.Array) -> jax.Array:
        """Determine bit i, from the top, of the largest integer that has at most `rank` entries below it."""
        # The first step goes from the least integer to 0.
        candidate = found + lax.shift_right_logical(top, i.astype(keys.dtype))
        return jnp.where(jnp.sum(keys < candidate, dtype=jnp.int32) <= rank, candidate, found)

    return batching.fori_loop(0, info.bits, decide, top)


def _keys(x: jax.Array) -> jax.Array:
    """Return integers in the same order as the floats: for negative floats, all bits except the sign are flipped."""
    kind = jnp.int32 if x.dtype == jnp.float32 else jnp.int64
    return _flip(lax.bitcast_convert_type(x, kind))


def _value(key: jax.Array, real: jnp.dtype) -> jax.Array:
    """Return the float that `_keys` maps to an integer."""
    return lax.bitcast_convert_type(_flip(key), real)


def _flip(bits: jax.Array) -> jax.Array:
    sign = lax.shift_right_arithmetic(bits, jnp.asarray(jnp.iinfo(bits.dtype).bits - 1, bits.dtype))
    return bits ^ (sign & jnp.iinfo(bits.dtype).max)
