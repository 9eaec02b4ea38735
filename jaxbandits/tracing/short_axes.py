"""Products, sums and searches along short axes, with the batch axis last.

Under `jax.vmap` the short axis of a product of 10 x 10 matrices, a sum over 10 entries or an argmax over 20 arms is the
innermost loop, which XLA:CPU runs at a few percent of the machine's speed. This module unrolls the operation over
the short axis, so that every instruction is one loop over contiguous trials. Sums over more than `WRITTEN_OUT` entries
are computed in blocks of slices.

A product of matrices that is summed afterwards, such as the quadratic forms of all arms, is kept as `Rows`, with one
array for each arm. The sum for each arm is then part of the kernel that computes its terms. The operands of this kernel
fit in the innermost cache, and the whole product is never stored.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import DTypeLike

from jaxbandits.tracing import target
from jaxbandits.tracing.barrier import barrier, materialize

WRITTEN_OUT = 48  # largest number of terms of a sum that is unrolled
# Largest number of products in all rows together that are unrolled; the code compiles within a few seconds.
ROW_TERMS = 6000
# Largest number of entries of a search that is unrolled; with more entries, pairs of neighbours are compared first.
SEARCHED = 64
LONG_TERMS = 2**15  # largest number of products of a long contraction that is summed in slices
_SLICES = 8  # number of slices of a longer sum, the fastest of 4 to 32
_SELECTED = 4  # largest number of slices that are assembled by selects
# Largest number of arrays in one concatenation on an accelerator, whose kernel compares each index with all arrays.
_CONCATENATED = 16


Operand: TypeAlias = Any  # jax.Array, with the batch axis last if it has one, or `Rows`
FlaggedOperand: TypeAlias = tuple[Operand, bool]  # operand, and whether it has the batch axis


class Rows(NamedTuple):
    """Array `[..., W]` that is stored as its slices along one axis."""

    slices: tuple[jax.Array, ...]
    axis: int  # axis of the array along which the slices lie

    @property
    def dtype(self) -> Any:
        return self.slices[0].dtype

    def array(self) -> jax.Array:
        """Return the whole array, assembled from its slices by selects if they are few, else by a concatenation."""
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


def concatenate(arrays: Sequence[jax.Array], axis: int) -> jax.Array:
    """Concatenate arrays in a separate kernel, since a fused concatenation searches for the source of each entry."""
    n = _CONCATENATED
    if target.targets_accelerator() and len(arrays) > n:
        return concatenate([concatenate(arrays[k : k + n], axis) for k in range(0, len(arrays), n)], axis)
    return materialize([lax.concatenate(materialize(list(arrays)), axis)])[0]


def entry(x: jax.Array, axis: int, k: int) -> jax.Array:
    """Return `x[..., k, ...]`, the k-th slice along `axis`."""
    return lax.index_in_dim(x, k, axis, keepdims=False)


def entries(x: jax.Array, axis: int) -> list[jax.Array]:
    """Return a list of all slices along an axis."""
    return [entry(x, axis, k) for k in range(x.shape[axis])]


def length(x: Operand, axis: int) -> int:
    """Return the length of an axis of an array or of `Rows`."""
    if not isinstance(x, Rows):
        return x.shape[axis]
    return len(x.slices) if axis == x.axis else x.slices[0].shape[axis - (axis > x.axis)]


def fold(operation: Callable[[Any, Any], Any], terms: Sequence[Any]) -> Any:
    """Combine terms by a binary operation, from left to right, and return the result."""
    total, *others = terms
    for term in others:
        total = operation(total, term)
    return total


def reduce(operation: Callable[[Any, Any], Any], x: jax.Array, axis: int) -> jax.Array:
    """Reduce an array over one axis by an associative operation, in blocks of slices if the axis is long."""
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


def argextreme(better: Callable[[Any, Any], Any], x: jax.Array, axis: int, dtype: DTypeLike) -> jax.Array:
    """Return the index of the best entry along an axis; ties go to the first entry.

    Args:
      better: function that returns True if its first argument is strictly better than its second argument.
      x: array `[..., n, ..., W]` with n >= 1.
      axis: axis of length n.
      dtype: dtype of the index.
    """
    if x.shape[axis] <= SEARCHED:
        places: Any = range(x.shape[axis])
    else:
        x, indices = _knock_out(better, x, axis, dtype)
        places = entries(indices, axis)
    best, *others = entries(x, axis)
    index, *other_indices = (jnp.full(best.shape, k, dtype) if isinstance(k, int) else k for k in places)
    for value, k in zip(others, other_indices, strict=True):
        wins = better(value, best)
        best, index = lax.select(wins, value, best), lax.select(wins, k, index)
    return index


def _knock_out(
    better: Callable[[Any, Any], Any], x: jax.Array, axis: int, dtype: DTypeLike
) -> tuple[jax.Array, jax.Array]:
    """Keep the better entry of each pair of neighbours until at most `SEARCHED` remain; return them with indices."""
    values, indices = x, lax.broadcasted_iota(dtype, x.shape, axis)
    while values.shape[axis] > SEARCHED:
        pairs = values.shape[axis] // 2 * 2
        left, right = (lax.slice_in_dim(values, k, pairs, 2, axis) for k in (0, 1))
        left_indices, right_indices = (lax.slice_in_dim(indices, k, pairs, 2, axis) for k in (0, 1))
        wins = better(right, left)
        unpaired = [lax.slice_in_dim(a, pairs, a.shape[axis], axis=axis) for a in (values, indices)]
        winners = lax.select(wins, right, left), lax.select(wins, right_indices, left_indices)
        values, indices = barrier([lax.concatenate(pair, axis) for pair in zip(winners, unpaired, strict=True)])
    return values, indices


def is_larger(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return True where a is larger than b in the order of argmax, in which NaN is the largest number."""
    return ~(a <= b) & (b == b) if jnp.issubdtype(a.dtype, jnp.inexact) else a > b


