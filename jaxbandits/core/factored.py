"""V^{-1} of a matrix that only grows, `V <- V + w x x'`, in factors that keep every width in float32.

    V^{-1} = U diag(1 / E) U',   U upper triangular with ones on its diagonal, E > 0 the pivots of V

An entry of V^{-1} itself is rounded relative to the largest one, while `x'V^{-1} x` of an arm played t times is 1/t of
it: after 10^6 rounds of one arm nothing of it is left in float32 (the width is off by factors, or its square negative:
float32/test_factored.py::test_both_factors_must_be_compensated). Here

    x'V^{-1} x = sum_j f_j^2 / E_j,   f = U'x

is a sum of squares, in which a rounding of U enters squared: where the sum is small, either E_j is large or f_j small.
With a new sample (Bierman, Factorization Methods for Discrete Sequential Estimation, 1977, for E instead of 1 / E)

    c_j  = sum_{k < j} f_k^2 / E_k,   l_j = w f_j / (1 + w c_j),   p_ij = sum_{i <= k < j} U_ik f_k / E_k
    E_j <- E_j + l_j f_j,             U_ij <- U_ij - l_j p_ij

in which no pivot ever falls, and V^{-1} x is p_i,d+1. Both are sums over rounds, which are compensated
(`core.compensated`), and both must be: a width is right to 1e-6 after 10^6 rounds of one arm, off by 0.3 to 3 % with
plain sums in either (the same test). O(d^2) a sample, about twice what Sherman-Morrison takes (three
to four times for d of 20 and more); widths cost the same.

    image = factored.image(inverse, x)          image.u is V^{-1} x, image.width_sq is x'V^{-1} x
    inverse = factored.add(inverse, w, image)   of V + w x x'; w may depend on the image

`product`, `quads` and `dense` take plain arrays `[d, d]`, too; `[d]` is one row of `quads`.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

from jaxbandits.core import linalg
from jaxbandits.core.batching import trials_last
from jaxbandits.core.compensated import Compensated
from jaxbandits.core.fusion import once
from jaxbandits.core.linalg import Symmetric, Vector, added
from jaxbandits.core.pytree import ArrayLike

WRITTEN_OUT = 12  # dimensions up to which an update goes entry by entry: beyond, compiling takes too long


class Factored(NamedTuple):
    """V^{-1}, as part of a state."""

    sums: Compensated  # leaves [d (d + 1) / 2]  for j = 1 ... d: U_1j ... U_{j-1,j}, then E_j


class Image(NamedTuple):
    """`V^{-1} x`, and what `add` needs besides."""

    u: Vector  # [d]  V^{-1} x
    width_sq: jax.Array  # []  x'V^{-1} x
    f: list[jax.Array]  # d of []  U'x
    before: list[jax.Array]  # d of []  c
    partial: list  # for j = 1 ... d: p_1j ... p_{j-1,j}, as an array or a list of them


Inverse: TypeAlias = Factored | Symmetric


def start(dim: int, ridge: ArrayLike) -> Factored:
    """The inverse of `ridge` times the identity matrix."""
    return Factored(Compensated.start(_diagonal(dim)(jnp.asarray(ridge, jnp.result_type(float)))))


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
    return once(jnp.concatenate(once([jnp.broadcast_to(part, (part.shape[0], *trials)) for part in parts])))


def _in_full(columns: list[jax.Array]) -> jax.Array:
    """`[d, d]` U', row by row a column of U."""
    parts = []
    for j, u in enumerate(columns):
        trials = u.shape[1:]
        parts += [u, jnp.ones((1, *trials), u.dtype), jnp.zeros((len(columns) - 1 - j, *trials), u.dtype)]
    return _joined(parts).reshape(len(columns), len(columns), *columns[0].shape[1:])


# A new sample ---------------------------------------------------------------------------------------------------------


def image(inverse: Factored, x: Vector) -> Image:
    """`V^{-1} x`."""
    return Image(*_image(inverse.sums.total, x))


