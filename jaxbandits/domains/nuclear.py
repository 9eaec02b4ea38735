"""The nuclear-norm (trace-norm) ball `{||X||_* <= radius}` of matrices: the convex hull of rank-one matrices."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains import points
from jaxbandits.domains.points import Shape
from jaxbandits.domains.simplex import project_simplex
from jaxbandits.tracing.batching import fori_loop


class WarmStart(NamedTuple):
    """Start vector for the next call of the linear oracle, and the accuracy of the last answer."""

    right: jax.Array  # [n]  a unit vector near the top right singular vector
    residual: jax.Array  # []  ||C'u - s v|| / s for the pair u, v before its last improvement; 0 if C = 0


@pytree
class NuclearBall:
    """`{X in R^{m x n}: sum of singular values <= radius}`; points are arrays `[m, n]`.

    The linear oracle needs one pair of singular vectors, whereas the projection needs all of them; this is the standard
    reason for projection-free methods. For min(m, n) < `exact_below` the pair is exact. For larger matrices it is the
    best pair in a Krylov space of `iterations` orthogonal vectors, which starts from the right vector of the previous
    answer. This takes 2 `iterations` products of the direction with a vector, and no other operation on all entries of
    the direction. The answer always lies in the ball. Its accuracy is given by the `residual` in the returned guess:
    for some singular value s of the direction, `<direction, V>` lies within `radius residual s` of `-radius s`. The
    residual gives no information about singular vectors that are orthogonal to the whole Krylov space. Every start
    therefore contains a small multiple of a fixed random vector, so that the top singular vector is unlikely to be
    missed in many calls. `top_singular_value` is an independent check (docs/rates.md has figures for a matrix of 943 x
    1682).

    XLA fuses the outer product of the two vectors into the code that uses it, so that `x + sigma (V - x)` is a single
    rank-one update.
    """

    radius: ArrayLike = param(1.0, "(0, inf)", "radius tau")
    iterations: int = static(6, "[1, inf)", "number of vectors of the Krylov space; each costs two products")
    exact_below: int = static(64, "[1, inf)", "if min(m, n) is less than this, the Gram matrix is diagonalised exactly")

    @property
    def diameter(self) -> ArrayLike:
        """The Frobenius norm of the difference of two opposite rank-one matrices of norm `radius`."""
        return 2.0 * points.as_floats(self.radius)

    def zero(self, shape: Shape) -> jax.Array:
        """Return the centre `[m, n]`."""
        return points.zeros(shape)

    def center(self, shape: Shape) -> jax.Array:
        return points.zeros(shape)

    def inner_radius(self, shape: tuple[int, int]) -> ArrayLike:
        """Return `radius / sqrt(min(m, n))`, the Frobenius norm of the boundary points nearest to the centre."""
        return self.radius / min(shape) ** 0.5

    def outer_radius(self, shape: tuple[int, int]) -> ArrayLike:
        del shape
        return self.radius

    def lmo(self, direction: jax.Array, guess: WarmStart | None = None) -> tuple[jax.Array, WarmStart | None]:
        """Return `argmin_{||V||_* <= radius} <direction, V>` `[m, n]`, and the guess for the next call.

        The minimiser is -radius u v' for the top singular pair u, v; it is 0 if the direction is 0. If the pair is
        computed exactly, the guess is returned unchanged.
        """
        if min(direction.shape) < self.exact_below:
            left, right = _exact_pair(direction)
        else:
            left, right, residual = _krylov_pair(direction, self.iterations, guess)
            guess = WarmStart(right, residual)
        return jnp.outer((-jnp.asarray(points.as_floats(self.radius))) * left, right), guess

    def project(self, x: jax.Array) -> jax.Array:
        """Return the Frobenius-norm projection `[m, n]`, computed by projecting the singular values on the simplex."""
        left, values, right = jnp.linalg.svd(x, full_matrices=False)
        shrunk = project_simplex(values, self.radius)
        return jnp.where(jnp.sum(values) <= self.radius, x, (left * shrunk) @ right)


def top_singular_value(c: jax.Array, key: jax.Array, iterations: int = 60) -> jax.Array:
    """Return a lower bound `[]` on the largest singular value of `c` [m, n], by `2 iterations` products with vectors.

    The iteration starts from a random vector and uses no guess. With probability 1 - p the bound is at least
    `sqrt(1 - e)` times the true value for `e = (ln(1.648 sqrt(n) / p) / (2 iterations - 1))^2` (Kuczynski &
    Wozniakowski 1992, Theorem 4.1), and for most matrices it is far closer.
    """
    start = WarmStart(_unit(jax.random.normal(key, (c.shape[1],), c.dtype)), jnp.zeros((), c.dtype))
    left, right, _ = _krylov_pair(c, iterations, start)
    return left @ (c @ right)


def _exact_pair(c: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return unit vectors u [m] and v [n] of the top singular pair, up to a common sign; u = 0 if c = 0."""
    scaled = c / jnp.maximum(jnp.max(jnp.abs(c)), _tiny(c))  # avoids overflow and underflow of squares
    tall = scaled if c.shape[0] >= c.shape[1] else scaled.T
    right = jnp.linalg.eigh(tall.T @ tall)[1][:, -1]
    left = _unit(tall @ right)
    return (left, right) if c.shape[0] >= c.shape[1] else (right, left)


