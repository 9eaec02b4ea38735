"""Products, sums and searches over short axes, with the batch axis last.

Under `jax.vmap` XLA:CPU runs a product of 10 x 10 matrices, a sum over 10 entries or an argmax over 20 arms at a few
percent of what the machine can do: the short axis is the innermost loop. Here each is written out over the short axis,
so that every operation is one loop over contiguous trials. Axes longer than `WRITTEN_OUT` stay reductions.

A product of matrices of which one entry is summed afterwards (a quadratic form of every arm, say) is kept as `Rows`,
one array an arm: the sum is fused into the product of each arm, whose operands stay in the innermost cache, and the
product itself is never put together.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.tracing.barrier import barrier

WRITTEN_OUT = 48  # terms of a sum that are written out
ROW_TERMS = 6000  # products that are written out as rows in all; their code is compiled in some seconds
SEARCHED = 64  # entries of a search that is written out; more are first compared with their neighbours
LONG_TERMS = 2**15  # products up to which a long contraction is added up in slices
_SLICES = 8  # of a longer sum; 4 to 32 measured
_SELECTED = 4  # slices up to which an array is put together by selects
_SORTED = 16  # entries of a sort that is written out


class Rows(NamedTuple):
    """An array `[..., W]` as its slices along one axis."""

    slices: tuple[jax.Array, ...]
    axis: int

    @property
    def dtype(self) -> Any:
        return self.slices[0].dtype

    def array(self) -> jax.Array:
        """The array itself.

        A few slices are put together by selects, which stay vector code.
        """
        if len(self.slices) > _SELECTED:
            return stack(self.slices, self.axis)
        shape = [*self.slices[0].shape]
        shape.insert(self.axis, len(self.slices))
        place = lax.broadcasted_iota(jnp.int32, shape, self.axis)
        *others, last = (jnp.broadcast_to(jnp.expand_dims(x, self.axis), shape) for x in self.slices)
        array = last
        for k, x in enumerate(others):
            array = jnp.where(place == k, x, array)
        return array


def stack(slices: Sequence[jax.Array], axis: int) -> jax.Array:
    """Stack slices along a new axis."""
    return concatenate([lax.expand_dims(x, (axis,)) for x in slices], axis)


def concatenate(pieces: Sequence[jax.Array], axis: int) -> jax.Array:
    """Concatenate by a kernel that does nothing else: fused, XLA looks up the piece of each entry."""
    return barrier([lax.concatenate(barrier(pieces), axis)])[0]


def entry(x: jax.Array, axis: int, k: int) -> jax.Array:
    """`x[..., k, ...]` at `axis`."""
    return lax.index_in_dim(x, k, axis, keepdims=False)


def entries(x: jax.Array, axis: int) -> list[jax.Array]:
    """All slices along an axis."""
    return [entry(x, axis, k) for k in range(x.shape[axis])]


def length(x: Any, axis: int) -> int:
    """Of an axis of an array or of `Rows`."""
    if not isinstance(x, Rows):
        return x.shape[axis]
    return len(x.slices) if axis == x.axis else x.slices[0].shape[axis - (axis > x.axis)]


def fold(operation: Callable[[Any, Any], Any], terms: Sequence[Any]) -> Any:
    """The terms joined from the left."""
    total, *others = terms
    for term in others:
        total = operation(total, term)
    return total


def reduce(operation: Callable[[Any, Any], Any], x: jax.Array, axis: int) -> jax.Array:
    """Reduction over one axis by an associative operation; long axes in blocks of slices."""
    n = x.shape[axis]
    if n <= WRITTEN_OUT:
        return fold(operation, entries(x, axis))
    m = n // _SLICES
    parts = [lax.slice_in_dim(x, k * m, (k + 1) * m, axis=axis) for k in range(_SLICES)]
    (halfway,) = barrier([fold(operation, parts)])
    total = reduce(operation, halfway, axis)
    if n == _SLICES * m:
        return total
    return operation(total, reduce(operation, lax.slice_in_dim(x, _SLICES * m, n, axis=axis), axis))


def argextreme(better: Callable[[Any, Any], Any], x: jax.Array, axis: int, dtype: Any) -> jax.Array:
    """Index of the first best entry along an axis.

    Args:
      better: whether an entry beats another one that stands before it, strictly.
      x: `[..., n, ..., W]`, n >= 1.
      axis: of the n.
      dtype: of the index.
    """
    if x.shape[axis] <= SEARCHED:
        places: Any = range(x.shape[axis])
    else:
        x, indices = _neighbours(better, x, axis, dtype)
        places = entries(indices, axis)
    best, *others = entries(x, axis)
    index, *at = (jnp.full(best.shape, k, dtype) if isinstance(k, int) else k for k in places)
    for value, k in zip(others, at, strict=True):
        wins = better(value, best)
        best, index = lax.select(wins, value, best), lax.select(wins, k, index)
    return index


def _neighbours(better: Callable[[Any, Any], Any], x: jax.Array, axis: int, dtype: Any) -> tuple[jax.Array, jax.Array]:
    """The winners of comparisons of entries with their right neighbours, until few are left, and their indices."""
    values, indices = x, lax.broadcasted_iota(dtype, x.shape, axis)
    while values.shape[axis] > SEARCHED:
        pairs = values.shape[axis] // 2 * 2
        left, right = (lax.slice_in_dim(values, k, pairs, 2, axis) for k in (0, 1))
        at_left, at_right = (lax.slice_in_dim(indices, k, pairs, 2, axis) for k in (0, 1))
        wins = better(right, left)
        others = [lax.slice_in_dim(a, pairs, a.shape[axis], axis=axis) for a in (values, indices)]
        winners = lax.select(wins, right, left), lax.select(wins, at_right, at_left)
        values, indices = barrier([lax.concatenate(pair, axis) for pair in zip(winners, others, strict=True)])
    return values, indices


def is_larger(a: jax.Array, b: jax.Array) -> jax.Array:
    """Whether a comes before b in the order of argmax: NaN first."""
    return ~(a <= b) & (b == b) if jnp.issubdtype(a.dtype, jnp.inexact) else a > b


def is_smaller(a: jax.Array, b: jax.Array) -> jax.Array:
    """Whether a comes before b in the order of argmin: NaN first."""
    return ~(a >= b) & (b == b) if jnp.issubdtype(a.dtype, jnp.inexact) else a < b


def _after(a: jax.Array, b: jax.Array) -> jax.Array:
    """Whether a comes after b in the order of sort: NaN last."""
    return ~(a <= b) & (b == b) if jnp.issubdtype(a.dtype, jnp.inexact) else a > b


def is_short_sort(length: int) -> bool:
    """Whether a sort is written out."""
    return 2 <= length <= _SORTED


def sort(operands: Sequence[jax.Array], axis: int) -> list[Rows]:
    """Sort by the first operand, stably: rounds of exchanges between neighbours."""
    columns = [entries(x, axis) for x in operands]
    n = len(columns[0])
    for turn in range(n):
        for k in range(turn % 2, n - 1, 2):
            swap = _after(columns[0][k], columns[0][k + 1])
            for column in columns:
                low, high = column[k], column[k + 1]
                column[k], column[k + 1] = lax.select(swap, high, low), lax.select(swap, low, high)
        if turn % 4 == 3:
            flat = iter(barrier([x for column in columns for x in column]))
            columns = [[next(flat) for _ in column] for column in columns]
    return [Rows(tuple(column), axis) for column in columns]


def cumulate(operation: Callable[[Any, Any], Any], x: jax.Array, axis: int, reverse: bool) -> jax.Array:
    """Running totals along an axis."""
    slices = entries(x, axis)
    if reverse:
        slices.reverse()
    totals = slices[:1]
    for x_k in slices[1:]:
        totals.append(operation(totals[-1], x_k))
        if len(totals) % 8 == 0:
            totals[-1:] = barrier(totals[-1:])
    return Rows(tuple(reversed(totals) if reverse else totals), axis).array()


class Product(NamedTuple):
    """Axes of a `dot_general`."""

    contracted: tuple[Sequence[int], Sequence[int]]
    batch: tuple[Sequence[int], Sequence[int]]

    def free(self, side: int, ndim: int) -> list[int]:
        """The axes of a side that are neither contracted nor batched."""
        return [k for k in range(ndim) if k not in self.contracted[side] and k not in self.batch[side]]

    def place(self, side: int, axis: int, ndims: tuple[int, int]) -> int | None:
        """The axis of the result that an axis of a side becomes; None where it is contracted."""
        if axis in self.contracted[side]:
            return None
        if axis in self.batch[side]:
            return list(self.batch[side]).index(axis)
        before = len(self.batch[0]) + (len(self.free(0, ndims[0])) if side else 0)
        return before + self.free(side, ndims[side]).index(axis)


def _long_product(axes: Product, x: jax.Array, y: jax.Array, own: list[tuple[int | None, int | None]]) -> jax.Array:
    """A product over one long axis, in blocks of slices as in `reduce`; `own` are the axes of the result by side."""

    def part(side: int, a: jax.Array, start: int, stop: int) -> jax.Array:
        (axis,) = axes.contracted[side]
        mine = [pair[side] for pair in own]
        a = lax.slice_in_dim(a, start, stop, axis=axis)
        a = a.transpose(axis, *(k for k in mine if k is not None), a.ndim - 1)
        return lax.expand_dims(a, [1 + k for k, at in enumerate(mine) if at is None])

    def terms(start: int, stop: int) -> jax.Array:
        return part(0, x, start, stop) * part(1, y, start, stop)

    n = x.shape[axes.contracted[0][0]]
    m = n // _SLICES
    (halfway,) = barrier([fold(lax.add, [terms(k * m, (k + 1) * m) for k in range(_SLICES)])])
    total = reduce(lax.add, halfway, 0)
    return fold(lax.add, [total, *(terms(k, k + 1)[0] for k in range(_SLICES * m, n))])


def product(axes: Product, x: Any, y: Any, ndims: tuple[int, int], rows: int | None) -> Any:
    """`dot_general` of operands `[..., W]` or `[..., 1]`: an array, or `Rows` along an axis of the result.

    Args:
      axes: of the product.
      x: the left side; where it is in rows, along a contracted axis or that of the rows of the result.
      y: the right side.
      ndims: numbers of their axes without the last.
      rows: the axis of the result along which it is wanted in rows; None: none.

    Returns:
      None where the contraction is long, unless the result is small and each trial has its own operands.
    """
    lengths = [length(x, k) for k in axes.contracted[0]]
    free = [axes.free(side, ndim) for side, ndim in enumerate(ndims)]
    own = [
        *zip(axes.batch[0], axes.batch[1], strict=True),
        *((k, None) for k in free[0]),
        *((None, k) for k in free[1]),
    ]
    if not 1 <= math.prod(lengths) <= WRITTEN_OUT:
        if len(lengths) != 1 or isinstance(x, Rows) or isinstance(y, Rows) or x.shape[-1] != y.shape[-1]:
            return None
        sides = [a.shape[axis] for a, axes_of in ((x, free[0]), (y, free[1])) for axis in axes_of]
        terms = math.prod(lengths) * math.prod(sides) * math.prod(x.shape[axis] for axis in axes.batch[0])
        return _long_product(axes, x, y, own) if 0 < terms <= LONG_TERMS else None

    def term(place: tuple[int, ...], row: int | None) -> jax.Array:
        return factor(0, x, place, row) * factor(1, y, place, row)

    def factor(side: int, a: jax.Array, place: tuple[int, ...], row: int | None) -> jax.Array:
        """The entries of a side at a place of the contraction, with axes of length 1 for those of the other side."""
        chosen = dict(zip(axes.contracted[side], place, strict=True))
        mine = [pair[side] for pair in own]  # by axis of the result: that of the side
        if row is not None and rows is not None:
            if mine[rows] is not None:
                chosen[mine[rows]] = row
            del mine[rows]
        left = [axis for axis in range(ndims[side]) if axis not in chosen]
        if isinstance(a, Rows):
            k = chosen.pop(a.axis)
            chosen = {axis - (axis > a.axis): at for axis, at in chosen.items()}
            a = a.slices[k]
        for axis in sorted(chosen, reverse=True):
            a = entry(a, axis, chosen[axis])
        order = [left.index(axis) for axis in mine if axis is not None]
        if order != sorted(order):
            a = a.transpose(*order, len(order))
        return lax.expand_dims(a, [k for k, axis in enumerate(mine) if axis is None])

    def summed(row: int | None) -> jax.Array:
        return fold(jnp.add, [term(place, row) for place in np.ndindex(*lengths)])

    if rows is None:
        return summed(None)
    pair = own[rows]
    count = length(x, pair[0]) if pair[0] is not None else length(y, pair[1])
    return Rows(tuple(summed(k) for k in range(count)), rows)
