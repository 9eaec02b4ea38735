"""Factors of V^{-1} (`numerics.inverse_factors`) in many dimensions, with loops over columns that are stored in blocks.

The columns of U are stored in at most `BLOCKS` blocks of about equally many columns. A block is an array `[m, h]` whose
rows are m columns of U. A stored column includes the diagonal entry 1, and zeros if it is shorter than the last column
of its block. The loop over the m columns of a block compiles to code whose size does not depend on d. Because the
diagonal entry 1 is stored, p_j,j+1 = f_j / E_j follows from the same recursion as the entries above the diagonal; the
diagonal entry never changes, because p_jj = 0.

In the functions below, `columns` holds the blocks `[m, h]`, `pivots` is `[d]`, and the trial axis is the last axis.
XLA:CPU unrolls a loop over 32 trials with a short body instead of vectorising it. Steps that need no index therefore
run over one axis that merges h and the trials (`_elementwise`, `_reshape`), and sums are split into kernels of up to
`_TERMS` terms. For a single trial the sums are matrix products.

A barrier ends each of these kernels. XLA:CPU would otherwise fuse them with the surrounding code, and recompute a value
in each kernel that reads it.
"""

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.numerics.linalg import Symmetric, Vector, join, sum_terms
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.batching import trials_last

BLOCKS = 3  # more blocks store fewer zeros (with 3 blocks, a quarter of the entries), but take longer to compile
_MERGED = 4  # number of rows of a block that are merged with the trial axis
_TERMS = 16  # number of terms of a sum in one kernel; more terms take longer to compile


class ColumnBlocks(NamedTuple):
    """Factor U, stored as blocks of its columns, and pivots E."""

    columns: tuple[CompensatedSum, ...]  # leaves [m, h]: the first h entries of the columns h - m + 1, ..., h of U
    pivots: CompensatedSum  # leaves [d]  E


def init(dim: int, ridge: jax.Array) -> ColumnBlocks:
    """Return the stored factors of the inverse of `ridge` times the identity matrix, as blocks of columns."""
    columns, pivots = _diagonal(dim, BLOCKS)(ridge)
    return ColumnBlocks(columns=tuple(map(CompensatedSum.init, columns)), pivots=CompensatedSum.init(pivots))


def from_factor(transposed: jax.Array, pivots: Vector) -> ColumnBlocks:
    """Return the stored factors for U' `[d, d]` and pivots E `[d]`; only the part of U' below the diagonal is read."""
    dim = len(pivots)
    lower = jnp.where(jnp.tri(dim, k=-1, dtype=bool), transposed, jnp.eye(dim, dtype=transposed.dtype))
    columns = [lower[start:stop, :stop] for start, stop in itertools.pairwise(_stops(dim, BLOCKS))]
    return ColumnBlocks(columns=tuple(map(CompensatedSum.init, columns)), pivots=CompensatedSum.init(pivots))


def _stops(dim: int, n_blocks: int) -> list[int]:
    """Return the first column of each block, and d."""
    return sorted({round(dim * k / (n_blocks * _MERGED)) * _MERGED for k in range(n_blocks)} | {dim})


@functools.cache
def _diagonal(dim: int, n_blocks: int) -> Callable[[jax.Array], tuple[list[jax.Array], jax.Array]]:
    stops = _stops(dim, n_blocks)

    @trials_last
    def blocks(ridge: jax.Array) -> tuple[list[jax.Array], jax.Array]:
        columns = []
        for start, stop in itertools.pairwise(stops):
            eye = jnp.eye(stop - start, stop, start, dtype=ridge.dtype)
            columns.append(jnp.broadcast_to(_with_axes(eye, ridge.ndim), (*eye.shape, *ridge.shape)))
        return columns, jnp.broadcast_to(ridge, (dim, *ridge.shape))

    return blocks


def _with_axes(x: jax.Array, n: int) -> jax.Array:
    """Append n axes of length 1."""
    return x.reshape(*x.shape, *(1,) * n)


def _expand(x: jax.Array, ndim: int, trials: tuple[int, ...]) -> jax.Array:
    """Broadcast all axes after the first `ndim` axes to the trial axes."""
    return jnp.broadcast_to(x, (*x.shape[:ndim], *trials))


def _reshape(x: jax.Array, *shape: int) -> jax.Array:
    """Reshape between two kernels; within a kernel XLA:CPU would divide to find the two indices of every entry."""
    return x if x.shape == shape else barrier(barrier(x).reshape(shape))