@trials_last
def _image(entries: jax.Array, x: Vector) -> tuple:
    columns, pivots = _columns(entries)
    dim = len(pivots)
    f = once([x[j] + _product(u, x[:j]) if j else x[0] for j, u in enumerate(columns)])
    v = once([f[j] / pivots[j] for j in range(dim)])
    before = [jnp.zeros_like(v[0])]
    for j in range(dim):
        before.append(once(before[j] + f[j] * v[j]))
    width_sq, partial = before.pop(), []
    if dim <= WRITTEN_OUT:  # d^2 / 2 kernels of one entry each
        p: list[jax.Array] = []
        for j, u in enumerate(columns):
            partial.append(p)
            p = [*once([a + b * v[j] for a, b in zip(p, u, strict=True)]), v[j]]
        return _joined([a[None] for a in p]), width_sq, f, before, partial
    rows = _joined([a[None] for a in v])  # row i holds p_ij from j = i + 1 on, and before f_i / E_i, which is p_i,i+1
    for j, u in enumerate(columns):
        partial.append(once(rows[:j]))  # apart: the update of the rows would copy them all
        if j:
            rows = once(jax.lax.dynamic_update_slice(rows, rows[:j] + u * v[j], (0,) * rows.ndim))
    return rows, width_sq, f, before, partial


def _product(x: jax.Array, y: jax.Array) -> jax.Array:
    """`<x, y>` over the first axis."""
    return jnp.sum(x * y, axis=0) if x.shape[0] > linalg.UNROLLED else added(a * b for a, b in zip(x, y, strict=True))


def add(inverse: Factored, weight: ArrayLike, image: Image) -> Factored:
    """The inverse of `V + weight x x'`.

    Args:
      inverse: of V.
      weight: `[]` >= 0.
      image: `image(inverse, x)`.
    """
    return Factored(inverse.sums.add(_increment(image.f, image.before, image.partial, weight)))


@trials_last
def _increment(f: list[jax.Array], before: list[jax.Array], partial: list, weight: ArrayLike) -> jax.Array:
    steps = once([-weight * f[j] / (1.0 + weight * before[j]) for j in range(len(f))])  # -l
    parts = []
    for j, (step, column) in enumerate(zip(steps, partial, strict=True)):
        parts += [(a * step)[None] for a in column] if isinstance(column, list) else [column * step]
        parts.append((-step * f[j])[None])
    return _joined(parts)


# What else V^{-1} is for ----------------------------------------------------------------------------------------------


def quads(inverse: Inverse, rows: jax.Array) -> jax.Array:
    """`[...]` x'V^{-1} x for every x of `[..., d]`."""
    if not isinstance(inverse, Factored):
        return linalg.quads(inverse, rows)
    return _quads(jnp.ndim(rows))(inverse.sums.total, rows)


@functools.cache
def _quads(axes: int) -> Callable[[jax.Array, jax.Array], jax.Array]:
    @trials_last
    def sums(entries: jax.Array, rows: jax.Array) -> jax.Array:
        columns, pivots = _columns(entries)
        inverses = once([1.0 / pivot for pivot in pivots])
        total: Any = None
        terms = 0
        if len(pivots) > linalg.UNROLLED:
            f = jnp.einsum("jd...,nd...->nj...", _in_full(columns), rows.reshape(-1, *rows.shape[axes - 1 :]))
            total = jnp.sum(f * f * _joined([one[None] for one in inverses])[None], axis=1)
            return total.reshape(*rows.shape[: axes - 1], *total.shape[1:])
        x = [linalg.entry(rows, axes - 1, i) for i in range(len(pivots))]
        for j, u in enumerate(columns):
            f = added([x[j], *(a * b for a, b in zip(u, x[:j], strict=True))])
            total = f * f * inverses[j] if total is None else total + f * f * inverses[j]
            terms += j + 2
            if terms >= linalg.TERMS:
                total, terms = once(total), 0
        return total

    return sums


def product(inverse: Inverse, y: Vector) -> Vector:
    """`V^{-1} y`."""
    return linalg.matvec(inverse, y) if not isinstance(inverse, Factored) else _apply(inverse.sums.total, y)


@trials_last
def _apply(entries: jax.Array, y: Vector) -> Vector:
    columns, pivots = _columns(entries)
    f = [y[j] + _product(u, y[:j]) if j else y[0] for j, u in enumerate(columns)]
    v = once([a / pivot for a, pivot in zip(f, pivots, strict=True)])
    entries_of = [list(u) for u in columns]
    rows = [added([a, *(entries_of[j][i] * v[j] for j in range(i + 1, len(v)))]) for i, a in enumerate(v)]
    return _joined([a[None] for a in rows])


