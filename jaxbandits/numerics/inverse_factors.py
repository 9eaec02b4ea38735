"""V^{-1} of a matrix that only grows, `V <- V + w x x'`, in factors that keep every width in float32.

    V^{-1} = U diag(1 / E) U',   U upper triangular with ones on its diagonal, E > 0 the pivots of V

An entry of V^{-1} itself is rounded relative to the largest one, while `x'V^{-1} x` of an arm played t times is 1/t of
it: after 10^6 rounds of one arm nothing of it is left in float32 (the width is off by factors, or its square negative:
float32/test_inverse_factors.py::test_both_factors_must_be_compensated). Here

    x'V^{-1} x = sum_j f_j^2 / E_j,   f = U'x

is a sum of squares, in which a rounding of U enters squared: where the sum is small, either E_j is large or f_j small.
With a new sample (Bierman, Factorization Methods for Discrete Sequential Estimation, 1977, for E instead of 1 / E)

    c_j  = sum_{k < j} f_k^2 / E_k,   l_j = w f_j / (1 + w c_j),   p_ij = sum_{i <= k < j} U_ik f_k / E_k
    E_j <- E_j + l_j f_j,             U_ij <- U_ij - l_j p_ij

in which no pivot ever falls, and V^{-1} x is p_i,d+1. Both are sums over rounds, which are compensated
(`numerics.compensated`), and both must be: a width is right to 1e-6 after 10^6 rounds of one arm, off by 0.3 to 3 %
with plain sums in either (the same test). O(d^2) a sample: 5 d^2 operations; widths cost the same as with V^{-1}
itself.

Up to `WRITTEN_OUT` dimensions the recursions are written out entry by entry, and the entries of U above its diagonal
are stored one column after the other. Beyond, code of that form would grow with d^2: the columns are stored in at most
`BLOCKS` blocks of equally many, as rows `[m, h]` with the ones of the diagonal and, where a column ends before the
last one of its block, zeros. A loop over the m columns of a block is compiled once, whatever d. The one on the diagonal
makes p_j,j+1 = f_j / E_j by the same recursion as the entries above it, and is never changed, because p_jj = 0.

    image = inverse_factors.image(inverse, x)          image.u is V^{-1} x, image.width_sq is x'V^{-1} x
    inverse = inverse_factors.add(inverse, w, image)   of V + w x x'; w may depend on the image

`product`, `quadratic_forms` and `to_dense` take plain arrays `[d, d]`, too; `[d]` is one row of `quadratic_forms`.
"""

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics import linalg
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.numerics.linalg import Symmetric, Vector, sum_terms
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.batching import trials_last
from jaxbandits.tracing.short_axes import entry

WRITTEN_OUT = 12  # dimensions up to which every function is written out entry by entry; loops over columns beyond
_JOINED = 4  # rows of a block that a loop over trials runs through as if they were further trials
BLOCKS = 3  # of columns, beyond: more skip more zeros (with 3 a quarter of the work is zeros), and compile longer
_TERMS = 16  # of a sum in one kernel; more compile longer


class ColumnBlocks(NamedTuple):
    """U and E in more dimensions than are written out."""

    columns: tuple[CompensatedSum, ...]  # leaves [m, h]: rows 1 ... h of the columns h - m + 1 ... h of U
    pivots: CompensatedSum  # leaves [d]  E


class InverseFactors(NamedTuple):
    """V^{-1}, as part of a state."""

    sums: CompensatedSum | ColumnBlocks  # leaves [d (d + 1) / 2]  for j = 1 ... d: U_1j ... U_{j-1,j}, then E_j


class Image(NamedTuple):
    """`V^{-1} x`, and intermediate results for `add`."""

    u: Vector  # [d]  V^{-1} x
    width_sq: jax.Array  # []  x'V^{-1} x
    f: Any  # [d]  U'x, or d of []
    before: Any  # [d]  c, or d of []
    partial: Any  # for j = 1 ... d: p_1j ... p_{j-1,j} as a list; of `ColumnBlocks`: `[d]` f / E


Inverse: TypeAlias = InverseFactors | Symmetric


