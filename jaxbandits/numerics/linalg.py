"""Solution of positive definite systems by LDL' factorisation, unrolled for small d, with the trial axis last.

LDL' is a third faster than a Cholesky factorisation, which computes a square root for each column.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.batching import trials_last
from jaxbandits.tracing.short_axes import Rows, concatenate

UNROLLED = 48  # largest number of terms for which a sum is unrolled
TERMS = 80  # products per kernel in a longer sum; a larger kernel spills registers and is 10 times slower
# Largest dimension in which a factorisation is unrolled; in more dimensions LAPACK is called for each trial.
_UNROLLED_SOLVE = 32

Vector: TypeAlias = jax.Array  # [d]
Symmetric: TypeAlias = jax.Array  # [d, d]


def sum_terms(terms: Iterable[Any]) -> Any:
    """Return the sum of the terms, added from left to right."""
    total, *others = terms
    for term in others:
        total = total + term
    return total


def join(arrays: list[jax.Array]) -> jax.Array:
    """Concatenate copies of arrays along the first axis, after broadcasting the trial axes that follow it."""
    trials = jnp.broadcast_shapes(*(x.shape[1:] for x in arrays))
    return concatenate([jnp.broadcast_to(x, (x.shape[0], *trials)) for x in arrays], 0)


def trace(m: jax.Array) -> jax.Array:
    """Return the sum of the diagonal; unlike `jnp.trace`, the function reads no other entries."""
    return sum_terms(m[i, i] for i in range(len(m)))


def factor(m: Symmetric) -> Any:
    """Return factors of a positive definite `m` for `solve` and `log_det`, by LDL' for small d, else by Cholesky."""
    return _ldl(m) if m.shape[0] <= _UNROLLED_SOLVE else jnp.linalg.cholesky(m)


@trials_last
def _ldl(m: Symmetric) -> tuple[list[jax.Array], list[jax.Array]]:
    """Return the columns of L below the diagonal, column j as `[d - 1 - j]`, and the inverses of the entries of D."""
    dim = m.shape[0]
    columns: list[Any] = []
    pivots: list[Any] = []
    inverses: list[Any] = []
    for j in range(dim):
        column = m[j:, j]  # [d - j]
        for k in range(j):
            below = columns[k][j - k - 1 :]
            column = column - below * (below[0] * pivots[k])
        # Without barriers XLA:CPU recomputes a column for each later column. The first pivot needs no barrier, because
        # it is an entry of m.
        pivot = column[0] if j == 0 else barrier(column[0])
        inverse = barrier(1.0 / pivot)
        column = barrier(column[1:] * inverse) if j < dim - 1 else column[1:]
        columns.append(column)
        pivots.append(pivot)
        inverses.append(inverse)
    return columns, inverses


def solve(factors: Any, b: Vector) -> Vector:
    """Return `m^{-1} b`, given `factors = factor(m)`."""
    if isinstance(factors, tuple):
        return _ldl_solve(factors, b)
    return jax.scipy.linalg.cho_solve((factors, True), b)


@trials_last
def _ldl_solve(factors: tuple[list[jax.Array], list[jax.Array]], b: Vector) -> Vector:
    columns, inverses = [list(column) for column in factors[0]], factors[1]
    dim = b.shape[0]
    y: list[Any] = []
    for i, entry in enumerate(b):
        for k in range(i):
            entry = entry - columns[k][i - k - 1] * y[k]
        y.append(entry)
    y = [y[0], *barrier(y[1:])]  # otherwise XLA:CPU repeats the forward substitution for every entry of x
    x: list[Any] = [entry * inverse for entry, inverse in zip(y, inverses, strict=True)]
    for i in reversed(range(dim)):
        for k in range(i + 1, dim):
            x[i] = x[i] - columns[i][k - i - 1] * x[k]
    # Without barriers, a kernel that reads x computes the products for each row. LLVM moves some of them out of the
    # loop over rows, depending on the width of the batch, and then does not contract these products and the following
    # sum into a fused multiply-add, so that results would depend on the width.
    return Rows(tuple(barrier(x)), 0).array()


def cholesky_and_inverse(m: Symmetric) -> tuple[jax.Array, jax.Array]:
    """Return the Cholesky factor L of a positive definite m, and L^{-1}.

    A matrix with more than 32 rows is split into halves recursively. The interpreter `vmap_last` unrolls the
    factorisation of a block of up to 32 rows, whereas LAPACK would be called for each trial, which takes several times
    as long.
    """
    dim = m.shape[0]
    if dim <= _UNROLLED_SOLVE:
        root = jnp.linalg.cholesky(m)
        return root, jax.scipy.linalg.solve_triangular(root, jnp.eye(dim, dtype=m.dtype), lower=True)
    half = dim // 2
    first, first_inverse = cholesky_and_inverse(m[:half, :half])
    corner = _matmul(m[half:, :half], first_inverse.T)
    second, second_inverse = cholesky_and_inverse(m[half:, half:] - _matmul(corner, corner.T))
    corner_inverse = -_matmul(second_inverse, _matmul(corner, first_inverse))
    zero = jnp.zeros((half, dim - half), m.dtype)
    return (
        jnp.block([[first, zero], [corner, second]]),
        jnp.block([[first_inverse, zero], [corner_inverse, second_inverse]]),
    )


def _matmul(a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.matmul(a, b, precision=jax.lax.Precision.HIGHEST)


def log_det(factors: Any) -> jax.Array:
    """Return the logarithm of the determinant of m, given `factors = factor(m)`."""
    if isinstance(factors, tuple):
        return -sum_terms(jnp.log(inverse_pivot) for inverse_pivot in factors[1])
    return 2.0 * jnp.sum(jnp.log(jnp.diagonal(factors)))
