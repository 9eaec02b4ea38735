"""Unrolled factorisations of small matrices, with the batch axis last.

XLA:CPU calls LAPACK once for each matrix of a batch, and the call costs more than the arithmetic. This module unrolls
the loops over rows and columns, so that each step is one loop over contiguous trials. The functions have the
arguments and results of the primitives of `jax.lax.linalg` with the same names, but with a trial axis `W` at the end,
and accept real matrices of at least 1 x 1.

A barrier ends the kernel of each column or row, since XLA would otherwise recompute a column for every later column. No
kernel sums more products than the matrix has rows.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.tracing import batched_index, short_axes
from jaxbandits.tracing.barrier import barrier

# Largest dimension for which each function is at least twice as fast as LAPACK and compiles within 2 s.
MAX_DIM: Mapping[str, int] = MappingProxyType({"cholesky": 32, "triangular_solve": 32, "lu": 14, "eigh": 10})

_MAX_SWEEPS = 30  # largest number of sweeps of Jacobi rotations; 4 to 7 suffice for random matrices of up to 16 rows


def cholesky(a: jax.Array) -> jax.Array:
    """Factor `a = L L'`, column by column.

    Args:
      a: symmetric matrices `[n, n, W]`, of which the lower triangle is read.

    Returns:
      L `[n, n, W]` with zeros above the diagonal. For a trial whose matrix is not positive definite, the lower triangle
      is NaN.
    """
    n = len(a)
    columns: list[jax.Array] = []  # column j from the diagonal on, `[n - j, W]`
    finite: list[jax.Array] = []
    for j in range(n):
        column = a[j:, j]
        for k, left in enumerate(columns):
            column = column - left[j - k :] * left[j - k]
        (inverse,) = barrier([1.0 / jnp.sqrt(column[0])])
        columns += barrier([column * inverse])
        finite.append(lax.is_finite(inverse))  # a pivot of at most zero makes the inverse infinite or NaN
    (is_definite,) = barrier([short_axes.fold(lax.bitwise_and, finite)])
    return _assemble(a.shape, [(j, j, jnp.where(is_definite, x, jnp.nan)[:, None]) for j, x in enumerate(columns)])


def _assemble(shape: tuple[int, ...], blocks: list[tuple[int, int, jax.Array]]) -> jax.Array:
    """Return an array of zeros in which blocks `[n, m, W]` are written at (first row, first column)."""
    # Without the barrier, XLA would pad the first block entry by entry.
    (matrix,) = barrier([jnp.zeros(shape, blocks[0][2].dtype)])
    for i, j, block in blocks:
        if block.size:
            matrix = lax.dynamic_update_slice(matrix, block, (np.int32(i), np.int32(j), np.int32(0)))
    return barrier([matrix])[0]


def triangular_solve(
    a: jax.Array,
    b: jax.Array,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> jax.Array:
    """Solve `op(a) x = b` or `x op(a) = b` by substitution, where op is the transpose or the identity.

    Args:
      a: triangular matrices `[n, n, W]`, of which one triangle is read.
      b: right-hand sides, `[n, k, W]` if `left_side` is True, else `[k, n, W]`.
      left_side: True to solve `op(a) x = b`, False to solve `x op(a) = b`.
      lower: True if the lower triangle of a is read, False if the upper triangle is read.
      transpose_a: True if op is the transpose.
      conjugate_a: has no effect on real matrices.
      unit_diagonal: True if the diagonal of a is assumed to be 1 and is not read.

    Returns:
      x, with the shape of b. If the diagonal has a zero, x is infinite or NaN.
    """
    del conjugate_a
    axis = 0 if left_side else 1
    transposed = transpose_a == left_side  # `x op(a) = b` is `op(a)' x' = b'`
    order = range(len(a)) if lower != transposed else reversed(range(len(a)))
    rows: dict[int, jax.Array] = {}  # rows of x if `left_side` is True, else columns of x, `[k, W]`
    for i in order:
        row = short_axes.entry(b, axis, i)
        for j, solved in rows.items():
            row = row - (a[j, i] if transposed else a[i, j]) * solved
        (rows[i],) = barrier([row if unit_diagonal else row / a[i, i]])
    return short_axes.stack([rows[i] for i in range(len(a))], axis)


def lu(a: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Factor `a[permutation] = L U` with partial pivoting.

    The pivot of a column is the first entry with the largest absolute value; a NaN is chosen only if it comes first. A
    column whose pivot is below the smallest normal number is not eliminated, as in LAPACK.

    Args:
      a: matrices `[n, m, W]`.

    Returns:
      An array `[n, m, W]` with U on and above the diagonal and the multipliers of L below it; for each row, the row
      with which it was exchanged, `[min(n, m), W]`; the permutation `[n, W]`.
    """
    n, m, size = a.shape
    tiny = jnp.finfo(a.dtype).tiny
    # The multipliers of the rows k, ..., n - 1, and the part of these rows that is not yet eliminated.
    left, right = jnp.zeros((n, 0, size), a.dtype), a
    blocks: list[tuple[int, int, jax.Array]] = []  # first row, first column, entries
    exchanges: list[jax.Array] = []  # for each row, the row with which it was exchanged, [W]
    for k in range(min(n, m)):
        if k == n - 1:
            exchanges.append(jnp.full((size,), k, np.int32))
            break
        (index,) = barrier([short_axes.argextreme(lax.gt, abs(right[:, 0]), 0, np.int32)])
        exchanges.append(index + np.int32(k))
        multipliers, row = barrier([batched_index.take(left, index, 0), batched_index.take(right, index, 0)])
        blocks += [(k, 0, multipliers[None]), (k, k, row[None])]
        is_pivot = (lax.broadcasted_iota(np.int32, (n - k - 1, 1), 0) + np.int32(1) == index)[:, None]
        left, right = (jnp.where(is_pivot, x[:1], x[1:]) for x in (left, right))
        (factor,) = barrier([jnp.where(abs(row[0]) >= tiny, right[:, :1] / row[0], right[:, :1])])
        left, right = barrier([left, right[:, 1:] - factor * row[1:]])
        left = lax.concatenate([left, factor], 1)
    blocks += [(n - len(left), 0, left), (n - len(left), m - right.shape[1], right)]
    factors, pivots = _assemble(a.shape, blocks), short_axes.stack(exchanges, 0)
    # For each final row, the original row of a, found by following the exchanges backwards.
    permutation = lax.broadcasted_iota(np.int32, (n, size), 0)
    for k in reversed(range(len(exchanges))):
        partner = jnp.where(permutation == pivots[k], np.int32(k), permutation)
        permutation = jnp.where(permutation == k, pivots[k], partner)
    return factors, pivots, barrier([permutation])[0]


