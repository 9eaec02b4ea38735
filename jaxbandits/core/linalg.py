"""Linear algebra that is fast under `vmap` over trials: vectors are arrays `[d]`, matrices arrays `[d, d]`.

Written for one trial, in any dimension. Under `vmap` every function here puts the trial axis last (`core.batching`), so
that an operation is one loop over contiguous trials, and sums over a short leading axis are unrolled adds of slices.
From `UNROLLED` terms on they are reductions and batched products. Plain `jnp` code gives the same numbers, slower.

`x + s * y` needs no function; `jnp.dot`, `@`, `jnp.sum` over d and `jnp.argmax` over K have faster ones here.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

import jax
import jax.numpy as jnp

from jaxbandits.core.batching import trials_last
from jaxbandits.core.fusion import once
from jaxbandits.core.pytree import ArrayLike

UNROLLED = 48  # terms of a sum that are written out
TERMS = 80  # products between two barriers of a longer sum: a larger kernel falls out of the registers, 10x slower
_UNROLLED_SOLVE = 32  # dimensions up to which a factorisation is written out; LAPACK, one trial at a time, beyond

T = TypeVar("T")

Vector: TypeAlias = jax.Array  # [d]
Symmetric: TypeAlias = jax.Array  # [d, d]


def added(terms: Iterable[Any]) -> Any:
    """Their sum, from the left."""
    total, *rest = terms
    for term in rest:
        total = total + term
    return total


def summed(x: jax.Array, own: int) -> jax.Array:
    """The sum along the first axis, inside a function that puts trials last.

    XLA:CPU adds up a long first axis entry by entry: of trials side by side, a tenth of what adding slices reaches.

    Args:
      x: `[n, ..., trials]`.
      own: axes without those of trials.
    """
    n = len(x)
    if n <= UNROLLED:
        return added(x)
    if x.ndim == own:
        return jnp.sum(x, axis=0)
    m = n // _SLICES
    halfway = once(added(x[k * m : (k + 1) * m] for k in range(_SLICES)))
    return summed(halfway, own) if n == _SLICES * m else summed(halfway, own) + summed(x[_SLICES * m :], own)


_SLICES = 8  # of a longer sum; 4 to 32 measured
_SELECTED = 4  # rows up to which a stack is written as selects


def stack(rows: list[jax.Array]) -> jax.Array:
    """The rows along a new first axis, inside a function that puts trials last.

    XLA:CPU reads a concatenation entry by entry in whatever it is fused with; a few selects stay vector code.
    """
    if len(rows) > _SELECTED:
        return jnp.stack(rows)
    shape = jnp.broadcast_shapes(*(row.shape for row in rows))
    index = jax.lax.broadcasted_iota(jnp.int32, (len(rows), *shape), 0)
    stacked = jnp.broadcast_to(rows[-1], index.shape)
    for k in reversed(range(len(rows) - 1)):
        stacked = jnp.where(index == k, rows[k], stacked)
    return stacked


# Making --------------------------------------------------------------------------------------------------------------


def zeros(dim: int) -> Vector:
    """The zero vector."""
    return jnp.zeros(dim)


def identity(dim: int, scale: ArrayLike = 1.0) -> Symmetric:
    """`scale` times the identity matrix."""
    return _scaled_identity(dim)(jnp.asarray(scale, jnp.result_type(float)))


@functools.cache
def _scaled_identity(dim: int) -> Callable[[jax.Array], Symmetric]:
    @trials_last
    def scaled(scale: jax.Array) -> Symmetric:
        return scale * _eye(dim, scale)

    return scaled


def _eye(dim: int, like: jax.Array) -> jax.Array:
    """`[d, d, 1, ...]` the identity, to go with trial axes like those of a scalar."""
    return jnp.eye(dim, dtype=like.dtype).reshape(dim, dim, *(1,) * like.ndim)


# Entry by entry: as plain operators, for code that is also run under a plain `vmap` (solves, losses, inner learners).


@trials_last
def add(x: jax.Array, y: jax.Array) -> jax.Array:
    """`x + y`."""
    return x + y


@trials_last
def subtract(x: jax.Array, y: jax.Array) -> jax.Array:
    """`x - y`."""
    return x - y


@trials_last
def scale(x: jax.Array, factor: ArrayLike) -> jax.Array:
    """`factor x`."""
    return x * factor


@trials_last
def add_scaled(x: jax.Array, factor: ArrayLike, y: jax.Array) -> jax.Array:
    """`x + factor y`."""
    return x + factor * y


def row(tree: T, k: int) -> T:
    """Entry k of the first axis of every leaf."""
    return jax.tree.map(_row(k), tree)


@functools.cache
def _row(k: int) -> Callable[[jax.Array], jax.Array]:
    return trials_last(lambda a: a[k])


def as_rows(*trees: T) -> T:
    """The trees, one after the other along a new first axis of every leaf."""
    return jax.tree.map(_stack, *trees)


@trials_last
def _stack(*leaves: jax.Array) -> jax.Array:
    return stack(list(leaves))


# Products ------------------------------------------------------------------------------------------------------------


def inner(x: jax.Array, y: jax.Array) -> jax.Array:
    """`<x, y>`: of vectors, or the Frobenius product of arrays of any shape (matrix decisions)."""
    return _inner(jnp.ndim(x))(x, y)


@functools.cache
def _inner(axes: int) -> Callable[[jax.Array, jax.Array], jax.Array]:
    @trials_last
    def product(x: jax.Array, y: jax.Array) -> jax.Array:
        terms = 1
        for length in x.shape[:axes]:
            terms *= length
        if terms > UNROLLED or terms == 0:
            return jnp.sum(x * y, axis=tuple(range(axes)))
        x, y = (a.reshape(terms, *a.shape[axes:]) for a in (x, y))
        return added(a * b for a, b in zip(x, y, strict=True))

    return product


def norm(x: jax.Array) -> jax.Array:
    """Euclidean (Frobenius) norm; its gradient at zero is not used anywhere."""
    return jnp.sqrt(inner(x, x))


def matvec(m: jax.Array, x: Vector) -> jax.Array:
    """`[n, d]` times `[d]`, or `[..., d]` times `[d]`: the inner products of many vectors with one."""
    return _matvec(jnp.ndim(m))(m, x)


@functools.cache
def _matvec(axes: int) -> Callable[[jax.Array, jax.Array], jax.Array]:
    @trials_last
    def products(m: jax.Array, x: Vector) -> jax.Array:
        if x.shape[0] > UNROLLED:
            return jnp.sum(m * x, axis=axes - 1)
        return added(entry(m, axes - 1, j) * a for j, a in enumerate(x))

    return products


def entry(rows: jax.Array, axis: int, j: int) -> jax.Array:
    """Entry j along `axis`, inside a function that puts trials last."""
    return rows[(slice(None),) * axis + (j,)]


@trials_last
def quad(m: Symmetric, x: Vector) -> jax.Array:
    """`x' m x` for symmetric m, using each off-diagonal entry once (half the work of `inner(x, matvec(m, x))`)."""
    if x.shape[0] > UNROLLED:
        return jnp.sum(m * x[None] * x[:, None], axis=(0, 1))
    return _half_quad(m, list(x))


def quads(m: Symmetric, rows: jax.Array) -> jax.Array:
    """`[n]` x' m x for every row x of `[n, d]`, or `[...]` for rows `[..., d]`."""
    return _quads(jnp.ndim(rows))(m, rows)