def init(dim: int, ridge: ArrayLike) -> InverseFactors:
    """Return the inverse of `ridge` times the identity matrix."""
    ridge = jnp.asarray(ridge, jnp.result_type(float))
    if dim <= WRITTEN_OUT:
        return InverseFactors(CompensatedSum.init(_diagonal(dim)(ridge)))
    columns, pivots = _diagonal_in_blocks(dim, BLOCKS)(ridge)
    return InverseFactors(ColumnBlocks(tuple(map(CompensatedSum.init, columns)), CompensatedSum.init(pivots)))


@functools.cache
def _diagonal(dim: int) -> Callable[[jax.Array], jax.Array]:
    @trials_last
    def packed(ridge: jax.Array) -> jax.Array:
        zero = jnp.zeros_like(ridge)
        return jnp.stack([ridge if i == j else zero for j in range(dim) for i in range(j + 1)])

    return packed


def _columns(entries: jax.Array) -> tuple[list[jax.Array], list[jax.Array]]:
    """The columns of U above its diagonal, `[j]` for j = 0 ... d - 1, and the pivots E."""
    columns, pivots, first = [], [], 0
    while first < entries.shape[0]:
        j = len(pivots)
        columns.append(entries[first : first + j])
        pivots.append(entries[first + j])
        first += j + 1
    return columns, pivots


def _joined(parts: list[jax.Array]) -> jax.Array:
    """The parts one after the other, in copies: XLA:CPU reads a concatenation that is fused entry by entry."""
    trials = jnp.broadcast_shapes(*(part.shape[1:] for part in parts))
    return barrier(jnp.concatenate(barrier([jnp.broadcast_to(part, (part.shape[0], *trials)) for part in parts])))


def _in_full(columns: list[jax.Array]) -> jax.Array:
    """`[d, d]` U', row by row a column of U."""
    parts = []
    for j, u in enumerate(columns):
        trials = u.shape[1:]
        parts += [u, jnp.ones((1, *trials), u.dtype), jnp.zeros((len(columns) - 1 - j, *trials), u.dtype)]
    return _joined(parts).reshape(len(columns), len(columns), *columns[0].shape[1:])


# A new sample ---------------------------------------------------------------------------------------------------------


def image(inverse: InverseFactors, x: Vector) -> Image:
    """`V^{-1} x`."""
    if isinstance(inverse.sums, ColumnBlocks):
        return Image(*_image_in_blocks(*_totals(inverse.sums), x))
    return Image(*_image(inverse.sums.total, x))


@trials_last
def _image(entries: jax.Array, x: Vector) -> tuple:
    columns, pivots = _columns(entries)
    dim = len(pivots)
    f = barrier([x[j] + _product(u, x[:j]) if j else x[0] for j, u in enumerate(columns)])
    v = barrier([f[j] / pivots[j] for j in range(dim)])
    before = [jnp.zeros_like(v[0])]
    for j in range(dim):
        before.append(barrier(before[j] + f[j] * v[j]))
    width_sq, partial = before.pop(), []
    p: list[jax.Array] = []
    for j, u in enumerate(columns):  # d^2 / 2 kernels of one entry each
        partial.append(p)
        p = [*barrier([a + b * v[j] for a, b in zip(p, u, strict=True)]), v[j]]
    return _joined([a[None] for a in p]), width_sq, f, before, partial


def _product(x: jax.Array, y: jax.Array) -> jax.Array:
    """`<x, y>` over the first axis."""
    return (
        jnp.sum(x * y, axis=0) if x.shape[0] > linalg.UNROLLED else sum_terms(a * b for a, b in zip(x, y, strict=True))
    )


def add(inverse: InverseFactors, weight: ArrayLike, image: Image) -> InverseFactors:
    """The inverse of `V + weight x x'`.

    Args:
      inverse: of V.
      weight: `[]` >= 0.
      image: `image(inverse, x)`.
    """
    if isinstance(inverse.sums, ColumnBlocks):
        columns, pivots = _add_to_blocks(*inverse.sums, image.f, image.before, image.partial, weight)
        return InverseFactors(ColumnBlocks(tuple(CompensatedSum(*sums) for sums in columns), CompensatedSum(*pivots)))
    return InverseFactors(inverse.sums.add(_increment(image.f, image.before, image.partial, weight)))


