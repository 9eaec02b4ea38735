"""Factors of V^{-1} for updates `V <- V + w x x'`, which give accurate confidence widths even in float32.

    V^{-1} = U diag(1 / E) U',   U upper triangular with ones on its diagonal, E > 0 the pivots of V

If V^{-1} is stored as a matrix, rounding errors are relative to its largest entry, whereas `x'V^{-1} x` of an arm
played t times is 1/t of that entry. After 10^6 plays of one arm, no digit of `x'V^{-1} x` would be correct in float32:
the width would be wrong by a factor, or its square would be negative
(float32/test_inverse_factors.py::test_both_factors_must_be_compensated). Here

    x'V^{-1} x = sum_j f_j^2 / E_j,   f = U'x

is a sum of squares, in which a rounding error of U enters squared: if the sum is small, then for each j either E_j is
large or f_j is small. The update with a new sample is that of Bierman (Factorization Methods for Discrete Sequential
Estimation, 1977), written for E instead of 1 / E:

    c_j  = sum_{k < j} f_k^2 / E_k,   l_j = w f_j / (1 + w c_j),   p_ij = sum_{i <= k < j} U_ik f_k / E_k
    E_j <- E_j + l_j f_j,             U_ij <- U_ij - l_j p_ij

No pivot ever decreases, and entry i of V^{-1} x is p_i,d+1. E and U are sums over rounds, and both must be compensated
sums (`numerics.compensated`): after 10^6 plays of one arm a width then has a relative error of 1e-6, whereas the error
is 0.3 to 3 % if E or U is a plain sum (the same test). An update takes 5 d^2 operations; computing a width costs as
much as with the matrix V^{-1}.

    image = inverse_factors.image(inverse, x)          image.u is V^{-1} x, image.width_sq is x'V^{-1} x
    inverse = inverse_factors.add(inverse, w, image)   inverse of V + w x x'; w may depend on the image

Up to `WRITTEN_OUT` dimensions the recursions are unrolled entry by entry (`numerics.inverse_entries`). The size of this
code grows with d^2, so that in more dimensions U is stored as blocks of columns, and loops run over the columns
(`numerics.inverse_blocks`).

`matvec`, `quadratic_forms` and `to_dense` also accept V^{-1} as a plain array `[d, d]`.
"""

from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics import inverse_blocks, inverse_entries, linalg
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.numerics.inverse_blocks import ColumnBlocks
from jaxbandits.numerics.linalg import Symmetric, Vector
from jaxbandits.tracing.barrier import barrier

# Largest dimension in which the recursions are unrolled entry by entry; in more dimensions, loops run over columns.
WRITTEN_OUT = 12


class InverseFactors(NamedTuple):
    """Factors of V^{-1}, for use in the state of a learner."""

    sums: CompensatedSum | ColumnBlocks  # [d (d + 1) / 2] of `inverse_entries`, or the blocks of `inverse_blocks`


class Image(NamedTuple):
    """`V^{-1} x` and `x'V^{-1} x`, with the intermediate results that `add` needs."""

    u: Vector  # [d]  V^{-1} x
    width_sq: jax.Array  # []  x'V^{-1} x
    f: Any  # [d]  U'x; a list of d scalars in few dimensions
    before: Any  # [d]  c; a list of d scalars in few dimensions
    partial: Any  # lists p_1j, ..., p_{j-1,j} for j = 1, ..., d; for `ColumnBlocks` f / E `[d]`


Inverse: TypeAlias = InverseFactors | Symmetric


def _form(inverse: InverseFactors) -> tuple[Any, tuple[Any, ...]]:
    """Return the module that handles the form in which the factors are stored, and the totals of their sums."""
    sums = inverse.sums
    if isinstance(sums, ColumnBlocks):
        return inverse_blocks, (tuple(block.total for block in sums.columns), sums.pivots.total)
    return inverse_entries, (sums.total,)


def init(dim: int, ridge: ArrayLike) -> InverseFactors:
    """Return the factors of the inverse of `ridge` times the identity matrix `[dim, dim]`."""
    form = inverse_entries if dim <= WRITTEN_OUT else inverse_blocks
    return InverseFactors(form.init(dim, jnp.asarray(ridge, jnp.result_type(float))))