@functools.cache
def _quads(axes: int) -> Callable[[Symmetric, jax.Array], jax.Array]:
    @trials_last
    def products(m: Symmetric, rows: jax.Array) -> jax.Array:
        if m.shape[0] > UNROLLED:
            own = "nmlk"[: axes - 1]
            return jnp.sum(jnp.einsum(f"{own}d...,de...->{own}e...", rows, m) * rows, axis=axes - 1)
        return _half_quad(m, [entry(rows, axes - 1, i) for i in range(m.shape[0])])

    return products


def _half_quad(m: Symmetric, x: list[jax.Array]) -> jax.Array:
    """`x' m x` from the coordinates of x, which may have further axes before those of trials."""
    total: Any = None
    dim, terms = len(x), 0
    for i, row in enumerate(map(list, m)):
        part = row[i] * x[i]
        if i + 1 < dim:
            part = part + 2.0 * added(row[j] * x[j] for j in range(i + 1, dim))
        total = part * x[i] if total is None else total + part * x[i]
        terms += dim - i
        if terms >= TERMS:
            total, terms = once(total), 0
    return total


@trials_last
def outer(x: Vector, y: Vector) -> jax.Array:
    """`x y'`, `[n, d]`."""
    return x[:, None] * y[None]


@trials_last
def rank_one(m: Symmetric, scale: ArrayLike, x: Vector) -> Symmetric:
    """`m + scale x x'`; symmetric to the last bit where m is."""
    return m + scale * (x[:, None] * x[None])


