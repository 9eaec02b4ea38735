"""V^{-1} of a matrix that only grows, `V <- V + w x x'`, in factors for which every width is accurate in float32.

    V^{-1} = U diag(1 / E) U',   U upper triangular with ones on its diagonal, E > 0 the pivots of V

The entries of V^{-1} are rounded relative to the largest one, while `x'V^{-1} x` of an arm played t times is 1/t of
that entry. After 10^6 rounds of one arm, float32 would keep no digit of `x'V^{-1} x`: the width would be wrong by a
factor, or its square negative (float32/test_inverse_factors.py::test_both_factors_must_be_compensated). Here

    x'V^{-1} x = sum_j f_j^2 / E_j,   f = U'x

is a sum of squares, in which a rounding error of U enters squared: where the sum is small, either E_j is large or f_j
small. With a new sample (Bierman, Factorization Methods for Discrete Sequential Estimation, 1977, for E instead
of 1 / E)

    c_j  = sum_{k < j} f_k^2 / E_k,   l_j = w f_j / (1 + w c_j),   p_ij = sum_{i <= k < j} U_ik f_k / E_k
    E_j <- E_j + l_j f_j,             U_ij <- U_ij - l_j p_ij

No pivot ever decreases, and V^{-1} x is p_i,d+1. E and U are sums over rounds, and both have to be compensated
(`numerics.compensated`): after 10^6 rounds of one arm a width then has a relative error of 1e-6, but of 0.3 to 3 % if
either is a plain sum (the same test). A sample takes 5 d^2 operations; a width costs the same as with V^{-1} itself.

    image = inverse_factors.image(inverse, x)          image.u is V^{-1} x, image.width_sq is x'V^{-1} x
    inverse = inverse_factors.add(inverse, w, image)   of V + w x x'; w may depend on the image

Up to `WRITTEN_OUT` dimensions the recursions are written out entry by entry (`numerics.inverse_entries`). Because such
code grows with d^2, more dimensions are stored as blocks of columns of U, with loops over the columns
(`numerics.inverse_blocks`).

`matvec`, `quadratic_forms` and `to_dense` also take plain arrays `[d, d]`.
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

# Dimensions up to which every function is written out entry by entry; for more, loops run over columns.
WRITTEN_OUT = 12


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


def _form(inverse: InverseFactors) -> tuple[Any, tuple[Any, ...]]:
    """Return the module for the form in which the factors are stored, and the totals of their sums."""
    sums = inverse.sums
    if isinstance(sums, ColumnBlocks):
        return inverse_blocks, (tuple(block.total for block in sums.columns), sums.pivots.total)
    return inverse_entries, (sums.total,)


def init(dim: int, ridge: ArrayLike) -> InverseFactors:
    """Return the inverse of `ridge` times the identity matrix."""
    form = inverse_entries if dim <= WRITTEN_OUT else inverse_blocks
    return InverseFactors(form.init(dim, jnp.asarray(ridge, jnp.result_type(float))))


def from_matrix(matrix: Symmetric) -> InverseFactors:
    """Return the inverse of a positive definite V `[d, d]`; O(d^3).

    In $V = L E L'$, L is the transpose of U^{-1}. V itself is rounded: a width is right to the rounding of V
    relative to its smallest eigenvalue, whereas `add` keeps all digits.
    """
    dim = matrix.shape[0]
    root, inverse_root = linalg.cholesky_and_inverse(matrix)
    diagonal = jnp.diagonal(root)
    transposed = diagonal[:, None] * inverse_root  # U'
    form = inverse_entries if dim <= WRITTEN_OUT else inverse_blocks
    return InverseFactors(form.from_factor(transposed, diagonal * diagonal))


def image(inverse: InverseFactors, x: Vector) -> Image:
    """Return `V^{-1} x` and `x'V^{-1} x`, with the intermediate results that `add` needs."""
    form, totals = _form(inverse)
    return Image(*form.image(*totals, x))


def add(inverse: InverseFactors, weight: ArrayLike, image: Image) -> InverseFactors:
    """Return the inverse of `V + weight x x'`.

    Args:
      inverse: inverse of V.
      weight: `[]` >= 0.
      image: `image(inverse, x)`.
    """
    form, _ = _form(inverse)
    return InverseFactors(form.add(inverse.sums, image.f, image.before, image.partial, weight))


def quadratic_forms(inverse: Inverse, rows: jax.Array) -> jax.Array:
    """Return `x'V^{-1} x` `[...]` for every x of `[..., d]`."""
    if not isinstance(inverse, InverseFactors):
        return jnp.sum((rows @ inverse) * rows, axis=-1)
    form, totals = _form(inverse)
    return form.quadratic_forms(jnp.ndim(rows))(*totals, rows)


def matvec(inverse: Inverse, y: Vector) -> Vector:
    """Return `V^{-1} y`."""
    if not isinstance(inverse, InverseFactors):
        return inverse @ y
    form, totals = _form(inverse)
    return form.matvec(*totals, y)


def root_matvec(inverse: InverseFactors, z: Vector) -> Vector:
    """Return R z with `R R' = V^{-1}`; for independent standard normals z it has covariance V^{-1}."""
    form, totals = _form(inverse)
    return form.root_matvec(*totals, z)


def solve(inverse: InverseFactors, y: Vector) -> Vector:
    """Return `V y`."""
    form, totals = _form(inverse)
    return form.solve(*totals, y)


def norm_sq(inverse: InverseFactors, y: Vector) -> jax.Array:
    """Return `y'V y`, a sum of squares."""
    form, totals = _form(inverse)
    return form.norm_sq(*totals, y)


class ShiftedSystem(NamedTuple):
    """V^{-1} and y in coordinates in which `solve_shifted` takes O(d^3) for any mu; G = U^{-1}."""

    columns: jax.Array  # [d, d]  G'
    gram: Symmetric  # [d, d]  G G'
    pivots: Vector  # [d]  E
    coordinates: Vector  # [d]  G y


def shifted_system(inverse: InverseFactors, y: Vector) -> ShiftedSystem:
    """Prepare `solve_shifted` for any number of values of mu, in O(d^3)."""
    form, totals = _form(inverse)
    return barrier(ShiftedSystem(*form.shifted_system(*totals, y)))


def solve_shifted(system: ShiftedSystem, mu: jax.Array) -> tuple[Vector, Vector]:
    """Return `x(mu) = (I + mu V^{-1})^{-1} y = G'(G G' + mu / E)^{-1} G y`, and `-dx/dmu`.

    The matrix that is factored is a sum of positive definite ones, however large mu and however different the entries
    of E.
    """
    factors = linalg.factor(system.gram + jnp.diag(mu / system.pivots))
    s = linalg.solve(factors, system.coordinates)  # U'x
    slope = linalg.solve(factors, s / system.pivots)
    return system.columns @ s, system.columns @ slope


def pivots(inverse: InverseFactors) -> Vector:
    """Return E `[d]`, whose product is the determinant of V."""
    if isinstance(inverse.sums, ColumnBlocks):
        return inverse.sums.pivots.total
    return inverse_entries.pivots(inverse.sums.total)


def to_dense(inverse: Inverse) -> Symmetric:
    """Return V^{-1} `[d, d]` itself, with the rounding errors that the factors avoid."""
    if not isinstance(inverse, InverseFactors):
        return inverse
    form, totals = _form(inverse)
    return form.to_dense(*totals)