def _elementwise(f: Callable[..., jax.Array], *arrays: jax.Array) -> jax.Array:
    """Apply f elementwise to arrays of equal shape, in one kernel over the flattened arrays."""
    flat = (_reshape(x, x.size) for x in arrays)
    return _reshape(barrier(f(*flat)), *arrays[0].shape)


def _row(x: jax.Array, j: ArrayLike) -> jax.Array:
    return lax.dynamic_index_in_dim(x, j, 0, keepdims=False)


def _set_row(x: jax.Array, j: ArrayLike, row: jax.Array) -> jax.Array:
    return lax.dynamic_update_index_in_dim(x, row, j, 0)


def _accumulate(n: int, terms: Callable[[Any, int], list[jax.Array]]) -> jax.Array:
    """Return the sum of n terms, computed in kernels of at most `_TERMS` terms.

    Args:
      n: number of terms, > 0.
      terms: function `(first, count)` that returns the terms first, ..., first + count - 1.
    """
    size = _TERMS
    first = n % size or size
    total = barrier(sum_terms(terms(0, first)))
    if first == n:
        return total

    def step(k: ArrayLike, total: jax.Array) -> jax.Array:
        return barrier(sum_terms([total, *terms(first + k * size, size)]))

    return lax.fori_loop(0, n // size - (first == size), step, total)


def _products(rows: jax.Array, block: jax.Array) -> jax.Array:
    """Return the inner products `[k, m]` of k rows `[k, h]` with the m rows of a block `[m, h]`."""
    if block.ndim == rows.ndim == 2:
        return barrier(jnp.matmul(block, rows.T, precision=lax.Precision.HIGHEST).T)

    def terms(first: ArrayLike, count: int) -> list[jax.Array]:
        x, u = (lax.dynamic_slice_in_dim(a, first, count, 1) for a in (rows, block))
        return [x[:, None, i] * u[None, :, i] for i in range(count)]

    return _accumulate(block.shape[1], terms)


def _combination(weights: jax.Array, rows: jax.Array) -> jax.Array:
    """Return `sum_j weights_j rows_j` `[h]` for rows `[m, h]`."""
    if weights.ndim == 1 and rows.ndim == 2:
        return barrier(jnp.matmul(weights, rows, precision=lax.Precision.HIGHEST))

    def terms(first: ArrayLike, count: int) -> list[jax.Array]:
        w, x = (lax.dynamic_slice_in_dim(a, first, count, 0) for a in (weights, rows))
        return [w[i] * x[i] for i in range(count)]

    return _accumulate(len(weights), terms)


def _transposed_product(columns: tuple[jax.Array, ...], x: Vector) -> Vector:
    """Return `U'x`."""
    return join([_products(x[None, : block.shape[1]], block)[0] for block in columns])


def _upper_product(columns: tuple[jax.Array, ...], v: Vector) -> Vector:
    """Return `U v`."""
    parts = []
    for block in columns:
        m, h = block.shape[:2]
        parts.append(_combination(v[h - m : h], block))
    starts = [0, *(block.shape[1] for block in columns)]
    return join(
        [
            sum_terms(part[start:stop] for part in parts[k:])
            for k, (start, stop) in enumerate(itertools.pairwise(starts))
        ]
    )


@trials_last
def image(columns: tuple[jax.Array, ...], pivots: Vector, x: Vector) -> tuple:
    """Return the fields of `inverse_factors.Image` for a vector x, as a tuple."""
    f = _transposed_product(columns, x)
    pivots = _expand(pivots, 1, f.shape[1:])
    v = _elementwise(lax.div, f, pivots)
    squares = _elementwise(lax.mul, f, v)

    def step(j: ArrayLike, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        before, total = carry
        return _set_row(before, j, total), barrier(total + _row(squares, j))

    before, width_sq = lax.fori_loop(0, len(f), step, (jnp.zeros_like(f), jnp.zeros_like(f[0])))
    return _upper_product(columns, v), width_sq, f, before, v


def add(sums: ColumnBlocks, f: ArrayLike, before: ArrayLike, v: ArrayLike, weight: ArrayLike) -> ColumnBlocks:
    """Return the stored factors for V + weight x x', given those for V and the fields of the image of x."""
    columns, pivots = _add(*sums, f, before, v, weight)
    return ColumnBlocks(columns=tuple(CompensatedSum(*block) for block in columns), pivots=CompensatedSum(*pivots))


@trials_last
def _add(
    columns: tuple[CompensatedSum, ...],
    pivots: CompensatedSum,
    f: Vector,
    before: Vector,
    v: Vector,
    weight: ArrayLike,
) -> tuple[list[tuple[jax.Array, jax.Array]], tuple[jax.Array, jax.Array]]:
    """Return the totals and errors of all compensated sums after one more sample."""
    trials = jnp.broadcast_shapes(f.shape[1:], pivots.total.shape[1:], jnp.shape(weight))
    f, before, v, weight = (_expand(x, 1, trials) for x in (f, before, v, jnp.asarray(weight, f.dtype)[None]))
    weight = _expand(jnp.broadcast_to(weight, f.shape), 1, trials)
    steps = _elementwise(lambda w, f, before: -w * f / (1.0 + w * before), weight, f, before)  # -l
    partial = jnp.zeros((0, *trials), f.dtype)
    sums = []
    for block in columns:
        m, h = block.total.shape[:2]
        partial = (
            join([partial, jnp.zeros((h - len(partial), *trials), f.dtype)])
            if len(partial)
            else jnp.zeros((h, *trials), f.dtype)
        )
        total, error, partial = _add_to_block(block, partial, steps[h - m : h], v[h - m : h], trials)
        sums.append((total, error))
    total, error = (_expand(x, 1, trials) for x in pivots)
    x = _elementwise(lambda step, f, error: -step * f - error, steps, f, error)
    new = _elementwise(lax.add, total, x)
    return sums, (new, _elementwise(lambda new, total, x: (new - total) - x, new, total, x))


def _add_to_block(
    block: CompensatedSum, partial: jax.Array, steps: jax.Array, v: jax.Array, trials: tuple[int, ...]
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Update the columns of a block in place; return its totals and errors, and p for the column after its last one.

    A barrier copies a column before its new values are written. Without it XLA would copy the whole block for each
    column, because the old block would still be read.
    """
    shape = (*block.total.shape[:2], *trials)
    m, h = shape[:2]
    merged = math.gcd(h, _MERGED) if trials else 1
    slots = (merged * math.prod(trials),) if trials else ()
    steps, v = (_reshape(barrier(jnp.concatenate([x[:, None]] * merged, axis=1)), m, *slots) for x in (steps, v))

    def step(j: ArrayLike, carry: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        total, error, partial = carry
        column = barrier(_row(total, j))
        x = barrier(partial * _row(steps, j) - _row(error, j))
        new = barrier(column + x)
        partial = barrier(partial + column * _row(v, j))
        return _set_row(total, j, new), _set_row(error, j, (new - column) - x), partial

    sums = (_reshape(_expand(x, 2, trials), m, h // merged, *slots) for x in block)
    total, error, partial = lax.fori_loop(0, m, step, (*sums, _reshape(partial, h // merged, *slots)))
    return _reshape(total, *shape), _reshape(error, *shape), _reshape(partial, h, *trials)


@functools.cache
def quadratic_forms(axes: int) -> Callable[[tuple[jax.Array, ...], Vector, jax.Array], jax.Array]:
    """Return a function from columns, pivots and vectors x `[..., d]` with `axes` axes to `x'V^{-1} x` `[...]`."""

    @trials_last
    def forms(columns: tuple[jax.Array, ...], pivots: Vector, rows: jax.Array) -> jax.Array:
        inverses = barrier(1.0 / pivots)
        x = rows.reshape(-1, *rows.shape[axes - 1 :])
        f = [_products(x[:, : block.shape[1]], block) for block in columns]
        squares = _squares_over(jnp.concatenate(f, axis=1), inverses)
        return squares.reshape(*rows.shape[: axes - 1], *squares.shape[1:])

    return forms


def _squares_over(f: jax.Array, inverses: Vector) -> jax.Array:
    """Return `sum_j f_kj^2 inverses_j` `[k]` for f `[k, d]`."""
    f = barrier(f)
    squares = barrier(f * f)
    if squares.ndim == 2 and inverses.ndim == 1:
        return barrier(jnp.matmul(squares, inverses, precision=lax.Precision.HIGHEST))

    def terms(first: ArrayLike, count: int) -> list[jax.Array]:
        s, w = (lax.dynamic_slice_in_dim(a, first, count, axis) for a, axis in ((squares, 1), (inverses, 0)))
        return [s[:, i] * w[i] for i in range(count)]

    return _accumulate(len(inverses), terms)


@trials_last
def matvec(columns: tuple[jax.Array, ...], pivots: Vector, y: Vector) -> Vector:
    """Return `V^{-1} y`, given the blocks of U and the pivots of V."""
    f = _transposed_product(columns, y)
    return _upper_product(columns, barrier(f / pivots))


@trials_last
def root_matvec(columns: tuple[jax.Array, ...], pivots: Vector, z: Vector) -> Vector:
    """Return `U diag(1 / E)^{1/2} z`, given the blocks of U and the pivots E of V."""
    return _upper_product(columns, z * lax.rsqrt(pivots))


@trials_last
def solve(columns: tuple[jax.Array, ...], pivots: Vector, y: Vector) -> Vector:
    """Return `V y`, given the blocks of U and the pivots of V."""
    scaled = barrier(pivots * _coordinates(columns, y))
    z = jnp.zeros_like(scaled)
    for block in columns:  # product with U^{-T}; entries of z that are not yet computed are 0
        m, h = block.shape[:2]

        def step(k: ArrayLike, z: Vector, block: jax.Array = block, h: int = h, first: int = h - m) -> Vector:
            entry = _row(scaled, first + k) - jnp.sum(_row(block, k) * z[:h], axis=0)
            return _set_row(z, first + k, barrier(entry))

        z = lax.fori_loop(0, m, step, z)
    return z


def _coordinates(columns: tuple[jax.Array, ...], y: Vector) -> Vector:
    """Return `U^{-1} y`."""
    remainder = _expand(y, 1, jnp.broadcast_shapes(y.shape[1:], columns[0].shape[2:]))
    parts: list[jax.Array] = []
    for block in reversed(columns):
        m, h = block.shape[:2]

        def step(k: ArrayLike, carry: tuple[Vector, Vector], block: jax.Array = block, m: int = m, h: int = h) -> tuple:
            remainder, z = carry
            j = m - 1 - k
            entry = barrier(_row(remainder, h - m + j))
            return barrier(remainder - _row(block, j) * entry), _set_row(z, j, entry)

        remainder, z = lax.fori_loop(0, m, step, (remainder, jnp.zeros_like(remainder[h - m :])))
        parts.append(z)
        remainder = remainder[: h - m]
    return join(parts[::-1])


@trials_last
def norm_sq(columns: tuple[jax.Array, ...], pivots: Vector, y: Vector) -> jax.Array:
    """Return `y'V y`, given the blocks of U and the pivots of V."""
    return _squares_over(_coordinates(columns, y)[None], pivots)[0]


def _transposed_factor(columns: tuple[jax.Array, ...]) -> jax.Array:
    """Return U' `[d, d]`."""
    dim = columns[-1].shape[1]
    return barrier(
        jnp.concatenate(
            [jnp.pad(block, [(0, 0), (0, dim - block.shape[1]), *((0, 0),) * (block.ndim - 2)]) for block in columns]
        )
    )


def _weighted_gram(rows: jax.Array, weights: jax.Array) -> Symmetric:
    """Return `sum_k weights_k x_k x_k'` for the rows x_k of an array `[d, d]`."""
    if rows.ndim == 2 and weights.ndim == 1:
        return barrier(jnp.matmul(rows.T * weights, rows, precision=lax.Precision.HIGHEST))

    def terms(first: ArrayLike, count: int) -> list[jax.Array]:
        w, x = (lax.dynamic_slice_in_dim(a, first, count, 0) for a in (weights, rows))
        return [(w[i] * x[i])[:, None] * x[i][None] for i in range(count)]

    return _accumulate(len(rows), terms)


@trials_last
def shifted_system(columns: tuple[jax.Array, ...], pivots: Vector, y: Vector) -> tuple:
    """Return the fields of `inverse_factors.ShiftedSystem` for a vector y, as a tuple."""
    trials = jnp.broadcast_shapes(columns[0].shape[2:], pivots.shape[1:], y.shape[1:])
    upper = _expand(_transposed_factor(columns), 2, trials)
    dim = len(pivots)
    eye = _expand(_with_axes(jnp.eye(dim, dtype=upper.dtype), len(trials)), 2, trials)

    def step(j: ArrayLike, g: jax.Array) -> jax.Array:  # g_j = e_j - sum_{i < j} U_ij g_i; initially g_j = e_j
        column = barrier(_row(upper, j) - _row(eye, j))
        return _set_row(g, j, barrier(_row(g, j) - _combination(column, g)))

    g = lax.fori_loop(0, dim, step, eye)
    pivots, coordinates = _expand(pivots, 1, trials), _coordinates(columns, y)
    return g, _weighted_gram(g, jnp.ones_like(pivots)), pivots, _expand(coordinates, 1, trials)


@trials_last
def to_dense(columns: tuple[jax.Array, ...], pivots: Vector) -> Symmetric:
    """Return V^{-1} `[d, d]`, given the blocks of U and the pivots of V."""
    return _weighted_gram(_transposed_factor(columns), barrier(1.0 / pivots))