@trials_last
def gram(rows: jax.Array, weights: jax.Array) -> Symmetric:
    """`sum_k weights_k x_k x_k'` of rows `[n, d]`."""
    weighted = rows * weights[:, None]
    if len(rows) > UNROLLED:
        return summed(weighted[:, :, None] * rows[:, None], 3)
    return added(a[:, None] * x[None] for a, x in zip(weighted, rows, strict=True))


@trials_last
def total(values: jax.Array) -> jax.Array:
    """The sum of `[n]` numbers."""
    return summed(values, 1)


@trials_last
def combine(weights: jax.Array, rows: jax.Array) -> jax.Array:
    """`sum_k weights_k x_k` of rows `[n, d]`."""
    if len(rows) > UNROLLED:
        return summed(weights[:, None] * rows, 2)
    return added(a * x for a, x in zip(weights, rows, strict=True))


@trials_last
def shift(m: Symmetric, scalar: ArrayLike) -> Symmetric:
    """`m + scalar I`."""
    scalar = jnp.asarray(scalar, m.dtype)
    return m + scalar * _eye(m.shape[0], scalar)


@trials_last
def trace(m: Symmetric) -> jax.Array:
    """Sum of the diagonal."""
    return added(m[i, i] for i in range(m.shape[0]))


def sherman_morrison(inverse: Symmetric, weight: ArrayLike, x: Vector) -> tuple[Symmetric, Vector, jax.Array]:
    """Rank-one update of an inverse: `(V + weight x x')^{-1}` from `V^{-1}`.

    For few updates, or float64: over many, float32 loses the width of an x that recurs, and `factored` keeps it.

    Returns:
      The new inverse, `u = V^{-1} x` and `width_sq = x' V^{-1} x`, both from the *old* inverse.
    """
    u = once(matvec(inverse, x))
    width_sq = once(inner(x, u))
    return rank_one(inverse, once(-weight / (1.0 + weight * width_sq)), u), u, width_sq


# Solving -------------------------------------------------------------------------------------------------------------


def factor(m: Symmetric) -> Any:
    """A factorisation of a positive definite `m` for `solve`: LDL' written out for small d, Cholesky otherwise."""
    return _ldl(m) if m.shape[0] <= _UNROLLED_SOLVE else jnp.linalg.cholesky(m)


@trials_last
def _ldl(m: Symmetric) -> tuple[list[jax.Array], list[jax.Array]]:
    """The columns of L below its diagonal, `[d - 1 - j]`, and the inverse of D."""
    dim = m.shape[0]
    columns: list[Any] = []
    pivots: list[Any] = []
    inverses: list[Any] = []
    for j in range(dim):
        column = m[j:, j]  # [d - j]
        for k in range(j):
            below = columns[k][j - k - 1 :]
            column = column - below * (below[0] * pivots[k])
        pivot = column[0] if j == 0 else once(column[0])  # an entry of m costs nothing to read again
        inverse = once(1.0 / pivot)
        column = once(column[1:] * inverse) if j < dim - 1 else column[1:]
        columns.append(column)
        pivots.append(pivot)
        inverses.append(inverse)
    return columns, inverses