@trials_last
def _increment(f: list[jax.Array], before: list[jax.Array], partial: list, weight: ArrayLike) -> jax.Array:
    steps = barrier([-weight * f[j] / (1.0 + weight * before[j]) for j in range(len(f))])  # -l
    parts = []
    for j, (step, column) in enumerate(zip(steps, partial, strict=True)):
        parts += [(a * step)[None] for a in column]
        parts.append((-step * f[j])[None])
    return _joined(parts)


# What else V^{-1} is for ----------------------------------------------------------------------------------------------


def quadratic_forms(inverse: Inverse, rows: jax.Array) -> jax.Array:
    """`[...]` x'V^{-1} x for every x of `[..., d]`."""
    if not isinstance(inverse, InverseFactors):
        return jnp.sum((rows @ inverse) * rows, axis=-1)
    if isinstance(inverse.sums, ColumnBlocks):
        return _quads_in_blocks(jnp.ndim(rows))(*_totals(inverse.sums), rows)
    return _quads(jnp.ndim(rows))(inverse.sums.total, rows)


@functools.cache
def _quads(axes: int) -> Callable[[jax.Array, jax.Array], jax.Array]:
    @trials_last
    def sums(entries: jax.Array, rows: jax.Array) -> jax.Array:
        columns, pivots = _columns(entries)
        inverses = barrier([1.0 / pivot for pivot in pivots])
        total: Any = None
        terms = 0
        if len(pivots) > linalg.UNROLLED:
            f = jnp.einsum("jd...,nd...->nj...", _in_full(columns), rows.reshape(-1, *rows.shape[axes - 1 :]))
            total = jnp.sum(f * f * _joined([one[None] for one in inverses])[None], axis=1)
            return total.reshape(*rows.shape[: axes - 1], *total.shape[1:])
        x = [entry(rows, axes - 1, i) for i in range(len(pivots))]
        for j, u in enumerate(columns):
            f = sum_terms([x[j], *(a * b for a, b in zip(u, x[:j], strict=True))])
            total = f * f * inverses[j] if total is None else total + f * f * inverses[j]
            terms += j + 2
            if terms >= linalg.TERMS:
                total, terms = barrier(total), 0
        return total

    return sums


def product(inverse: Inverse, y: Vector) -> Vector:
    """`V^{-1} y`."""
    if not isinstance(inverse, InverseFactors):
        return inverse @ y
    if isinstance(inverse.sums, ColumnBlocks):
        return _apply_in_blocks(*_totals(inverse.sums), y)
    return _apply(inverse.sums.total, y)


@trials_last
def _apply(entries: jax.Array, y: Vector) -> Vector:
    columns, pivots = _columns(entries)
    f = [y[j] + _product(u, y[:j]) if j else y[0] for j, u in enumerate(columns)]
    v = barrier([a / pivot for a, pivot in zip(f, pivots, strict=True)])
    entries_of = [list(u) for u in columns]
    rows = [sum_terms([a, *(entries_of[j][i] * v[j] for j in range(i + 1, len(v)))]) for i, a in enumerate(v)]
    return _joined([a[None] for a in rows])


def solve(inverse: InverseFactors, y: Vector) -> Vector:
    """`V y`."""
    if isinstance(inverse.sums, ColumnBlocks):
        return _solve_in_blocks(*_totals(inverse.sums), y)
    return _solve(inverse.sums.total, y)


@trials_last
def _solve(entries: jax.Array, y: Vector) -> Vector:
    columns, pivots = _columns(entries)
    z = [pivots[j] * a for j, a in enumerate(_coordinates(columns, y))]
    for j, u in enumerate(columns):  # U^{-T} z
        z[j] = barrier(sum_terms([z[j], *(-a * b for a, b in zip(u, z[:j], strict=True))]))
    return _joined([a[None] for a in z])


def _coordinates(columns: list[jax.Array], y: Vector) -> list[jax.Array]:
    """`U^{-1} y`."""
    z, rest = [], y
    for u in reversed(columns):
        z.append(rest[-1])
        rest = barrier(rest[:-1] - u * rest[-1])
    return z[::-1]


def norm_sq(inverse: InverseFactors, y: Vector) -> jax.Array:
    """`y'V y`, a sum of squares."""
    if isinstance(inverse.sums, ColumnBlocks):
        return _norm_sq_in_blocks(*_totals(inverse.sums), y)
    return _norm_sq(inverse.sums.total, y)


