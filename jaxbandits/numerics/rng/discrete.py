"""Categorical draws, random integers, Poisson variates and random subsets."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics import elementary, sampling
from jaxbandits.numerics.rng.generator import random_words, word_array
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.batching import trials_last, while_loop

_INVERSION_BELOW = 10.0  # means below which inversion is used; Hoermann's constants are for 10 and above
_INVERSIONS = 10  # loop steps of four counts each: at a mean of 10, the probability of 36 is below 2^-32
_REJECTIONS = 32  # attempts; each fails with probability at most 0.25 (at a mean of 10), all with 5e-20


def categorical(key: jax.Array, p: jax.Array, counter: int = 0) -> jax.Array:
    """Draw an int32 index with the probabilities `p` `[m]` (see `numerics.sampling.categorical`).

    The draw uses the block of 64 random bits of the key at `counter`.
    """
    return sampling.categorical(p, *random_words(key, counter))


def randint(key: jax.Array, n: ArrayLike, counter: int = 0) -> jax.Array:
    """Draw an int32 integer from 0 to n - 1, each with probability 1/n to within 2^-32, for n < 2^31.

    The draw uses the block of 64 random bits of the key at `counter`.
    """
    return sampling.uniform_index(n, random_words(key, counter)[0])


def randints(key: jax.Array, n: ArrayLike, count: int) -> jax.Array:
    """Draw int32 integers `[count]` with the distribution of `randint`, for one n or for n `[count]`.

    A block of 64 random bits gives two integers.
    """
    return sampling.uniform_index(n, word_array(key, count))


def poisson(key: jax.Array, log_mean: jax.Array) -> jax.Array:
    """Draw a Poisson variate.

    Small means use inversion, and large means Hoermann's rejection method (PTRS, 1993).

    Both methods are `while_loop`s, and a loop runs no step if no mean of the batch needs it. Under `vmap` the function
    is 5 to 10 times as fast as `jax.random.poisson`, and the log-probabilities for large means are accurate in float32.

    Args:
      key: a single key.
      log_mean: `[]` logarithm of the mean.
    """
    mean = jnp.exp(log_mean)
    small = mean < _INVERSION_BELOW
    zero = jnp.zeros_like(mean)

    def uniforms(counter):
        first, second = random_words(key, counter)
        return (first.astype(mean.dtype) + 0.5) * 2.0**-32, (second.astype(mean.dtype) + 0.5) * 2.0**-32

    # Inversion: probabilities are subtracted from a uniform variate until the next one is larger than the remainder, or
    # is below the resolution of the uniform variate.
    def is_searching(carry):
        _, mass, u = carry
        return (u >= mass) & (mass > 2.0**-32)

    def search(carry):
        for _ in range(4):  # a loop iteration costs more than a step
            count, mass, u = carry
            active = is_searching(carry)
            count = count + active
            carry = (
                count,
                jnp.where(active, mass * mean / jnp.maximum(count, 1.0), mass),
                jnp.where(active, u - mass, u),
            )
        return carry

    init = zero, jnp.exp(-mean), jnp.where(small, uniforms(0)[0], -1.0)
    inverted = while_loop(is_searching, search, init, _INVERSIONS)[0]

    # Rejection.
    large = jnp.maximum(mean, _INVERSION_BELOW)
    b = 0.931 + 2.53 * jnp.sqrt(large)
    a = -0.059 + 0.02483 * b
    log_inverse_alpha = elementary.log(1.1239 + 1.1328 / (b - 3.4))

    def attempt(carry):
        accepted, count, i = carry
        u, v = uniforms(i)
        u = u - 0.5
        slack = jnp.maximum(0.5 - jnp.abs(u), 2.0**-25)
        k = jnp.floor((2.0 * a / slack + b) * u + large + 0.43)
        log_ratio = elementary.log(v) + log_inverse_alpha - elementary.log(a / (slack * slack) + b)
        accepts = (k >= 0.0) & (log_ratio <= _log_poisson(jnp.maximum(k, 0.0), large, log_mean))
        return accepted | accepts, jnp.where(accepted, count, k), i + 1

    # A NaN, or a mean for which 2 pi k overflows, would be rejected forever. The spread of such a count is below the
    # resolution of floats.
    has_count = mean < 0.1 * float(jnp.finfo(mean.dtype).max)
    is_done = small | ~has_count
    by_rejection = while_loop(lambda carry: ~carry[0], attempt, (is_done, zero, 1), _REJECTIONS)[1]
    return jnp.where(small, inverted, jnp.where(has_count, by_rejection, mean))


def _log_poisson(k: jax.Array, mean: jax.Array, log_mean: jax.Array) -> jax.Array:
    """Return `log P(k)` for `mean >= 10` in saddle-point form, in which no large terms cancel (Loader, 2000)."""
    safe = jnp.maximum(k, 2.0)
    inverse = 1.0 / safe
    square = inverse * inverse
    stirling = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    excess = (safe - mean) / mean
    deviance = mean * ((1.0 + excess) * elementary.log1p(excess) - excess)
    return jnp.where(k < 2.0, k * log_mean - mean, -stirling - deviance - 0.5 * elementary.log(2.0 * jnp.pi * safe))


def subset(key: jax.Array, n: int, size: int) -> jax.Array:
    """Draw `size` of n < 2^15 elements without replacement; return a mask `[n]` (Knuth 3.4.2, algorithm S).

    Each element in turn is drawn with a probability equal to the number of elements still to be drawn divided by the
    number of elements that remain, to within 2^-16.
    """
    return _subset(n, size)(*random_words(key, jnp.arange(-(-n // 4))))


@functools.cache
def _subset(n: int, size: int) -> Callable[[jax.Array, jax.Array], jax.Array]:
    @trials_last
    def choose(first: jax.Array, second: jax.Array) -> jax.Array:
        wanted = jnp.full(first.shape[1:], size, jnp.uint32)
        chosen = []
        for k in range(n):
            word = (first, first, second, second)[k % 4][k // 4]
            bits = word >> 16 if k % 2 == 0 else word & 0xFFFF
            is_drawn = bits * jnp.uint32(n - k) < (wanted << 16)
            # Without the barrier XLA:CPU recomputes all earlier elements.
            wanted = barrier(wanted - is_drawn.astype(jnp.uint32))
            chosen.append(is_drawn)
        return jnp.stack(barrier(chosen))  # without the barrier, the fused stack searches for the element of each entry

    return choose