def is_smaller(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return True where a is smaller than b in the order of argmin, in which NaN is the smallest number."""
    return ~(a >= b) & (b == b) if jnp.issubdtype(a.dtype, jnp.inexact) else a < b


def cumulate(operation: Callable[[Any, Any], Any], x: jax.Array, axis: int, reverse: bool) -> jax.Array:
    """Return the cumulative results of an operation along an axis, such as `cumsum` for addition."""
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
    """Contracted axes and batch axes of a `dot_general`, for its left and its right operand (sides 0 and 1)."""

    contracted: tuple[Sequence[int], Sequence[int]]
    batch: tuple[Sequence[int], Sequence[int]]

    def free(self, side: int, ndim: int) -> list[int]:
        """Return the axes of a side that are neither contracted nor batch axes."""
        return [k for k in range(ndim) if k not in self.contracted[side] and k not in self.batch[side]]

    def place(self, side: int, axis: int, ndims: tuple[int, int]) -> int | None:
        """Return the axis of the result that an axis of a side becomes, or None if the axis is contracted."""
        if axis in self.contracted[side]:
            return None
        if axis in self.batch[side]:
            return list(self.batch[side]).index(axis)
        first = len(self.batch[0]) + (len(self.free(0, ndims[0])) if side else 0)
        return first + self.free(side, ndims[side]).index(axis)


def _long_product(axes: Product, x: jax.Array, y: jax.Array, sides: list[tuple[int | None, int | None]]) -> jax.Array:
    """Contract one long axis, in blocks of slices as in `reduce`.

    Args:
      axes: axes of the product.
      x: left operand.
      y: right operand.
      sides: for each axis of the result, the axes of the left and of the right side that become it.
    """

    def factor(side: int, a: jax.Array, start: int, stop: int) -> jax.Array:
        (axis,) = axes.contracted[side]
        of_result = [pair[side] for pair in sides]
        a = lax.slice_in_dim(a, start, stop, axis=axis)
        a = a.transpose(axis, *(k for k in of_result if k is not None), a.ndim - 1)
        return lax.expand_dims(a, [1 + k for k, at in enumerate(of_result) if at is None])

    def terms(start: int, stop: int) -> jax.Array:
        return factor(0, x, start, stop) * factor(1, y, start, stop)

    n = x.shape[axes.contracted[0][0]]
    m = n // _SLICES
    add = lax.bitwise_or if x.dtype == bool else lax.add
    (halfway,) = barrier([fold(add, [terms(k * m, (k + 1) * m) for k in range(_SLICES)])])
    total = reduce(add, halfway, 0)
    return fold(add, [total, *(terms(k, k + 1)[0] for k in range(_SLICES * m, n))])


def product(axes: Product, x: Operand, y: Any, ndims: tuple[int, int], rows: int | None) -> Any:
    """Compute `dot_general` of operands `[..., W]` or `[..., 1]` as an array, or as `Rows` along an axis of the result.

    Args:
      axes: axes of the product.
      x: left operand; if it is `Rows`, these must lie along a contracted axis or along the axis `rows` of the result.
      y: right operand, with the same condition.
      ndims: number of axes of each operand, without the batch axis.
      rows: axis of the result along which to return `Rows`; None: return an array.

    Returns:
      The product; None if the contraction is long, unless the product is small and both operands differ between trials.
    """
    lengths = [length(x, k) for k in axes.contracted[0]]
    free = [axes.free(side, ndim) for side, ndim in enumerate(ndims)]
    sides = [  # for each axis of the result, the axes of the left and of the right side that become it
        *zip(axes.batch[0], axes.batch[1], strict=True),
        *((k, None) for k in free[0]),
        *((None, k) for k in free[1]),
    ]
    if not 1 <= math.prod(lengths) <= WRITTEN_OUT:
        if len(lengths) != 1 or isinstance(x, Rows) or isinstance(y, Rows) or x.shape[-1] != y.shape[-1]:
            return None
        free_lengths = [a.shape[axis] for a, free_axes in ((x, free[0]), (y, free[1])) for axis in free_axes]
        terms = math.prod(lengths) * math.prod(free_lengths) * math.prod(x.shape[axis] for axis in axes.batch[0])
        return _long_product(axes, x, y, sides) if 0 < terms <= LONG_TERMS else None

    def term(index: tuple[int, ...], row: int | None) -> jax.Array:
        return factor(0, x, index, row) * factor(1, y, index, row)

    def factor(side: int, a: jax.Array, index: tuple[int, ...], row: int | None) -> jax.Array:
        """Return the entries of a side at an index of the contraction, with axes of length 1 for the other side."""
        fixed = dict(zip(axes.contracted[side], index, strict=True))  # index by axis
        of_result = [pair[side] for pair in sides]  # for each axis of the result (or of a row), the axis of this side
        if row is not None and rows is not None:
            if of_result[rows] is not None:
                fixed[of_result[rows]] = row
            del of_result[rows]
        left = [axis for axis in range(ndims[side]) if axis not in fixed]
        if isinstance(a, Rows):
            k = fixed.pop(a.axis)
            fixed = {axis - (axis > a.axis): at for axis, at in fixed.items()}
            a = a.slices[k]
        for axis in sorted(fixed, reverse=True):
            a = entry(a, axis, fixed[axis])
        order = [left.index(axis) for axis in of_result if axis is not None]
        if order != sorted(order):
            a = a.transpose(*order, len(order))
        return lax.expand_dims(a, [k for k, axis in enumerate(of_result) if axis is None])

    def contract(row: int | None) -> jax.Array:
        return fold(jnp.add, [term(index, row) for index in np.ndindex(*lengths)])

    if rows is None:
        return contract(None)
    left_axis, right_axis = sides[rows]
    count = length(x, left_axis) if left_axis is not None else length(y, right_axis)
    return Rows(tuple(contract(k) for k in range(count)), rows)
