"""Factors of V^{-1} (`numerics.inverse_factors`) in few dimensions, with recursions that are unrolled entry by entry.

The state is one compensated array `[d (d + 1) / 2]`, which holds for each j = 1, ..., d the entries of column j of U
above the diagonal, followed by E_j. In every function the trial axis is the last axis.

A barrier follows each intermediate value that several kernels read. XLA:CPU would otherwise recompute the value in
each of these kernels, and in these recursions the number of recomputations grows with every step.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics import linalg
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.numerics.linalg import Symmetric, Vector, join, sum_terms
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.batching import trials_last
from jaxbandits.tracing.short_axes import entry


def init(dim: int, ridge: jax.Array) -> CompensatedSum:
    """Return the stored factors of the inverse of `ridge` times the identity matrix."""
    return CompensatedSum.init(_diagonal(dim)(ridge))


def from_factor(transposed: jax.Array, pivots: Vector) -> CompensatedSum:
    """Return the stored factors for U' `[d, d]` and pivots E `[d]`; only the part of U' below the diagonal is read."""
    columns = [jnp.concatenate([transposed[j, :j], pivots[j : j + 1]]) for j in range(len(pivots))]
    return CompensatedSum.init(jnp.concatenate(columns))


@functools.cache
def _diagonal(dim: int) -> Callable[[jax.Array], jax.Array]:
    @trials_last
    def pack(ridge: jax.Array) -> jax.Array:
        zero = jnp.zeros_like(ridge)
        return jnp.stack([ridge if i == j else zero for j in range(dim) for i in range(j + 1)])

    return pack


def _columns(entries: jax.Array) -> tuple[list[jax.Array], list[jax.Array]]:
    """Return the columns of U above its diagonal, `[j]` for j = 0 ... d - 1, and the pivots E."""
    columns, pivots, first = [], [], 0
    while first < entries.shape[0]:
        j = len(pivots)
        columns.append(entries[first : first + j])
        pivots.append(entries[first + j])
        first += j + 1
    return columns, pivots


@trials_last
def pivots(entries: jax.Array) -> Vector:
    """Return the pivots E `[d]` of V, given the stored entries."""
    return join([pivot[None] for pivot in _columns(entries)[1]])


@trials_last
def image(entries: jax.Array, x: Vector) -> tuple:
    """Return the fields of `inverse_factors.Image` for a vector x, as a tuple."""
    columns, pivots = _columns(entries)
    dim = len(pivots)
    f = barrier([x[j] + _product(u, x[:j]) if j else x[0] for j, u in enumerate(columns)])
    v = barrier([f[j] / pivots[j] for j in range(dim)])
    before = [jnp.zeros_like(v[0])]
    for j in range(dim):
        before.append(barrier(before[j] + f[j] * v[j]))
    width_sq, partial = before.pop(), []
    p: list[jax.Array] = []
    for j, u in enumerate(columns):  # d^2 / 2 kernels, each for one entry
        partial.append(p)
        p = [*barrier([a + b * v[j] for a, b in zip(p, u, strict=True)]), v[j]]
    return join([a[None] for a in p]), width_sq, f, before, partial


def _product(x: jax.Array, y: jax.Array) -> jax.Array:
    """Return `<x, y>` over the first axis."""
    return sum_terms(a * b for a, b in zip(x, y, strict=True))


def add(sums: CompensatedSum, f: ArrayLike, before: ArrayLike, partial: ArrayLike, weight: ArrayLike) -> CompensatedSum:
    """Return the stored factors for V + weight x x', given those for V and the fields of the image of x."""
    return sums.add(_increment(f, before, partial, weight))


@trials_last
def _increment(f: list[jax.Array], before: list[jax.Array], partial: list, weight: ArrayLike) -> jax.Array:
    steps = barrier([-weight * f[j] / (1.0 + weight * before[j]) for j in range(len(f))])  # -l
    parts = []
    for j, (step, column) in enumerate(zip(steps, partial, strict=True)):
        parts += [(a * step)[None] for a in column]
        parts.append((-step * f[j])[None])
    return join(parts)


@functools.cache
def quadratic_forms(axes: int) -> Callable[[jax.Array, jax.Array], jax.Array]:
    """Return a function from stored entries and vectors x `[..., d]` with `axes` axes to `x'V^{-1} x` `[...]`."""

    @trials_last
    def forms(entries: jax.Array, rows: jax.Array) -> jax.Array:
        columns, pivots = _columns(entries)
        inverses = barrier([1.0 / pivot for pivot in pivots])
        total: Any = None
        terms = 0
        x = [entry(rows, axes - 1, i) for i in range(len(pivots))]
        for j, u in enumerate(columns):
            f = sum_terms([x[j], *(a * b for a, b in zip(u, x[:j], strict=True))])
            total = f * f * inverses[j] if total is None else total + f * f * inverses[j]
            terms += j + 2
            if terms >= linalg.TERMS:
                total, terms = barrier(total), 0
        return total

    return forms