def solve(factored: Any, b: Vector) -> Vector:
    """`m^{-1} b` from `factor(m)`."""
    if isinstance(factored, tuple):
        return _ldl_solve(factored, b)
    return jax.scipy.linalg.cho_solve((factored, True), b)


@trials_last
def _ldl_solve(factored: tuple[list[jax.Array], list[jax.Array]], b: Vector) -> Vector:
    columns, inverses = [list(column) for column in factored[0]], factored[1]
    dim = b.shape[0]
    y: list[Any] = []
    for i, entry in enumerate(b):
        for k in range(i):
            entry = entry - columns[k][i - k - 1] * y[k]
        y.append(entry)
    y = [y[0], *once(y[1:])]  # else every entry of x repeats the forward substitution
    x: list[Any] = [entry * inverse for entry, inverse in zip(y, inverses, strict=True)]
    for i in reversed(range(dim)):
        for k in range(i + 1, dim):
            x[i] = x[i] - columns[i][k - i - 1] * x[k]
    return stack(x if dim <= 2 else once(x))


def root_times(factored: Any, x: Vector) -> Vector:
    """`R x` with `R R' = m` and `factored = factor(m)`: of covariance m where the entries of x are standard normal."""
    if isinstance(factored, tuple):
        return _ldl_root(factored, x)
    return matvec(factored, x)


@trials_last
def _ldl_root(factored: tuple[list[jax.Array], list[jax.Array]], x: Vector) -> Vector:
    columns, inverses = factored
    scaled = once([x[i] / jnp.sqrt(inverse) for i, inverse in enumerate(inverses)])
    entries = [added([scaled[i], *(columns[k][i - k - 1] * scaled[k] for k in range(i))]) for i in range(len(scaled))]
    return stack(entries if len(entries) <= 2 else once(entries))


def root_solve(factored: Any, x: Vector) -> Vector:
    """`R'^{-1} x` with `R R' = m` and `factored = factor(m)`: of covariance `m^{-1}` where x is standard normal."""
    if isinstance(factored, tuple):
        return _ldl_root_solve(factored, x)
    return jax.scipy.linalg.solve_triangular(factored, x, trans=1, lower=True)


@trials_last
def _ldl_root_solve(factored: tuple[list[jax.Array], list[jax.Array]], x: Vector) -> Vector:
    columns, inverses = factored
    dim = x.shape[0]
    y: list[Any] = once([x[i] * jnp.sqrt(inverse) for i, inverse in enumerate(inverses)])
    for i in reversed(range(dim)):
        for k in range(i + 1, dim):
            y[i] = y[i] - columns[i][k - i - 1] * y[k]
        y[i] = once(y[i])  # else every entry before it repeats what made this one
    return stack(y)


def log_det(factored: Any) -> jax.Array:
    """The logarithm of the determinant of the matrix that `factor` factored."""
    if isinstance(factored, tuple):
        return -added(jnp.log(inverse_pivot) for inverse_pivot in factored[1])
    return 2.0 * jnp.sum(jnp.log(jnp.diagonal(factored)))


def where(condition: Any, a: T, b: T) -> T:
    """Leafwise `jnp.where` on two equal pytrees; the condition is one for all their entries."""
    leaves_a, structure = jax.tree.flatten(a)
    leaves_b = structure.flatten_up_to(b)
    return jax.tree.unflatten(structure, _where(condition, leaves_a, leaves_b))


@trials_last
def _where(condition: Any, a: list[Any], b: list[Any]) -> list[Any]:
    return [jnp.where(condition, x, y) for x, y in zip(a, b, strict=True)]
