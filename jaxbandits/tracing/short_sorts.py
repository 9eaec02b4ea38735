"""Sorts along short axes, with the batch axis last.

XLA:CPU sorts one trial at a time. In this module, every step instead compares the entries of all trials. `sort` chooses
one of three methods, depending on the number of entries and on the number of entries that are read:

* *Exchanges*: a sorting network, for a single array of up to 16 entries.
* *Selection*: m searches for the next entry, if only a few entries at one end are read (such as the m best arms).
* *Counting*: the position of an entry is the number of entries before it.

Selection and counting are stable; exchanges are used where a stable sort is not required or would give the same result.
NaN is last and 0.0 equals -0.0, as in `lax.sort`. `top_k` uses the order of `lax.top_k`, in which 0.0 is larger than
-0.0 and NaN is larger than infinity.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.tracing import batched_index
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.short_axes import Rows, argextreme, entries, fold, stack

EXCHANGED = 16  # largest number of entries of an array sorted by exchanges
SELECTED = 16  # largest number of entries at one end that are found by successive searches
COUNTED = 64  # largest number of entries that are all compared with each other

_INTEGERS = {2: jnp.int16, 4: jnp.int32, 8: jnp.int64}  # by size in bytes


class SortPlan(NamedTuple):
    """Range of the entries of a sort that later steps read, and layout of the result."""

    start: int  # first entry that is read
    stop: int  # end of the entries that are read
    places: frozenset[int]  # positions of the operands that hold the index along the axis
    rows: bool  # True if only single entries are read, so that the result is kept as `Rows`
    stages: bool  # True if barriers separate the stages, since each entry would otherwise recompute its exchanges


def sort(operands: Sequence[jax.Array], axis: int, stable: bool, plan: SortPlan) -> list[Any] | None:
    """Sort operands `[..., n, ..., W]` along an axis by the entries of the first operand.

    Args:
      operands: arrays of equal shape; the first array has the keys.
      axis: axis that is sorted.
      stable: True if entries with equal keys must keep their order.
      plan: range of the entries that later steps read, and layout of the result.

    Returns:
      The sorted operands, as arrays or `Rows`, with 0 in entries outside the range of the plan; None if the axis is
      too long.
    """
    key, n = operands[0], operands[0].shape[axis]
    if n < 2:
        return list(operands)
    is_float = jnp.issubdtype(key.dtype, jnp.floating)
    # A sorting network is not stable, which the signs of zeros would reveal in floats.
    if len(operands) == 1 and n <= EXCHANGED and not (stable and is_float):
        rows = exchange(key, axis, plan.stages)
        return [rows if plan.rows else rows.array()]
    indices = None
    if min(plan.stop, n - plan.start) <= SELECTED and key.dtype in (jnp.float32, jnp.float64):
        indices = _select(_ordered_integers(_as_compared(key)), axis, plan.start, plan.stop)
    elif n > COUNTED:
        return None
    else:
        rank = _count(is_after, key, axis)
    sorted_: list[Any] = []
    for k, x in enumerate(operands):
        if indices is None:
            read = _place(rank, x, axis, plan.start, plan.stop)
        elif k in plan.places:
            read = stack([i.astype(x.dtype) for i in indices], axis)
        else:
            read = stack([batched_index.take(x, i, axis) for i in indices], axis)
        sorted_.append(_pad(read, axis, plan.start, n - plan.stop))
    return sorted_


def top_k(x: jax.Array, axis: int, k: int) -> tuple[jax.Array, jax.Array] | None:
    """Return the k largest entries of `[..., n, ..., W]` along an axis, and their indices; None if n is too large."""
    n, is_float = x.shape[axis], jnp.issubdtype(x.dtype, jnp.floating)
    if k < 1 or n < 2 or x.dtype.itemsize not in _INTEGERS:
        return None
    key = _ordered_integers(x) if is_float else x
    if is_float and k <= SELECTED:
        last = key.dtype.type(jnp.iinfo(key.dtype).max - 1)  # all NaNs; less than the largest integer
        chosen = _select(jnp.minimum(~key, last), axis, 0, k)  # descending, since ~a < ~b if a > b
        return stack([batched_index.take(x, i, axis) for i in chosen], axis), stack(chosen, axis)
    if n > COUNTED:
        return None
    rank = _count(lambda a, b: a < b, key, axis)
    index = lax.broadcasted_iota(jnp.int32, x.shape, axis)
    return _place(rank, x, axis, 0, k), _place(rank, index, axis, 0, k)


def is_after(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return True where a comes after b in the order of `lax.sort`, in which NaN is last."""
    return ~(a <= b) & (b == b) if jnp.issubdtype(a.dtype, jnp.inexact) else a > b