def _krylov_pair(c: jax.Array, iterations: int, guess: WarmStart | None) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return unit vectors u [m] and v [n] with the largest u'Cv in a Krylov space of C'C, and the residual.

    If C = 0, then u = 0. This is Golub-Kahan-Lanczos bidiagonalisation as a Rayleigh-Ritz method: for a matrix V of
    orthonormal columns, the best v is V q, where q is the top eigenvector of (CV)'(CV). The last product C'u gives the
    residual and a better v for the same u. All products have the form `c @ v` or `u @ c`, because XLA:CPU evaluates
    `c.T @ u` by copying the transposed matrix.
    """
    fixed = _unit(jnp.asarray(np.random.default_rng(0).standard_normal(c.shape[1]), c.dtype))
    # Directions that are absent from the start are never found, so a small multiple of a fixed random vector is added.
    first = fixed if guess is None else _unit(guess.right + 1e-3 * fixed)
    image = c @ first
    # Scaling the images avoids overflow and underflow of squares without a copy of c.
    scale = 1.0 / jnp.maximum(jnp.max(jnp.abs(image)), _tiny(c))
    # min(m + 1, n) vectors span a space that contains the row space of c.
    size = min(iterations, c.shape[0] + 1, c.shape[1])

    def first_row(row: jax.Array) -> jax.Array:
        return jnp.zeros((size, len(row)), c.dtype).at[0].set(row)

    def extend(k: jax.Array, space: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        right, images = space  # [K, n] orthonormal rows, and their images [K, m]; rows k, k + 1, ... are 0
        new = scale * (images[k - 1] @ c)
        for _ in range(2):  # twice is enough, even if only rounding errors remain
            new = _unit(new - (right @ new) @ right)
        return right.at[k].set(new), images.at[k].set(scale * (c @ new))

    right, images = fori_loop(1, size, extend, (first_row(first), first_row(image * scale)))
    mix = jnp.linalg.eigh(images @ images.T)[1][:, -1]
    value, before = _norm(mix @ images), mix @ right
    left = (mix @ images) / jnp.maximum(value, _tiny(c))
    after = scale * (left @ c)
    residual = _norm(after - value * before) / jnp.maximum(value, _tiny(c))
    return left, jnp.where(value > 0.0, _unit(after), first), residual


def _norm(x: jax.Array) -> jax.Array:
    return jnp.sqrt(jnp.sum(x * x))


def _unit(x: jax.Array) -> jax.Array:
    return x / jnp.maximum(_norm(x), _tiny(x))


def _tiny(x: jax.Array) -> ArrayLike:
    return jnp.finfo(x.dtype).tiny