@trials_last
def _norm_sq(entries: jax.Array, y: Vector) -> jax.Array:
    columns, pivots = _columns(entries)
    return sum_terms(pivots[j] * a * a for j, a in enumerate(_coordinates(columns, y)))


class ShiftedSystem(NamedTuple):
    """V^{-1} and y in the coordinates of `solve_shifted`, with G = U^{-1}."""

    columns: jax.Array  # [d, d]  G'
    gram: Symmetric  # [d, d]  G G'
    pivots: Vector  # [d]  E
    coordinates: Vector  # [d]  G y


def shifted_system(inverse: InverseFactors, y: Vector) -> ShiftedSystem:
    """For any number of `solve_shifted`; O(d^3)."""
    if isinstance(inverse.sums, ColumnBlocks):
        return barrier(ShiftedSystem(*_unfold_blocks(*_totals(inverse.sums), y)))
    columns, pivots, coordinates = barrier(_inverse_factor(inverse.sums.total, y))
    return barrier(ShiftedSystem(columns, jnp.einsum("ki,kj->ij", columns, columns), pivots, coordinates))


def solve_shifted(at: ShiftedSystem, mu: jax.Array) -> tuple[Vector, Vector]:
    """`x(mu) = (I + mu V^{-1})^{-1} y = G'(G G' + mu / E)^{-1} G y`, and `-dx/dmu`.

    A sum of positive definite matrices, however large mu and however far apart the entries of E.
    """
    system = linalg.factor(at.gram + jnp.diag(mu / at.pivots))
    s = linalg.solve(system, at.coordinates)  # U'x
    slope = linalg.solve(system, s / at.pivots)
    return at.columns @ s, at.columns @ slope


@trials_last
def _inverse_factor(entries: jax.Array, y: Vector) -> tuple[jax.Array, Vector, Vector]:
    columns, pivots = _columns(entries)
    rows = jnp.arange(len(columns)).reshape(-1, *(1,) * (entries.ndim - 1))
    g: list[jax.Array] = []
    for j, u in enumerate(columns):
        unit = jnp.where(rows == j, jnp.ones_like(pivots[j])[None], 0.0)
        g.append(barrier(sum_terms([unit, *(-a * b for a, b in zip(u, g, strict=True))])))
    pivots, coordinates = (_joined([a[None] for a in parts]) for parts in (pivots, _coordinates(columns, y)))
    return _joined([a[None] for a in g]), pivots, coordinates


def to_dense(inverse: Inverse) -> Symmetric:
    """`[d, d]` V^{-1} itself, with the rounding that the factors avoid."""
    if not isinstance(inverse, InverseFactors):
        return inverse
    if isinstance(inverse.sums, ColumnBlocks):
        return _dense_of_blocks(*_totals(inverse.sums))
    return _dense(inverse.sums.total)


@trials_last
def _dense(entries: jax.Array) -> Symmetric:
    columns, pivots = _columns(entries)
    rows = _in_full(columns)
    return sum_terms((row / pivot)[:, None] * row[None] for row, pivot in zip(rows, pivots, strict=True))


# In blocks ------------------------------------------------------------------------------------------------------------
#
# `columns` are the blocks `[m, h]`, `pivots` is `[d]`, and the axes of trials follow. XLA:CPU writes a loop over 32
# trials out instead of making vector code of it where its body is short: steps that need no index run over one axis
# that joins h and the trials (`_entrywise`, `_reshaped`), and sums are kernels of up to `_TERMS` terms. Of one
# trial alone they are products of matrices.


def _totals(sums: ColumnBlocks) -> tuple[tuple[jax.Array, ...], jax.Array]:
    return tuple(block.total for block in sums.columns), sums.pivots.total


@functools.cache
def _diagonal_in_blocks(dim: int, n_blocks: int) -> Callable[[jax.Array], tuple[list[jax.Array], jax.Array]]:
    stops = sorted({round(dim * k / (n_blocks * _JOINED)) * _JOINED for k in range(n_blocks)} | {dim})

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


def _expand(x: jax.Array, own: int, trials: tuple[int, ...]) -> jax.Array:
    """Broadcast the axes behind the first `own` ones to those of the trials."""
    return jnp.broadcast_to(x, (*x.shape[:own], *trials))