def from_matrix(matrix: Symmetric) -> InverseFactors:
    """Return the factors of the inverse of a positive definite V `[d, d]`, in O(d^3) operations.

    In $V = L E L'$, L is the transpose of U^{-1}. The error of a width is the rounding error of V relative to the
    smallest eigenvalue of V, whereas factors that are built up by `add` are accurate in all digits.
    """
    dim = matrix.shape[0]
    root, inverse_root = linalg.cholesky_and_inverse(matrix)
    diagonal = jnp.diagonal(root)
    transposed = diagonal[:, None] * inverse_root  # U'
    form = inverse_entries if dim <= WRITTEN_OUT else inverse_blocks
    return InverseFactors(form.from_factor(transposed, diagonal * diagonal))


def image(inverse: InverseFactors, x: Vector) -> Image:
    """Return the image of x: `V^{-1} x` and `x'V^{-1} x`, with the intermediate results that `add` needs."""
    form, totals = _form(inverse)
    return Image(*form.image(*totals, x))


def add(inverse: InverseFactors, weight: ArrayLike, image: Image) -> InverseFactors:
    """Return the factors of the inverse of `V + weight x x'`.

    Args:
      inverse: factors of the inverse of V.
      weight: `[]` weight of the new sample, >= 0.
      image: image of the new vector x, `image(inverse, x)`.
    """
    form, _ = _form(inverse)
    return InverseFactors(form.add(inverse.sums, image.f, image.before, image.partial, weight))


def quadratic_forms(inverse: Inverse, rows: jax.Array) -> jax.Array:
    """Return `x'V^{-1} x` `[...]` for every vector x of an array `[..., d]`, given V^{-1} or its factors."""
    if not isinstance(inverse, InverseFactors):
        return jnp.sum((rows @ inverse) * rows, axis=-1)
    form, totals = _form(inverse)
    return form.quadratic_forms(jnp.ndim(rows))(*totals, rows)


def matvec(inverse: Inverse, y: Vector) -> Vector:
    """Return `V^{-1} y`, given V^{-1} or its factors."""
    if not isinstance(inverse, InverseFactors):
        return inverse @ y
    form, totals = _form(inverse)
    return form.matvec(*totals, y)


def root_matvec(inverse: InverseFactors, z: Vector) -> Vector:
    """Return R z, where `R R' = V^{-1}`; if z has independent standard normal entries, R z has covariance V^{-1}."""
    form, totals = _form(inverse)
    return form.root_matvec(*totals, z)


def solve(inverse: InverseFactors, y: Vector) -> Vector:
    """Return `V y`, given the factors of V^{-1}."""
    form, totals = _form(inverse)
    return form.solve(*totals, y)


def norm_sq(inverse: InverseFactors, y: Vector) -> jax.Array:
    """Return `y'V y`, computed as a sum of squares from the factors of V^{-1}."""
    form, totals = _form(inverse)
    return form.norm_sq(*totals, y)


class ShiftedSystem(NamedTuple):
    """V^{-1} and y, transformed so that `solve_shifted` takes O(d^3) operations for each mu; G stands for U^{-1}."""

    columns: jax.Array  # [d, d]  G'
    gram: Symmetric  # [d, d]  G G'
    pivots: Vector  # [d]  E
    coordinates: Vector  # [d]  G y


def shifted_system(inverse: InverseFactors, y: Vector) -> ShiftedSystem:
    """Return the system from which `solve_shifted` computes solutions for many values of mu, in O(d^3) operations."""
    form, totals = _form(inverse)
    return barrier(ShiftedSystem(*form.shifted_system(*totals, y)))


def solve_shifted(system: ShiftedSystem, mu: jax.Array) -> tuple[Vector, Vector]:
    """Return `x(mu) = (I + mu V^{-1})^{-1} y = G'(G G' + mu / E)^{-1} G y`, and `-dx/dmu`.

    The factored matrix is a sum of two positive definite matrices, for any mu > 0 and any positive E, so that its
    factorisation is stable.
    """
    factors = linalg.factor(system.gram + jnp.diag(mu / system.pivots))
    s = linalg.solve(factors, system.coordinates)  # U'x
    slope = linalg.solve(factors, s / system.pivots)
    return system.columns @ s, system.columns @ slope


def pivots(inverse: InverseFactors) -> Vector:
    """Return the pivots E `[d]`, whose product is the determinant of V."""
    if isinstance(inverse.sums, ColumnBlocks):
        return inverse.sums.pivots.total
    return inverse_entries.pivots(inverse.sums.total)


def to_dense(inverse: Inverse) -> Symmetric:
    """Return V^{-1} `[d, d]` as a matrix, which has the rounding errors that the factors avoid."""
    if not isinstance(inverse, InverseFactors):
        return inverse
    form, totals = _form(inverse)
    return form.to_dense(*totals)