def _as_compared(x: jax.Array) -> jax.Array:
    """Return the floats with equal bits for all zeros and for all NaNs, which `lax.sort` treats as equal."""
    return jnp.where(x == 0.0, 0.0, jnp.where(x == x, x, jnp.nan))


def _ordered_integers(x: jax.Array) -> jax.Array:
    """Return integers in the same order as the floats: -NaN, -infinity, ..., -0.0, 0.0, ..., infinity, NaN."""
    dtype = _INTEGERS[x.dtype.itemsize]
    bits = lax.bitcast_convert_type(x, dtype)
    return jnp.where(bits < 0, bits ^ jnp.iinfo(dtype).max, bits)


def _select(key: jax.Array, axis: int, start: int, stop: int) -> list[jax.Array]:
    """Return the indices, int32, of the entries that a stable sort moves to the positions `start`, ..., `stop - 1`.

    Args:
      key: integers, none of which is the smallest or the largest integer of its type.
      axis: axis that is sorted.
      start: first position.
      stop: end of the positions.
    """
    n, limits = key.shape[axis], jnp.iinfo(key.dtype)
    from_front = stop <= n - start
    better, worst = (lax.lt, limits.max) if from_front else (lax.ge, limits.min)  # last of equals comes last
    place = lax.broadcasted_iota(jnp.int32, key.shape, axis)
    (key,) = barrier([key])
    indices: list[jax.Array] = []
    for _ in range(stop if from_front else n - start):
        (index,) = barrier([argextreme(better, key, axis, jnp.int32)])
        (key,) = barrier([jnp.where(place == lax.expand_dims(index, (axis,)), key.dtype.type(worst), key)])
        indices.append(index)
    return indices[start:] if from_front else indices[n - stop :][::-1]


def _count(after: Callable[[Any, Any], Any], key: jax.Array, axis: int) -> jax.Array:
    """Return the position of each entry in a stable sort, int32, which is the number of entries before it."""
    place = lax.broadcasted_iota(jnp.int32, key.shape, axis)
    before = []
    for k in range(key.shape[axis]):
        other = lax.slice_in_dim(key, k, k + 1, axis=axis)
        before.append(jnp.where(k < place, ~after(other, key), after(key, other)).astype(jnp.int32))
    return barrier([fold(lax.add, before)])[0]


def _place(rank: jax.Array, x: jax.Array, axis: int, start: int, stop: int) -> jax.Array:
    """Return the entries of x whose ranks are `start`, ..., `stop - 1`, in the order of their ranks."""
    shape = (*x.shape[:axis], stop - start, *x.shape[axis + 1 :])
    place = lax.broadcasted_iota(jnp.int32, shape, axis) + jnp.int32(start)
    first, *others = (lax.slice_in_dim(x, k, k + 1, axis=axis) for k in range(x.shape[axis]))
    placed = jnp.broadcast_to(first, shape)
    for k, value in enumerate(others, 1):
        placed = jnp.where(lax.slice_in_dim(rank, k, k + 1, axis=axis) == place, value, placed)
    return barrier([placed])[0]


def _pad(x: jax.Array, axis: int, before: int, after: int) -> jax.Array:
    """Add unused entries at both ends; XLA removes them again, because only a slice of the others is read."""
    widths = [(before, after, 0) if k == axis else (0, 0, 0) for k in range(x.ndim)]
    return lax.pad(x, jnp.zeros((), x.dtype), widths) if before or after else x


def exchange(x: jax.Array, axis: int, stages: bool) -> Rows:
    """Return one array sorted by rounds of exchanges; the sort is not stable.

    Args:
      x: array `[..., n, ..., W]` with n >= 2.
      axis: axis that is sorted.
      stages: True to place a barrier after every fourth round, since each entry of the result would otherwise recompute
        all exchanges before it. If only one entry is read, no barrier is needed.
    """
    column = entries(x, axis)
    for i, exchanges in enumerate(_merge_exchange(len(column))):
        for low, high in exchanges:
            a, b = column[low], column[high]
            swap = is_after(a, b)
            column[low], column[high] = lax.select(swap, b, a), lax.select(swap, a, b)
        if stages and i % 4 == 3:
            column = list(barrier(column))
    return Rows(tuple(column), axis)


def _merge_exchange(n: int) -> Iterator[list[tuple[int, int]]]:
    """Yield rounds of about n (log2 n)^2 / 4 exchanges in total (Batcher 1968; Knuth, Volume 3, Algorithm 5.2.2M)."""
    half = 1 << (n - 1).bit_length() - 1
    p = half
    while p > 0:
        q, r, d = half, 0, p
        while True:
            yield [(k, k + d) for k in range(n - d) if k & p == r]
            if q == p:
                break
            d, q, r = q - p, q // 2, p
        p //= 2