def _reshaped(x: jax.Array, *shape: int) -> jax.Array:
    """Reshape between two kernels: inside one, XLA:CPU computes two indices by division for every entry."""
    return x if x.shape == shape else barrier(barrier(x).reshape(shape))


def _entrywise(f: Callable[..., jax.Array], *arrays: jax.Array) -> jax.Array:
    """Apply f to arrays of one shape as if they had one axis, in one kernel."""
    flat = (_reshaped(x, x.size) for x in arrays)
    return _reshaped(barrier(f(*flat)), *arrays[0].shape)


def _row(x: jax.Array, j: Any) -> jax.Array:
    return lax.dynamic_index_in_dim(x, j, 0, keepdims=False)


def _set_row(x: jax.Array, j: Any, row: jax.Array) -> jax.Array:
    return lax.dynamic_update_index_in_dim(x, row, j, 0)


def _accumulate(n: int, terms: Callable[[Any, int], list[jax.Array]]) -> jax.Array:
    """Add n terms, up to `_TERMS` of them in a kernel.

    Args:
      n: number of terms, > 0.
      terms: from the index of the first one and a number of terms to these terms.
    """
    size = _TERMS
    first = n % size or size
    total = barrier(sum_terms(terms(0, first)))
    if first == n:
        return total

    def step(k: Any, total: jax.Array) -> jax.Array:
        return barrier(sum_terms([total, *terms(first + k * size, size)]))

    return lax.fori_loop(0, n // size - (first == size), step, total)


def _products(rows: jax.Array, block: jax.Array) -> jax.Array:
    """`[k, m]` the inner products of rows `[k, h]` with those of a block `[m, h]`."""
    if block.ndim == rows.ndim == 2:
        return barrier(jnp.matmul(block, rows.T, precision=lax.Precision.HIGHEST).T)

    def terms(first: Any, count: int) -> list[jax.Array]:
        x, u = (lax.dynamic_slice_in_dim(a, first, count, 1) for a in (rows, block))
        return [x[:, None, i] * u[None, :, i] for i in range(count)]

    return _accumulate(block.shape[1], terms)


def _combination(weights: jax.Array, rows: jax.Array) -> jax.Array:
    """`sum_j weights_j rows_j` of rows `[m, h]`."""
    if weights.ndim == 1 and rows.ndim == 2:
        return barrier(jnp.matmul(weights, rows, precision=lax.Precision.HIGHEST))

    def terms(first: Any, count: int) -> list[jax.Array]:
        w, x = (lax.dynamic_slice_in_dim(a, first, count, 0) for a in (weights, rows))
        return [w[i] * x[i] for i in range(count)]

    return _accumulate(len(weights), terms)


def _transposed_product(columns: tuple[jax.Array, ...], x: Vector) -> Vector:
    """`U'x`."""
    return _joined([_products(x[None, : block.shape[1]], block)[0] for block in columns])


def _upper_product(columns: tuple[jax.Array, ...], v: Vector) -> Vector:
    """`U v`."""
    parts = []
    for block in columns:
        m, h = block.shape[:2]
        parts.append(_combination(v[h - m : h], block))
    starts = [0, *(block.shape[1] for block in columns)]
    return _joined([
        sum_terms(part[start:stop] for part in parts[k:]) for k, (start, stop) in enumerate(itertools.pairwise(starts))
    ])  # fmt: skip


@trials_last
def _image_in_blocks(columns: tuple[jax.Array, ...], pivots: Vector, x: Vector) -> tuple:
    f = _transposed_product(columns, x)
    pivots = _expand(pivots, 1, f.shape[1:])
    v = _entrywise(lax.div, f, pivots)
    squares = _entrywise(lax.mul, f, v)

    def step(j: Any, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        before, total = carry
        return _set_row(before, j, total), barrier(total + _row(squares, j))

    before, width_sq = lax.fori_loop(0, len(f), step, (jnp.zeros_like(f), jnp.zeros_like(f[0])))
    return _upper_product(columns, v), width_sq, f, before, v


@trials_last
def _add_to_blocks(
    columns: tuple[CompensatedSum, ...],
    pivots: CompensatedSum,
    f: Vector,
    before: Vector,
    v: Vector,
    weight: ArrayLike,
) -> tuple[list[tuple[jax.Array, jax.Array]], tuple[jax.Array, jax.Array]]:
    """The totals and rests of all sums behind one more sample."""
    trials = jnp.broadcast_shapes(f.shape[1:], pivots.total.shape[1:], jnp.shape(weight))
    f, before, v, weight = (_expand(x, 1, trials) for x in (f, before, v, jnp.asarray(weight, f.dtype)[None]))
    weight = _expand(jnp.broadcast_to(weight, f.shape), 1, trials)
    steps = _entrywise(lambda w, f, before: -w * f / (1.0 + w * before), weight, f, before)  # -l
    partial = jnp.zeros((0, *trials), f.dtype)
    sums = []
    for block in columns:
        m, h = block.total.shape[:2]
        partial = (
            _joined([partial, jnp.zeros((h - len(partial), *trials), f.dtype)])
            if len(partial)
            else jnp.zeros((h, *trials), f.dtype)
        )
        total, rest, partial = _add_to_block(block, partial, steps[h - m : h], v[h - m : h], trials)
        sums.append((total, rest))
    total, rest = (_expand(x, 1, trials) for x in pivots)
    x = _entrywise(lambda step, f, rest: -step * f - rest, steps, f, rest)
    new = _entrywise(lax.add, total, x)
    return sums, (new, _entrywise(lambda new, total, x: (new - total) - x, new, total, x))


def _add_to_block(
    block: CompensatedSum, partial: jax.Array, steps: jax.Array, v: jax.Array, trials: tuple[int, ...]
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Update the columns of a block where they are stored, and go from the p of its first column to that behind it.

    A column is copied out (the barrier) before its new values are written: of an array that is still read, XLA makes a
    copy for every column.
    """
    shape = (*block.total.shape[:2], *trials)
    m, h = shape[:2]
    joined = math.gcd(h, _JOINED) if trials else 1
    slots = (joined * math.prod(trials),) if trials else ()
    steps, v = (_reshaped(barrier(jnp.concatenate([x[:, None]] * joined, axis=1)), m, *slots) for x in (steps, v))

    def step(j: Any, carry: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        total, rest, partial = carry
        column = barrier(_row(total, j))
        x = barrier(partial * _row(steps, j) - _row(rest, j))
        new = barrier(column + x)
        partial = barrier(partial + column * _row(v, j))
        return _set_row(total, j, new), _set_row(rest, j, (new - column) - x), partial

    sums = (_reshaped(_expand(x, 2, trials), m, h // joined, *slots) for x in block)
    total, rest, partial = lax.fori_loop(0, m, step, (*sums, _reshaped(partial, h // joined, *slots)))
    return _reshaped(total, *shape), _reshaped(rest, *shape), _reshaped(partial, h, *trials)


@functools.cache
def _quads_in_blocks(axes: int) -> Callable[[tuple[jax.Array, ...], Vector, jax.Array], jax.Array]:
    @trials_last
    def sums(columns: tuple[jax.Array, ...], pivots: Vector, rows: jax.Array) -> jax.Array:
        inverses = barrier(1.0 / pivots)
        x = rows.reshape(-1, *rows.shape[axes - 1 :])
        f = [_products(x[:, : block.shape[1]], block) for block in columns]
        squares = _squares_over(jnp.concatenate(f, axis=1), inverses)
        return squares.reshape(*rows.shape[: axes - 1], *squares.shape[1:])

    return sums


def _squares_over(f: jax.Array, inverses: Vector) -> jax.Array:
    """`[k]` `sum_j f_kj^2 inverses_j` of f `[k, d]`."""
    f = barrier(f)
    squares = barrier(f * f)
    if squares.ndim == 2 and inverses.ndim == 1:
        return barrier(jnp.matmul(squares, inverses, precision=lax.Precision.HIGHEST))

    def terms(first: Any, count: int) -> list[jax.Array]:
        s, w = (lax.dynamic_slice_in_dim(a, first, count, axis) for a, axis in ((squares, 1), (inverses, 0)))
        return [s[:, i] * w[i] for i in range(count)]

    return _accumulate(len(inverses), terms)


@trials_last
def _apply_in_blocks(columns: tuple[jax.Array, ...], pivots: Vector, y: Vector) -> Vector:
    f = _transposed_product(columns, y)
    return _upper_product(columns, barrier(f / pivots))


@trials_last
def _solve_in_blocks(columns: tuple[jax.Array, ...], pivots: Vector, y: Vector) -> Vector:
    scaled = barrier(pivots * _coordinates_in_blocks(columns, y))
    z = jnp.zeros_like(scaled)
    for block in columns:  # U^{-T}: of a column, z holds zeros from its diagonal on
        m, h = block.shape[:2]

        def step(k: Any, z: Vector, block: jax.Array = block, h: int = h, first: int = h - m) -> Vector:
            found = _row(scaled, first + k) - jnp.sum(_row(block, k) * z[:h], axis=0)
            return _set_row(z, first + k, barrier(found))

        z = lax.fori_loop(0, m, step, z)
    return z


def _coordinates_in_blocks(columns: tuple[jax.Array, ...], y: Vector) -> Vector:
    """`U^{-1} y`."""
    rest = _expand(y, 1, jnp.broadcast_shapes(y.shape[1:], columns[0].shape[2:]))
    parts: list[jax.Array] = []
    for block in reversed(columns):
        m, h = block.shape[:2]

        def step(k: Any, carry: tuple[Vector, Vector], block: jax.Array = block, m: int = m, h: int = h) -> tuple:
            rest, z = carry
            j = m - 1 - k
            entry = barrier(_row(rest, h - m + j))
            return barrier(rest - _row(block, j) * entry), _set_row(z, j, entry)

        rest, z = lax.fori_loop(0, m, step, (rest, jnp.zeros_like(rest[h - m :])))
        parts.append(z)
        rest = rest[: h - m]
    return _joined(parts[::-1])


@trials_last
def _norm_sq_in_blocks(columns: tuple[jax.Array, ...], pivots: Vector, y: Vector) -> jax.Array:
    return _squares_over(_coordinates_in_blocks(columns, y)[None], pivots)[0]


def _in_full_blocks(columns: tuple[jax.Array, ...]) -> jax.Array:
    """`[d, d]` U'."""
    dim = columns[-1].shape[1]
    return barrier(
        jnp.concatenate([
            jnp.pad(block, [(0, 0), (0, dim - block.shape[1]), *((0, 0),) * (block.ndim - 2)]) for block in columns
        ])
    )  # fmt: skip


def _weighted_gram(rows: jax.Array, weights: jax.Array) -> Symmetric:
    """`sum_k weights_k x_k x_k'` of rows `[d, d]`."""
    if rows.ndim == 2 and weights.ndim == 1:
        return barrier(jnp.matmul(rows.T * weights, rows, precision=lax.Precision.HIGHEST))

    def terms(first: Any, count: int) -> list[jax.Array]:
        w, x = (lax.dynamic_slice_in_dim(a, first, count, 0) for a in (weights, rows))
        return [(w[i] * x[i])[:, None] * x[i][None] for i in range(count)]

    return _accumulate(len(rows), terms)


@trials_last
def _unfold_blocks(columns: tuple[jax.Array, ...], pivots: Vector, y: Vector) -> tuple:
    trials = jnp.broadcast_shapes(columns[0].shape[2:], pivots.shape[1:], y.shape[1:])
    upper = _expand(_in_full_blocks(columns), 2, trials)
    dim = len(pivots)
    eye = _expand(_with_axes(jnp.eye(dim, dtype=upper.dtype), len(trials)), 2, trials)

    def step(j: Any, g: jax.Array) -> jax.Array:  # g_j = e_j - sum_{i < j} U_ij g_i; row j of g is e_j until then
        column = barrier(_row(upper, j) - _row(eye, j))
        return _set_row(g, j, barrier(_row(g, j) - _combination(column, g)))

    g = lax.fori_loop(0, dim, step, eye)
    pivots, coordinates = _expand(pivots, 1, trials), _coordinates_in_blocks(columns, y)
    return g, _weighted_gram(g, jnp.ones_like(pivots)), pivots, _expand(coordinates, 1, trials)


@trials_last
def _dense_of_blocks(columns: tuple[jax.Array, ...], pivots: Vector) -> Symmetric:
    return _weighted_gram(_in_full_blocks(columns), barrier(1.0 / pivots))
