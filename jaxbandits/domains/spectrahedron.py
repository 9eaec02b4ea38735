"""The trace-bounded spectrahedron `{X positive semidefinite, tr X <= radius}`, a set of covariance matrices."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains import points
from jaxbandits.domains.points import Shape
from jaxbandits.domains.simplex import project_simplex

_EXACT_SIDE = 64  # up to this side, computing all eigenvectors costs no more than Lanczos' method


@pytree
class Spectrahedron:
    """`{X in R^{n x n}: X symmetric and positive semidefinite, tr X <= radius}`.

    It is the convex hull of 0 and of all matrices `radius * u u'` with unit vectors u. A direction is replaced by its
    symmetric part, which alone determines its inner product with a symmetric X. The linear oracle needs one
    eigenvector. Up to $n = 64$ it is exact; for larger n it comes from `iterations` steps of Lanczos' method with full
    reorthogonalisation, so that the answer is a point of the set whose value is usually close to the best. For $n >= 2$
    the set has no interior points in $R^{n x n}$.
    """

    radius: ArrayLike = param(1.0, "(0, inf)", "largest trace")
    iterations: int = static(30, "[1, inf)", "steps of Lanczos' method, used when n > 64")

    @property
    def diameter(self) -> ArrayLike:
        """The diameter for n >= 2; an upper bound for n = 1."""
        return math.sqrt(2.0) * points.as_floats(self.radius)

    def zero(self, shape: Shape) -> jax.Array:
        """Return the origin `[n, n]`, which lies on the boundary."""
        return points.zeros(shape)

    def outer_radius(self, shape: Shape) -> ArrayLike:
        del shape
        return self.radius

    def lmo(self, direction: jax.Array, guess: jax.Array | None = None) -> tuple[jax.Array, jax.Array | None]:
        """Return `radius u u'` `[n, n]` for the eigenvector u of the smallest eigenvalue if this is negative, else 0.

        The returned guess is the eigenvector, from which Lanczos' method starts in the next call; it is None if the
        eigenvector is computed exactly.
        """
        c = _symmetric(direction)
        c = c / jnp.maximum(jnp.max(jnp.abs(c)), jnp.finfo(c.dtype).tiny)  # avoids overflow and underflow of squares
        if len(c) <= _EXACT_SIDE:
            values, vectors = jnp.linalg.eigh(c)
            value, vector, guess = values[0], vectors[:, 0], None
        else:
            value, vector = _least_pair(c, self.iterations, guess)
            guess = vector
        return jnp.where(value < 0.0, self.radius, 0.0) * jnp.outer(vector, vector), guess

    def project(self, x: jax.Array) -> jax.Array:
        """Return the nearest point `[n, n]` (Frobenius norm), by projecting the eigenvalues of the symmetric part.

        A symmetric part that lies in the set, up to the rounding errors of its eigenvalues, is returned unchanged.
        """
        c = _symmetric(x)
        values, vectors = jnp.linalg.eigh(c)
        kept = jnp.maximum(values, 0.0)
        too_large = jnp.sum(kept) > self.radius
        inside = ~too_large & (values[0] >= -len(c) * jnp.finfo(c.dtype).eps * values[-1])
        kept = jnp.where(too_large, project_simplex(values, self.radius), kept)
        return jnp.where(inside, c, _symmetric((vectors * kept) @ vectors.T))


def _symmetric(x: jax.Array) -> jax.Array:
    return 0.5 * (x + x.T)


def _least_pair(c: jax.Array, iterations: int, guess: jax.Array | None) -> tuple[jax.Array, jax.Array]:
    """Return the smallest Ritz value and vector of a symmetric `c` [n, n], from `iterations` Krylov vectors."""
    n = len(c)
    steps = min(iterations, n)
    first = _unit(jnp.asarray(np.random.default_rng(0).standard_normal(n), c.dtype))
    # Directions that are absent from the start are never found, so a small multiple of a fixed random vector is added.
    first = first if guess is None else _unit(guess + 1e-3 * first)
    negligible = n * jnp.finfo(c.dtype).eps  # entries of c are at most 1 in size

    def step(k: int, now: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        basis, q, diagonal, beside = now
        basis = basis.at[k].set(q)
        w = c @ q
        diagonal = diagonal.at[k].set(w @ q)
        for _ in range(2):  # the second pass removes the rounding errors of the first
            w = w - basis.T @ (basis @ w)
        length = jnp.sqrt(w @ w)
        # If the space is invariant, zero vectors follow. Their Ritz value is 0, and the oracle uses only negative
        # values.
        ended = length <= negligible
        q = jnp.where(ended, 0.0, w / jnp.where(ended, 1.0, length))
        return basis, q, diagonal, beside.at[k].set(jnp.where(ended, 0.0, length))

    zeros = jnp.zeros(steps, c.dtype)
    basis, _, diagonal, beside = lax.fori_loop(0, steps, step, (jnp.zeros((steps, n), c.dtype), first, zeros, zeros))
    values, vectors = jnp.linalg.eigh(jnp.diag(diagonal) + jnp.diag(beside[:-1], 1) + jnp.diag(beside[:-1], -1))
    return values[0], _unit(basis.T @ vectors[:, 0])


def _unit(x: jax.Array) -> jax.Array:
    return x / jnp.maximum(jnp.sqrt(jnp.sum(x * x)), jnp.finfo(x.dtype).tiny)
