"""History of all rounds, for estimators that process all past rounds again.

A history is a pytree of arrays with a leading axis `capacity`, one row per round: `append` writes row t in place, and
`sum_over` sums a function of the written rows, block by block. Although shapes are fixed, a round costs O(t) and not
O(capacity): the loop over blocks ends at t, which is the same scalar for all trials and is therefore not batched under
`vmap`. The memory is O(capacity) for each trial.

    history = empty(capacity, (jnp.zeros(d), jnp.zeros(())))          rows (x_t, r_t)
    history = append(history, t, (x, reward))                            t = 0, 1, ...
    total = sum_over(history, t + 1, lambda rows, valid: ...)            rows: leaves [block, ...]; valid: [block]
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.base.round_order import require_order
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.batching import fori_loop, trials_last

BLOCK = 128  # rows per loop step: enough to hide the overhead of a step, but few compared with a long history

T = TypeVar("T")


def empty(capacity: int, row: T) -> T:
    """Return a history whose rows are zeros.

    Args:
      capacity: static; number of rows. In a full history the oldest row is overwritten, so that it is a sliding window.
      row: a pytree of arrays with the shapes and types of a row; a leaf `[...]` becomes `[capacity, ...]`.
    """
    return jax.tree.map(lambda leaf: jnp.zeros((capacity, *jnp.shape(leaf)), jnp.asarray(leaf).dtype), row)


def append(history: T, t: ArrayLike, row: T) -> T:
    """Return the history after writing the row of round t = 0, 1, ...

    Args:
      history: leaves `[capacity, ...]`.
      t: `[]` index of the round; it must be the same for all trials under `vmap`.
      row: leaves `[...]`.

    Raises:
      InputError: during tracing, if t differs between trials, or if updates may come in another order than their
        rounds (random delays).
    """
    require_order()
    return jax.tree.map(lambda leaf, value: _write(leaf, jnp.asarray(value, leaf.dtype), t), history, row)


@trials_last
def _write(leaf: jax.Array, value: jax.Array, t: jax.Array) -> jax.Array:
    row = jnp.broadcast_shapes(leaf.shape[1:], value.shape)
    leaf, value = jnp.broadcast_to(leaf, (leaf.shape[0], *row)), jnp.broadcast_to(value, row)
    if t.size != 1:
        raise InputError(
            "learners that store every round cannot run on a replay with rejection, in which some rounds do not count"
        )
    return lax.dynamic_update_index_in_dim(leaf, value, jnp.reshape(t, ()) % leaf.shape[0], axis=0)


def exchange(history: T, t: ArrayLike, row: T) -> tuple[T, T]:
    """Return the row of round `t - capacity` (zeros if negative), and the history with a new row in its place.

    Args:
      history: leaves `[capacity, ...]`.
      t: `[]` index of the round; if it differs between trials under `vmap`, every call copies the history.
      row: leaves `[...]`.

    Raises:
      InputError: during tracing, if updates may come in another order than their rounds (random delays).
    """
    require_order()
    leaves, structure = jax.tree.flatten(history)
    both = [
        _exchange(leaf, jnp.asarray(x, leaf.dtype), t)
        for leaf, x in zip(leaves, structure.flatten_up_to(row), strict=True)
    ]
    return structure.unflatten([old for old, _ in both]), structure.unflatten([new for _, new in both])


@trials_last
def _exchange(leaf: jax.Array, value: jax.Array, t: jax.Array) -> tuple[jax.Array, jax.Array]:
    if t.size != 1:
        numbers = jnp.arange(leaf.shape[0], dtype=t.dtype).reshape(-1, *[1] * (leaf.ndim - 1))
        is_here = numbers == t % leaf.shape[0]
        return jnp.sum(jnp.where(is_here, leaf, 0), axis=0, dtype=leaf.dtype), jnp.where(is_here, value, leaf)
    old = lax.dynamic_index_in_dim(leaf, jnp.reshape(t, ()) % leaf.shape[0], 0, keepdims=False)
    # The barrier orders the write after the read; otherwise XLA may reorder them and copy the history in every round.
    old, value = barrier((old, value))
    return old, _write(leaf, value, t)


@functools.cache
def _rows(length: int) -> Callable[[jax.Array, jax.Array], jax.Array]:
    @trials_last
    def rows(leaf: jax.Array, start: jax.Array) -> jax.Array:
        return lax.dynamic_slice_in_dim(leaf, jnp.reshape(start, ()), length, axis=0)

    return rows


def slice_rows(history: T, start: ArrayLike, count: int) -> T:
    """Return `count` consecutive rows.

    Args:
      history: leaves `[capacity, ...]`.
      start: `[]` index of the first row, at most capacity - count; the same for all trials under `vmap`.
      count: static; number of rows.
    """
    return jax.tree.map(lambda leaf: _rows(count)(leaf, jnp.asarray(start, jnp.int32)), history)


def sum_over(history: T, count: ArrayLike, f: Callable[[T, jax.Array], Any], block: int = BLOCK) -> Any:
    """Return the sum of `f(rows, valid)` over the blocks of the first `count` rows.

    `f` may sum over its block (for example by a matrix product), or return arrays with a leading axis `[block]`, over
    which the caller then sums. For scalar terms the second choice needs one reduction instead of one per block.

    Args:
      history: leaves `[capacity, ...]`.
      count: `[]` number of rows written (t + 1 after `append(history, t, row)`); the same for all trials under `vmap`.
      f: function from rows (leaves `[block, ...]`) and `valid` (`[block]`) to a pytree of arrays. Invalid rows are
        finite but arbitrary, and must not contribute.
      block: static; number of rows per loop step.
    """
    capacity = jax.tree.leaves(history)[0].shape[0]
    block = min(block, capacity)
    count = jnp.minimum(count, capacity)
    lanes = jnp.arange(block, dtype=jnp.int32)

    def terms(i: ArrayLike) -> Any:
        first = i * block
        start = jnp.minimum(first, capacity - block)  # the last block may overlap the one before it
        rows = jax.tree.map(lambda leaf: _rows(block)(leaf, start), history)
        return f(rows, (start + lanes >= first) & (start + lanes < count))

    def step(i: ArrayLike, total: Any) -> Any:
        return jax.tree.map(jnp.add, total, terms(i))

    zeros = jax.tree.map(lambda like: jnp.zeros(like.shape, like.dtype), jax.eval_shape(terms, jnp.int32(0)))
    return fori_loop(0, (count + block - 1) // block, step, zeros)
