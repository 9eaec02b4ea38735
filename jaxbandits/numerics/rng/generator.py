"""Counter-based generator of random words, and derivation of keys from keys.

Both use Threefry-2x32 (Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Random
words take 13 Threefry rounds, the smallest number for which the authors know of no statistical flaw (documentation of
Random123). Keys are derived with 20 Threefry rounds, which gives the keys of `jax.random`, bit for bit.

One block of the generator gives 64 random bits. The draws from a key are numbered by a counter: `counter=1` with the
same key gives a second, independent draw, at the cost of one more block. A key from which numbers are drawn must not
also be split or folded.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from jaxbandits.base.pytree import ArrayLike
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.batching import trials_last
from jaxbandits.tracing.threefry import threefry

DRAW_ROUNDS = 13


def random_words(key: jax.Array, counter: ArrayLike = 0) -> tuple[jax.Array, jax.Array]:
    """Draw two independent uint32 words, the block of 64 random bits of the key at a counter.

    If the key belongs to a generator other than Threefry, the words are the data of `jax.random.fold_in(key, counter)`.

    Args:
      key: a single key, or an array of keys if the counter is a number.
      counter: a number, or an array `[n]` of numbers; in the second case each of the two results is an array `[n]`.
    """
    data = jax.random.key_data(key)
    if data.shape[-1] != 2:
        fold = jax.random.fold_in if jnp.ndim(counter) == 0 else jax.vmap(jax.random.fold_in, (None, 0))
        data = jax.random.key_data(fold(key, counter))
        return data[..., 0], data[..., 1]
    k0, k1 = _halves(data)
    return _block_to_draw(k0, k1, jnp.uint32(counter)) if jnp.ndim(counter) == 0 else _blocks(k0, k1, counter)


def word_array(key: jax.Array, count: int, counter: int = 0) -> jax.Array:
    """Draw uint32 words `[count]`, two per block of 64 random bits, starting with the block at `counter`."""
    blocks = jnp.arange(counter, counter + (count + 1) // 2)
    return jnp.concatenate(random_words(key, blocks))[:count]


def fold_in(key: jax.Array, data: ArrayLike) -> jax.Array:
    """Return the key `jax.random.fold_in(key, data)`, bit for bit, without a loop in the compiled code.

    Args:
      key: a single key.
      data: `[]` whole number; if it differs between the trials of a batch, JAX's own function is used.
    """
    if jax.random.key_data(key).shape[-1] != 2:
        return jax.random.fold_in(key, data)
    return _fold(key, jnp.asarray(data))


def split(key: jax.Array, n: int = 2) -> list[jax.Array]:
    """Return the n keys of `jax.random.split(key, n)`, bit for bit, as a list.

    In JAX's default configuration they are computed by `fold_in`.
    """
    by_fold_in = jax.config.jax_threefry_partitionable
    return [fold_in(key, i) for i in range(n)] if by_fold_in else list(jax.random.split(key, n))


@custom_vmap
def _fold(key: jax.Array, data: jax.Array) -> jax.Array:
    k0, k1 = _halves(jax.random.key_data(key))
    words = _block_of_key(k0, k1, jnp.uint32(data))
    return jax.random.wrap_key_data(jnp.stack(words, axis=-1), impl="threefry2x32")


@_fold.def_vmap
def _folded_many(size: int, in_batched: list[bool], key: jax.Array, data: jax.Array) -> tuple[Any, bool]:
    """Fold one number into many keys, in the layout of their data `[..., 2]`."""
    del size
    if in_batched[1]:
        return jax.vmap(jax.random.fold_in, in_axes=(0 if in_batched[0] else None, 0))(key, data), True
    return _fold(key, data), True


@custom_vmap
def _halves(data: jax.Array) -> tuple[jax.Array, jax.Array]:
    return data[..., 0], data[..., 1]


@_halves.def_vmap
def _halves_of_many(size: int, in_batched: list[bool], data: jax.Array) -> tuple[Any, tuple[bool, bool]]:
    """Read the words of many keys in the layout of their data, `[..., 2]`, without a transpose."""
    del size, in_batched
    return _halves(data), (True, True)


@trials_last
def _block_to_draw(k0: jax.Array, k1: jax.Array, counter: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Compute one block, with a separate barrier after each word, so that an unused word is not computed.

    Without barriers XLA:CPU recomputes the block in every kernel that reads it, and these kernels spill registers.
    """
    first, second = threefry(k0, k1, counter, DRAW_ROUNDS)
    return barrier(first), barrier(second)


@trials_last
def _block_of_key(k0: jax.Array, k1: jax.Array, counter: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Compute one block as a key, in a kernel that writes both words to an array `[2]`, the layout of a key."""
    both = barrier(jnp.stack(threefry(k0, k1, counter), axis=-1))
    return barrier((both[..., 0], both[..., 1]))


@trials_last
def _blocks(k0: jax.Array, k1: jax.Array, counters: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Compute n blocks of one key as two arrays `[n]` of words; for a single array XLA:CPU would not vectorise."""
    return barrier(threefry(k0[None], k1[None], counters.astype(jnp.uint32), DRAW_ROUNDS))