def eigh(a: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Diagonalise symmetric matrices by Jacobi rotations, until each trial has converged.

    Args:
      a: symmetric matrices `[n, n, W]`, of which the lower triangle is read.

    Returns:
      Orthonormal eigenvectors as the columns of an array `[n, n, W]`, and the eigenvalues `[n, W]` in ascending order.
      For a trial whose matrix has an entry that is not finite, both are NaN.
    """
    n = len(a)
    if n == 1:
        value = jnp.where(lax.is_finite(a[0]), a[0], jnp.nan)
        return jnp.where(jnp.isnan(value), value, 1.0)[None], value
    padded = n + n % 2  # rotations act on disjoint pairs of rows; an odd n needs a row of zeros, which never changes
    row, column = (lax.broadcasted_iota(np.int32, (n, n, 1), axis) for axis in (0, 1))
    matrix = jnp.where(row >= column, a, jnp.swapaxes(a, 0, 1))
    matrix = jnp.pad(matrix, ((0, padded - n), (0, padded - n), (0, 0)))
    (norm,) = barrier([short_axes.reduce(lax.max, short_axes.reduce(lax.max, abs(matrix), 0), 0)])
    vectors = jnp.broadcast_to(jnp.eye(padded, dtype=a.dtype)[:, :, None], matrix.shape)
    negligible = norm * jnp.finfo(a.dtype).eps

    def is_unfinished(matrix: jax.Array) -> jax.Array:
        i = lax.broadcasted_iota(np.int32, (padded, 1), 0)
        (largest,) = barrier(
            [short_axes.fold(lax.max, [jnp.where(i > j, abs(matrix[j]), 0.0) for j in range(padded - 1)])]
        )
        return short_axes.reduce(lax.max, largest, 0) > negligible

    def sweep(carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        count, unfinished, *pair = carry
        rotated = lax.fori_loop(0, padded - 1, lambda _, pair: _rotate_pairs(*pair), tuple(pair))
        # Further rotations would change the last bits of a finished trial, which would then depend on the others.
        matrix, vectors = barrier([jnp.where(unfinished, new, old) for new, old in zip(rotated, pair, strict=True)])
        return count + np.int32(1), is_unfinished(matrix), matrix, vectors

    *_, matrix, vectors = lax.while_loop(
        lambda carry: (carry[0] < _MAX_SWEEPS) & jnp.any(carry[1]),
        sweep,
        (jnp.zeros((), np.int32), is_unfinished(matrix), matrix, vectors),
    )
    values = [jnp.where(lax.is_finite(norm), matrix[i, i], jnp.nan) for i in range(n)]
    return _sort_eigenpairs(jnp.where(lax.is_finite(norm), vectors[:n, :n], jnp.nan), barrier(values))


def _rotate_pairs(matrix: jax.Array, vectors: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Annihilate the entries (i, i + h) of a symmetric matrix `[2h, 2h, W]`, and reorder the rows for the next step.

    After 2h - 1 steps every pair of rows has been rotated once, and the rows are in their initial order again (Brent &
    Luk 1985).

    Args:
      matrix: symmetric matrices, which are rotated from both sides.
      vectors: eigenvectors as rows, which are rotated from the left.
    """
    half = len(matrix) // 2
    top, bottom, off = (
        jnp.stack([matrix[i + below, i + right] for i in range(half)])
        for below, right in ((0, 0), (half, half), (0, half))
    )
    is_zero = off == 0.0
    cotangent = (bottom - top) / (2.0 * jnp.where(is_zero, 1.0, off))  # cotangent of twice the angle
    tangent = jnp.where(cotangent < 0.0, -1.0, 1.0) / (abs(cotangent) + jnp.sqrt(1.0 + cotangent * cotangent))
    tangent = jnp.where(is_zero, 0.0, tangent)
    cosine = 1.0 / jnp.sqrt(1.0 + tangent * tangent)
    cosine, sine, top, bottom = barrier(
        [cosine, cosine * tangent, top - tangent * off, bottom + tangent * off]  # the new diagonal
    )

    def rotate(x: jax.Array) -> jax.Array:
        top, bottom = x[:half], x[half:]
        c, s = cosine[:, None], sine[:, None]
        return _reorder(c * top - s * bottom, s * top + c * bottom)

    # The entries that a rotation annihilates are set to exactly zero.
    rows = np.arange(2 * half)
    order = np.asarray(_reorder(rows[:half], rows[half:], np.concatenate))
    is_pair = (abs(order[:, None] - order) == half)[:, :, None]
    is_diagonal = np.eye(2 * half, dtype=bool)[:, :, None]
    (rotated,) = barrier([rotate(matrix)])
    (diagonal,) = barrier([_reorder(top, bottom)])
    matrix = jnp.where(is_pair, 0.0, rotate(jnp.swapaxes(rotated, 0, 1)))
    matrix, vectors = barrier([jnp.where(is_diagonal, diagonal[:, None], matrix), rotate(vectors)])
    return matrix, vectors


def _reorder(top: Any, bottom: Any, concatenate: Callable[..., Any] = jnp.concatenate) -> Any:
    """Move all rows except the first by one position, in the cycle of the top half and the reversed bottom half."""
    half = len(top)
    if half == 1:
        return concatenate([top, bottom])
    return concatenate([top[:1], bottom[:1], top[1 : half - 1], bottom[1:], top[half - 1 :]])


def _sort_eigenpairs(vectors: jax.Array, values: list[jax.Array]) -> tuple[jax.Array, jax.Array]:
    """Sort n eigenvalues, arrays `[W]`, in ascending order; return the rows of `vectors` as columns in this order."""
    n = len(values)
    stacked = jnp.stack(values)
    k = lax.broadcasted_iota(np.int32, (n, 1), 0)
    is_before = [(value < stacked) | ((value == stacked) & (k > i)) for i, value in enumerate(values)]
    (rank,) = barrier([short_axes.fold(lax.add, [x.astype(np.int32) for x in is_before])])
    sorted_values, sorted_vectors = stacked, jnp.swapaxes(vectors, 0, 1)
    for i, value in enumerate(values):
        sorted_values = jnp.where(rank[i] == k, value, sorted_values)
        sorted_vectors = jnp.where(rank[i] == k, vectors[i][:, None], sorted_vectors)
    sorted_vectors, sorted_values = barrier([sorted_vectors, sorted_values])
    return sorted_vectors, sorted_values
