"""Linear algebra that is fast under `vmap` over trials, behind names that read like linear algebra.

Two forms behind the same operators, chosen once by the static dimension:

* up to `SMALL_DIM`: `Vec` (a vector held as d scalar leaves) and `Sym` (a symmetric matrix held as its d(d+1)/2 upper
  entries). Written for one trial; under `vmap` each leaf becomes an array over trials and every operation one
  elementwise loop, with no transposes and no reductions over tiny axes.
* above: plain arrays `[d]` and `[d, d]`.

So `m @ x`, `x @ y`, `x + s * y`, `rank_one(m, s, x)`, `quad(m, x)` are written once. A `Vec` whose leaves have shape
`[K]` is K vectors at once, as an array `[K, d]` is: `vectors(array)` and `dense(vec)` convert.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import jax
import jax.numpy as jnp

from jaxbandits.core.fusion import once
from jaxbandits.core.pytree import ArrayLike

SMALL_DIM = 12  # the unrolled graph grows as d^2 per product: compile time passes 10 s beyond this

T = TypeVar("T")


@jax.tree_util.register_pytree_node_class
class Vec:
    """A vector as d scalar leaves (or, with leaves of shape [K], K vectors)."""

    __slots__ = ("leaves",)
    __array_ufunc__ = None  # NumPy scalars defer to the operators below
    leaves: tuple[jax.Array, ...]

    def __init__(self, leaves: Sequence[Any]):
        self.leaves = tuple(leaves)

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        return self.leaves, None

    @classmethod
    def tree_unflatten(cls, aux: None, leaves: tuple[Any, ...]) -> "Vec":
        del aux
        return cls(leaves)

    def __len__(self) -> int:
        return len(self.leaves)

    def __getitem__(self, i: int) -> jax.Array:
        return self.leaves[i]

    def __add__(self, other: "Vec") -> "Vec":
        return Vec([a + b for a, b in zip(self.leaves, other.leaves, strict=True)])

    def __sub__(self, other: "Vec") -> "Vec":
        return Vec([a - b for a, b in zip(self.leaves, other.leaves, strict=True)])

    def __neg__(self) -> "Vec":
        return Vec([-a for a in self.leaves])

    def __mul__(self, scalar: ArrayLike) -> "Vec":
        return Vec([a * scalar for a in self.leaves])

    __rmul__ = __mul__

    def __truediv__(self, scalar: ArrayLike) -> "Vec":
        return Vec([a / scalar for a in self.leaves])

    def __matmul__(self, other: "Vec") -> jax.Array:
        return _sum_of_products(self.leaves, other.leaves)

    def __repr__(self) -> str:
        return f"Vec{self.leaves}"


@jax.tree_util.register_pytree_node_class
class Sym:
    """A symmetric matrix as the rows of its upper triangle, d(d+1)/2 scalar leaves."""

    __slots__ = ("rows",)
    __array_ufunc__ = None
    rows: tuple[tuple[jax.Array, ...], ...]

    def __init__(self, rows: Sequence[Sequence[Any]]):
        self.rows = tuple(tuple(row) for row in rows)

    def tree_flatten(self) -> tuple[tuple[Any, ...], int]:
        return tuple(x for row in self.rows for x in row), len(self.rows)

    @classmethod
    def tree_unflatten(cls, dim: int, leaves: tuple[Any, ...]) -> "Sym":
        rows, start = [], 0
        for i in range(dim):
            rows.append(leaves[start : start + dim - i])
            start += dim - i
        return cls(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, ij: tuple[int, int]) -> jax.Array:
        i, j = min(ij), max(ij)
        return self.rows[i][j - i]

    def _map(self, f: Callable[..., Any], *others: "Sym") -> "Sym":
        rows = zip(self.rows, *(o.rows for o in others), strict=True)
        return Sym([[f(*entries) for entries in zip(*row, strict=True)] for row in rows])

    def __add__(self, other: "Sym") -> "Sym":
        return self._map(lambda a, b: a + b, other)

    def __sub__(self, other: "Sym") -> "Sym":
        return self._map(lambda a, b: a - b, other)

    def __mul__(self, scalar: ArrayLike) -> "Sym":
        return self._map(lambda a: a * scalar)

    __rmul__ = __mul__

    def __matmul__(self, x: Vec) -> Vec:
        dim = len(self)
        return Vec([_sum_of_products([self[i, j] for j in range(dim)], x.leaves) for i in range(dim)])

    def __repr__(self) -> str:
        return f"Sym{self.rows}"


# Both forms have the operators that algorithms use; no type checker can say that of their union.
Vector: TypeAlias = Any  # [d]  Vec or jax.Array
Symmetric: TypeAlias = Any  # [d, d]  Sym or jax.Array


def _sum_of_products(a: Sequence[Any], b: Sequence[Any]) -> Any:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


# Making and converting ------------------------------------------------------------------------------------------------


def vectors(array: jax.Array) -> Vector:
    """`[..., d]` to vectors: a `Vec` with leaves `[...]` for small d, the array itself otherwise."""
    dim = array.shape[-1]
    return Vec([array[..., i] for i in range(dim)]) if dim <= SMALL_DIM else array


def dense(x: Vector | Symmetric | Sequence[Vector]) -> jax.Array:
    """Back to an array: `Vec` with leaves `[...]` to `[..., d]`, `Sym` to `[..., d, d]`, K vectors to `[K, d]`."""
    if isinstance(x, Vec):
        return jnp.stack(jnp.broadcast_arrays(*x.leaves), axis=-1)
    if isinstance(x, Sym):
        dim = len(x)
        flat = jnp.broadcast_arrays(*(x[i, j] for i in range(dim) for j in range(dim)))
        return jnp.stack(flat, axis=-1).reshape(*flat[0].shape, dim, dim)
    if isinstance(x, (tuple, list)):
        return jnp.stack([dense(v) for v in x])
    return jnp.asarray(x)


def symmetric(array: jax.Array) -> Symmetric:
    """`[..., d, d]` to a symmetric matrix (reads the upper triangle for small d)."""
    dim = array.shape[-1]
    if dim > SMALL_DIM:
        return array
    return Sym([[array[..., i, j] for j in range(i, dim)] for i in range(dim)])


def zeros(dim: int) -> Vector:
    """The zero vector."""
    return Vec([jnp.zeros(()) for _ in range(dim)]) if dim <= SMALL_DIM else jnp.zeros(dim)


def identity(dim: int, scale: ArrayLike = 1.0) -> Symmetric:
    """`scale` times the identity matrix."""
    scale = jnp.asarray(scale, dtype=jnp.zeros(()).dtype)
    if dim > SMALL_DIM:
        return scale * jnp.eye(dim)
    return Sym([[scale if j == i else jnp.zeros(()) for j in range(i, dim)] for i in range(dim)])


# Products -------------------------------------------------------------------------------------------------------------


def inner(x: Any, y: Any) -> jax.Array:
    """`<x, y>`: of vectors, or the Frobenius product of arrays of any shape (matrix decisions)."""
    return x @ y if isinstance(x, Vec) else jnp.sum(x * y)


def norm(x: Any) -> jax.Array:
    """Euclidean (Frobenius) norm; its gradient at zero is not used anywhere."""
    return jnp.sqrt(inner(x, x))


def quad(m: Symmetric, x: Vector) -> jax.Array:
    """`x' m x`, using each off-diagonal entry once (half the work of `x @ (m @ x)`)."""
    if not isinstance(m, Sym):
        return x @ (m @ x)
    dim = len(m)
    diagonal = _sum_of_products([m[i, i] * x[i] for i in range(dim)], x.leaves)
    if dim == 1:
        return diagonal
    rows = [_sum_of_products([m[i, j] for j in range(i + 1, dim)], x.leaves[i + 1 :]) for i in range(dim - 1)]
    return diagonal + 2.0 * _sum_of_products(rows, x.leaves[: dim - 1])


def rank_one(m: Symmetric, scale: ArrayLike, x: Vector) -> Symmetric:
    """`m + scale x x'`."""
    if not isinstance(m, Sym):
        return m + scale * jnp.outer(x, x)
    scaled = Vec([scale * a for a in x.leaves])
    return Sym([[entry + scaled[i] * x[i + k] for k, entry in enumerate(row)] for i, row in enumerate(m.rows)])


def shift(m: Symmetric, scalar: ArrayLike) -> Symmetric:
    """`m + scalar I`."""
    if not isinstance(m, Sym):
        return m + scalar * jnp.eye(m.shape[-1], dtype=m.dtype)
    return Sym([[entry + scalar if k == 0 else entry for k, entry in enumerate(row)] for row in m.rows])


def trace(m: Symmetric) -> jax.Array:
    """Sum of the diagonal."""
    return sum((row[0] for row in m.rows[1:]), m.rows[0][0]) if isinstance(m, Sym) else jnp.trace(m)


def sherman_morrison(inverse: Symmetric, weight: ArrayLike, x: Vector) -> tuple[Symmetric, Vector, jax.Array]:
    """Rank-one update of an inverse: `(V + weight x x')^{-1}` from `V^{-1}`.

    Returns:
      The new inverse, `u = V^{-1} x` and `width_sq = x' V^{-1} x`, both from the *old* inverse.
    """
    u = once(inverse @ x)
    width_sq = once(x @ u)
    return rank_one(inverse, -weight / (1.0 + weight * width_sq), u), u, width_sq


# Solving --------------------------------------------------------------------------------------------------------------


def factor(m: Symmetric) -> Any:
    """A factorisation of a positive definite `m` for `solve`: unrolled LDL' for small d, Cholesky otherwise."""
    if not isinstance(m, Sym):
        return jnp.linalg.cholesky(m)
    dim = len(m)
    low: list[list[Any]] = [[None] * dim for _ in range(dim)]
    diag: list[Any] = []
    for j in range(dim):
        pivot = m[j, j]
        for k in range(j):
            pivot = pivot - low[j][k] * low[j][k] * diag[k]
        diag.append(pivot)
        inverse_pivot = 1.0 / pivot
        for i in range(j + 1, dim):
            entry = m[i, j]
            for k in range(j):
                entry = entry - low[i][k] * low[j][k] * diag[k]
            low[i][j] = entry * inverse_pivot
        diag[j], column = once((pivot, [low[i][j] for i in range(j + 1, dim)]))
        for i in range(j + 1, dim):
            low[i][j] = column[i - j - 1]
    return low, diag


def solve(factored: Any, b: Vector) -> Vector:
    """`m^{-1} b` from `factor(m)`."""
    if not isinstance(b, Vec):
        return jax.scipy.linalg.cho_solve((factored, True), b)
    low, diag = factored
    dim = len(b)
    y: list[Any] = []
    for i in range(dim):
        entry = b[i]
        for k in range(i):
            entry = entry - low[i][k] * y[k]
        y.append(entry)
    y = once(y)  # else every entry of x repeats the forward substitution
    x = [a / p for a, p in zip(y, diag, strict=True)]
    for i in reversed(range(dim)):
        for k in range(i + 1, dim):
            x[i] = x[i] - low[k][i] * x[k]
    return Vec(x)


def where(condition: Any, a: T, b: T) -> T:
    """Leafwise `jnp.where` on two equal pytrees."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), a, b)
