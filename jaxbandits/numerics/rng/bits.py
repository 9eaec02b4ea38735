"""Random bits of a key by counters, keys derived from keys, and uniform numbers.

One block of the counter-based generator gives 64 random bits. The functions here consume a key by counters: `counter=1`
of the same key is a second, independent draw at the cost of one more block. A key passed to them must not also be split
or folded elsewhere.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from jaxbandits.base.pytree import ArrayLike
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.batching import trials_last
from jaxbandits.tracing.threefry import threefry


def random_words(key: jax.Array, counter: ArrayLike = 0) -> tuple[jax.Array, jax.Array]:
    """Draw two independent uint32 words: bit for bit the data of `jax.random.fold_in(key, counter)`.

    On a CPU JAX lowers Threefry to a loop of five steps; unrolled, the block costs half as much. Keys of other
    generators go through `jax.random.fold_in`.

    Args:
      key: one key, or an array of them with one counter.
      counter: a number, or an array `[n]` of them for two arrays `[n]` of words.
    """
    data = jax.random.key_data(key)
    if data.shape[-1] != 2:
        fold = jax.random.fold_in if jnp.ndim(counter) == 0 else jax.vmap(jax.random.fold_in, (None, 0))
        data = jax.random.key_data(fold(key, counter))
        return data[..., 0], data[..., 1]
    k0, k1 = _halves(data)
    return _block(k0, k1, jnp.uint32(counter)) if jnp.ndim(counter) == 0 else _blocks(k0, k1, counter)


@custom_vmap
def _halves(data: jax.Array) -> tuple[jax.Array, jax.Array]:
    return data[..., 0], data[..., 1]


@_halves.def_vmap
def _halves_of_many(size: int, in_batched: list[bool], data: jax.Array) -> tuple[Any, tuple[bool, bool]]:
    """Read the words of many keys in the layout of their data, `[..., 2]`, without a transpose."""
    del size, in_batched
    return _halves(data), (True, True)


@trials_last
def _block(k0: jax.Array, k1: jax.Array, counter: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Compute one block.

    Barriers: else XLA:CPU computes the block again in every kernel that reads it, which then spills registers. The two
    words pass as one array `[2]`: for two arrays XLA:CPU makes two kernels, each with the whole block.
    """
    both = barrier(jnp.stack(threefry(k0, k1, counter), axis=-1))
    return barrier((both[..., 0], both[..., 1]))


@trials_last
def _blocks(k0: jax.Array, k1: jax.Array, counters: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Compute the blocks `[n]` of one key, behind a barrier too, as two arrays: one would not be vector code."""
    return barrier(threefry(k0[None], k1[None], counters.astype(jnp.uint32)))


def fold_in(key: jax.Array, data: ArrayLike) -> jax.Array:
    """Compute `jax.random.fold_in(key, data)`, bit for bit, without a loop in the compiled round.

    Args:
      key: one key.
      data: `[]` a whole number; JAX's function is used if it differs between trials.
    """
    if jax.random.key_data(key).shape[-1] != 2:
        return jax.random.fold_in(key, data)
    return _folded(key, jnp.asarray(data))


@custom_vmap
def _folded(key: jax.Array, data: jax.Array) -> jax.Array:
    return jax.random.wrap_key_data(jnp.stack(random_words(key, data), axis=-1), impl="threefry2x32")


@_folded.def_vmap
def _folded_many(size: int, in_batched: list[bool], key: jax.Array, data: jax.Array) -> tuple[Any, bool]:
    """Fold one number into many keys, in the layout of their data `[..., 2]`."""
    del size
    if in_batched[1]:
        return jax.vmap(jax.random.fold_in, in_axes=(0 if in_batched[0] else None, 0))(key, data), True
    return _folded(key, data), True


def split(key: jax.Array, n: int = 2) -> list[jax.Array]:
    """Return the keys of `jax.random.split(key, n)`, bit for bit; by `fold_in` where JAX does so (its default)."""
    by_fold_in = jax.config.jax_threefry_partitionable
    return [fold_in(key, i) for i in range(n)] if by_fold_in else list(jax.random.split(key, n))


def uniform(key: jax.Array, counter: int = 0) -> jax.Array:
    """Draw a uniform from [0, 1) with 24 bits: its product with n < 2^24 rounds to less than n in every float type."""
    return (random_words(key, counter)[0] >> 8).astype(jnp.result_type(float)) * 2.0**-24


def uniforms(key: jax.Array, count: int, counter: int = 0) -> jax.Array:
    """Draw uniforms `[count]` from [0, 1) with 24 bits, by one block each, from the block `counter` on."""
    return (random_words(key, jnp.arange(counter, counter + count))[0] >> 8).astype(jnp.result_type(float)) * 2.0**-24


def tail_and_angle(key: jax.Array, counter: int = 0) -> tuple[jax.Array, jax.Array]:
    """Draw two independent uniforms: one on (0, 1) of 40 bits with a fine grid near zero, one on (0, 1] of 24 bits."""
    high, low = random_words(key, counter)
    real = jnp.result_type(float)
    last_bits = (low & 0xFF).astype(real) + 0.5
    tail = (high.astype(real) + last_bits * 2.0**-8) * 2.0**-32
    angle = ((low >> 8).astype(real) + 0.5) * 2.0**-24
    return jnp.minimum(tail, 1.0 - jnp.finfo(real).epsneg), angle


def uniform_between(key: jax.Array, shape: tuple[int, ...], low: float, high: float) -> jax.Array:
    """Compute `jax.random.uniform(key, shape, minval=low, maxval=high)`, bit for bit, by one block an entry."""
    if jax.random.key_data(key).shape[-1] != 2 or not jax.config.jax_threefry_partitionable:
        return jax.random.uniform(key, shape, minval=low, maxval=high)
    return _scale_bits(shape, low, high)(*random_words(key, jnp.arange(math.prod(shape))))


@functools.cache
def _scale_bits(shape: tuple[int, ...], low: float, high: float) -> Callable[[jax.Array, jax.Array], jax.Array]:
    @trials_last
    def scale(first: jax.Array, second: jax.Array) -> jax.Array:
        real = jnp.result_type(float)
        if real == jnp.float32:
            bits = ((first ^ second) >> 9) | jnp.uint32(0x3F800000)
        else:
            bits = (((first.astype(jnp.uint64) << 32) | second.astype(jnp.uint64)) >> 12) | jnp.uint64(0x3FF << 52)
        unit = jax.lax.bitcast_convert_type(bits, real) - 1.0  # from [1, 2)
        # Barrier: a reshape fused with it would be computed entry by entry.
        return barrier(jnp.maximum(unit * (high - low) + low, low)).reshape(*shape, *first.shape[1:])

    return scale
