"""Positive definite systems, factored as LDL': a third faster than Cholesky, which takes a root a column.

Written out for small d; under `vmap` with the trial axis last.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.batching import trials_last
from jaxbandits.tracing.short_axes import Rows

UNROLLED = 48  # terms of a sum that are written out
TERMS = 80  # products between two barriers of a longer sum: a larger kernel falls out of the registers, 10x slower
_UNROLLED_SOLVE = 32  # dimensions up to which a factorisation is written out; LAPACK, one trial at a time, beyond

Vector: TypeAlias = jax.Array  # [d]
Symmetric: TypeAlias = jax.Array  # [d, d]


def sum_terms(terms: Iterable[Any]) -> Any:
    """Their sum, from the left."""
    total, *rest = terms
    for term in rest:
        total = total + term
    return total


def trace(m: jax.Array) -> jax.Array:
    """The sum of the diagonal; `jnp.trace` looks at all entries."""
    return sum_terms(m[i, i] for i in range(len(m)))


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
        pivot = column[0] if j == 0 else barrier(column[0])  # an entry of m costs nothing to read again
        inverse = barrier(1.0 / pivot)
        column = barrier(column[1:] * inverse) if j < dim - 1 else column[1:]
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
    y = [y[0], *barrier(y[1:])]  # else every entry of x repeats the forward substitution
    x: list[Any] = [entry * inverse for entry, inverse in zip(y, inverses, strict=True)]
    for i in reversed(range(dim)):
        for k in range(i + 1, dim):
            x[i] = x[i] - columns[i][k - i - 1] * x[k]
    return Rows(tuple(x if dim <= 2 else barrier(x)), 0).array()


def log_det(factored: Any) -> jax.Array:
    """The logarithm of the determinant of the matrix that `factor` factored."""
    if isinstance(factored, tuple):
        return -sum_terms(jnp.log(inverse_pivot) for inverse_pivot in factored[1])
    return 2.0 * jnp.sum(jnp.log(jnp.diagonal(factored)))
