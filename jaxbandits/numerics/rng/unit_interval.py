"""Uniform variates on the open interval (0, 1), and Bernoulli variates.

|                          | bits    | error of P(u < p) at most         | least value |
|--------------------------|---------|-----------------------------------|-------------|
| `uniform`, `bernoulli`   | 62      | 2^-24 p (float32) or 2^-53 p (float64), plus 2^-63 | 2^-63 |
| `uniforms`               | 31 each | 2^-24 p (float32), plus 2^-32     | 2^-32       |
| `tail_and_angle`: tail   | 40      | 2^-24 p (float32), plus 2^-41     | 2^-41       |
| `tail_and_angle`: angle  | 24      | 2^-25                             | 2^-25       |

All numbers are odd multiples of the least value in the table, rounded to the float type. Only the angle in float32 can
round to 1. Words are shifted to 31 bits before they are converted to floats, because AVX2 has no instruction that
converts unsigned numbers of 32 bits.
"""

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics.rng.generator import random_words, word_array
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.batching import trials_last


def uniform(key: jax.Array, counter: int = 0) -> jax.Array:
    """Draw a uniform variate from (0, 1), with full relative precision near 0.

    The draw uses the block of 64 random bits of the key at `counter`.
    """
    return uniform_of_words(*random_words(key, counter))


def uniform_of_words(high: jax.Array, low: jax.Array) -> jax.Array:
    """Convert two random words to a number in (0, 1); the complements of the words give 1 minus this number."""
    return _below_one((_to_signed(high) + (_to_signed(low) + 0.5) * 2.0**-31) * 2.0**-31)


def bernoulli(key: jax.Array, p: ArrayLike, counter: int = 0) -> jax.Array:
    """Draw a bool that is True with probability p `[]`.

    The draw uses the block of 64 random bits of the key at `counter`.
    """
    return uniform(key, counter) < p


def uniforms(key: jax.Array, count: int, counter: int = 0) -> jax.Array:
    """Draw uniform variates `[count]` from (0, 1).

    A block of 64 random bits gives two variates; the first block is the block of the key at `counter`.

    The variates are accurate enough for events of probability 1e-5 or more; use `uniform` for rarer events.
    """
    return uniforms_of_words(word_array(key, count, counter))


def uniforms_of_words(words: jax.Array) -> jax.Array:
    """Convert each random word to a number in (0, 1)."""
    return _below_one((_to_signed(words) + 0.5) * 2.0**-31)


def tail_and_angle(key: jax.Array, counter: int = 0) -> tuple[jax.Array, jax.Array]:
    """Draw two independent uniform variates: a tail in (0, 1), accurate near 0, and an angle in (0, 1].

    The draw uses the block of 64 random bits of the key at `counter`: 40 bits for the tail, 24 for the angle.
    """
    high, low = random_words(key, counter)
    real = jnp.result_type(float)
    last_bits = (low & 0xFF).astype(real) + 0.5
    tail = (high.astype(real) + last_bits * 2.0**-8) * 2.0**-32
    angle = ((low >> 8).astype(real) + 0.5) * 2.0**-24
    return _below_one(tail), angle


def uniform_between(key: jax.Array, shape: tuple[int, ...], low: float, high: float) -> jax.Array:
    """Draw an array of uniform variates between `low` and `high`.

    A block of 64 random bits gives two variates.
    """
    return _scale(shape, low, high)(word_array(key, math.prod(shape)))


@functools.cache
def _scale(shape: tuple[int, ...], low: float, high: float) -> Callable[[jax.Array], jax.Array]:
    @trials_last
    def scale(words: jax.Array) -> jax.Array:
        # Without the barrier, XLA would fuse the reshape and compute it entry by entry.
        return barrier(low + (high - low) * uniforms_of_words(words)).reshape(*shape, *words.shape[1:])

    return scale


def _to_signed(word: jax.Array) -> jax.Array:
    return (word >> 1).astype(jnp.result_type(float))


def _below_one(u: jax.Array) -> jax.Array:
    return jnp.minimum(u, 1.0 - jnp.finfo(u.dtype).epsneg)