def solve(inverse: Factored, y: Vector) -> Vector:
    """`V y`."""
    return _solve(inverse.sums.total, y)


@trials_last
def _solve(entries: jax.Array, y: Vector) -> Vector:
    columns, pivots = _columns(entries)
    z = [pivots[j] * a for j, a in enumerate(_coordinates(columns, y))]
    for j, u in enumerate(columns):  # U^{-T} z
        z[j] = once(added([z[j], *(-a * b for a, b in zip(u, z[:j], strict=True))]))
    return _joined([a[None] for a in z])


def _coordinates(columns: list[jax.Array], y: Vector) -> list[jax.Array]:
    """`U^{-1} y`."""
    z, rest = [], y
    for u in reversed(columns):
        z.append(rest[-1])
        rest = once(rest[:-1] - u * rest[-1])
    return z[::-1]


def norm_sq(inverse: Factored, y: Vector) -> jax.Array:
    """`y'V y`, a sum of squares."""
    return _norm_sq(inverse.sums.total, y)


@trials_last
def _norm_sq(entries: jax.Array, y: Vector) -> jax.Array:
    columns, pivots = _columns(entries)
    return added(pivots[j] * a * a for j, a in enumerate(_coordinates(columns, y)))


class Unfolded(NamedTuple):
    """What `shrunk` needs of V^{-1} and y, with G = U^{-1}."""

    columns: jax.Array  # [d, d]  G'
    gram: Symmetric  # [d, d]  G G'
    pivots: Vector  # [d]  E
    coordinates: Vector  # [d]  G y


def unfolded(inverse: Factored, y: Vector) -> Unfolded:
    """For any number of `shrunk`; O(d^3)."""
    columns, pivots, coordinates = once(_inverse_factor(inverse.sums.total, y))
    return once(Unfolded(columns, linalg.gram(columns, jnp.ones_like(y)), pivots, coordinates))


def shrunk(at: Unfolded, mu: jax.Array) -> tuple[Vector, Vector]:
    """`x(mu) = (I + mu V^{-1})^{-1} y = G'(G G' + mu / E)^{-1} G y`, and `-dx/dmu`.

    A sum of positive definite matrices, however large mu and however far apart the entries of E.
    """
    system = once(linalg.factor(_balanced(at.gram, at.pivots, mu)))
    s = once(linalg.solve(system, at.coordinates))  # U'x
    slope = once(linalg.solve(system, _quotient(s, at.pivots)))
    return linalg.matvec(at.columns, s), linalg.matvec(at.columns, slope)


@trials_last
def _inverse_factor(entries: jax.Array, y: Vector) -> tuple[jax.Array, Vector, Vector]:
    columns, pivots = _columns(entries)
    rows = jnp.arange(len(columns)).reshape(-1, *(1,) * (entries.ndim - 1))
    g: list[jax.Array] = []
    for j, u in enumerate(columns):
        unit = jnp.where(rows == j, jnp.ones_like(pivots[j])[None], 0.0)
        g.append(once(added([unit, *(-a * b for a, b in zip(u, g, strict=True))])))
    pivots, coordinates = (_joined([a[None] for a in parts]) for parts in (pivots, _coordinates(columns, y)))
    return _joined([a[None] for a in g]), pivots, coordinates


@trials_last
def _balanced(gram: Symmetric, pivots: Vector, mu: jax.Array) -> Symmetric:
    """`G G' + mu / E`."""
    dim = gram.shape[0]
    eye = jnp.eye(dim, dtype=gram.dtype).reshape(dim, dim, *(1,) * mu.ndim)
    return gram + eye * (mu / pivots)


@trials_last
def _quotient(x: Vector, y: Vector) -> Vector:
    return x / y


def dense(inverse: Inverse) -> Symmetric:
    """`[d, d]` V^{-1} itself, with the rounding that the factors avoid."""
    return _dense(inverse.sums.total) if isinstance(inverse, Factored) else inverse


@trials_last
def _dense(entries: jax.Array) -> Symmetric:
    columns, pivots = _columns(entries)
    return linalg.gram(_in_full(columns), _joined([1.0 / pivot[None] for pivot in pivots]))