@trials_last
def matvec(entries: jax.Array, y: Vector) -> Vector:
    """Return `V^{-1} y`, given the stored entries of U and the pivots of V."""
    columns, pivots = _columns(entries)
    f = [y[j] + _product(u, y[:j]) if j else y[0] for j, u in enumerate(columns)]
    v = barrier([a / pivot for a, pivot in zip(f, pivots, strict=True)])
    entries_of = [list(u) for u in columns]
    rows = [sum_terms([a, *(entries_of[j][i] * v[j] for j in range(i + 1, len(v)))]) for i, a in enumerate(v)]
    return join([a[None] for a in rows])


@trials_last
def root_matvec(entries: jax.Array, z: Vector) -> Vector:
    """Return `U diag(1 / E)^{1/2} z`, given the stored entries of U and the pivots E of V."""
    columns, pivots = _columns(entries)
    v = barrier([z[j] * jax.lax.rsqrt(pivot) for j, pivot in enumerate(pivots)])
    entries_of = [list(u) for u in columns]
    rows = [sum_terms([a, *(entries_of[j][i] * v[j] for j in range(i + 1, len(v)))]) for i, a in enumerate(v)]
    return join([a[None] for a in rows])


@trials_last
def solve(entries: jax.Array, y: Vector) -> Vector:
    """Return `V y`, given the stored entries of U and the pivots of V."""
    columns, pivots = _columns(entries)
    z = [pivots[j] * a for j, a in enumerate(_coordinates(columns, y))]
    for j, u in enumerate(columns):  # product with U^{-T}
        z[j] = barrier(sum_terms([z[j], *(-a * b for a, b in zip(u, z[:j], strict=True))]))
    return join([a[None] for a in z])


def _coordinates(columns: list[jax.Array], y: Vector) -> list[jax.Array]:
    """Return `U^{-1} y`."""
    z, remainder = [], y
    for u in reversed(columns):
        z.append(remainder[-1])
        remainder = barrier(remainder[:-1] - u * remainder[-1])
    return z[::-1]


@trials_last
def norm_sq(entries: jax.Array, y: Vector) -> jax.Array:
    """Return `y'V y`, given the stored entries of U and the pivots of V."""
    columns, pivots = _columns(entries)
    return sum_terms(pivots[j] * a * a for j, a in enumerate(_coordinates(columns, y)))


def shifted_system(entries: jax.Array, y: Vector) -> tuple:
    """Return the fields of `inverse_factors.ShiftedSystem` for a vector y, as a tuple."""
    columns, pivots, coordinates = barrier(_inverse_factor(entries, y))
    return columns, jnp.einsum("ki,kj->ij", columns, columns), pivots, coordinates


@trials_last
def _inverse_factor(entries: jax.Array, y: Vector) -> tuple[jax.Array, Vector, Vector]:
    columns, pivots = _columns(entries)
    rows = jnp.arange(len(columns)).reshape(-1, *(1,) * (entries.ndim - 1))
    g: list[jax.Array] = []
    for j, u in enumerate(columns):
        unit = jnp.where(rows == j, jnp.ones_like(pivots[j])[None], 0.0)
        g.append(barrier(sum_terms([unit, *(-a * b for a, b in zip(u, g, strict=True))])))
    pivots, coordinates = (join([a[None] for a in parts]) for parts in (pivots, _coordinates(columns, y)))
    return join([a[None] for a in g]), pivots, coordinates


def _transposed_factor(columns: list[jax.Array]) -> jax.Array:
    """Return U' `[d, d]`, whose rows are the columns of U."""
    parts = []
    for j, u in enumerate(columns):
        trials = u.shape[1:]
        parts += [u, jnp.ones((1, *trials), u.dtype), jnp.zeros((len(columns) - 1 - j, *trials), u.dtype)]
    return join(parts).reshape(len(columns), len(columns), *columns[0].shape[1:])


@trials_last
def to_dense(entries: jax.Array) -> Symmetric:
    """Return V^{-1} `[d, d]`, given the stored entries of U and the pivots of V."""
    columns, pivots = _columns(entries)
    rows = _transposed_factor(columns)
    return sum_terms((row / pivot)[:, None] * row[None] for row, pivot in zip(rows, pivots, strict=True))
