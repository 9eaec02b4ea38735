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
    """Start of the next Lanczos iteration, and the accuracy of the answer that came with it."""

    right: jax.Array  # [n]  a unit vector near the top right singular vector
    residual: jax.Array  # []  ||C'u - s v|| / s of the pair before its last improvement; 0 for C = 0


@pytree
class NuclearBall:
    """`{X in R^{m x n}: sum of singular values <= radius}`; points are arrays `[m, n]`.

    The linear oracle needs one pair of singular vectors where the projection needs them all: the standard reason to be
    projection-free. For min(m, n) < `exact_below` the pair is exact. Above, it is the best one of a Krylov space of
    `iterations` vectors, kept orthogonal, that starts from the right vector of the previous answer: 2 `iterations`
    products of the direction with a vector, and nothing else of its size. What is returned is a point of the ball in
    any case. How good it is: the value `<direction, V>` lies within `radius residual s` of the one that a nearby
    singular value s would give, with the `residual` that travels in the guess. A residual says nothing about singular
    vectors orthogonal to all that was met; a trace of a fixed vector in every start makes those unlikely to last.
    `top_singular_value` asks independently (docs/rates.md has figures at 943 x 1682).

    The answer is formed from its two vectors where it is used, so that `x + sigma (V - x)` is one rank-one update.
    """

    radius: ArrayLike = param(1.0, "(0, inf)", "radius tau")
    iterations: int = static(6, "[1, inf)", "vectors of the Krylov space; each costs two products")
    exact_below: int = static(64, "[1, inf)", "an eigendecomposition of the Gram matrix up to this smaller side")

    @property
    def diameter(self) -> ArrayLike:
        """Frobenius norm of the difference of two opposite rank-one matrices."""
        return 2.0 * self.radius

    def zero(self, shape: Shape) -> jax.Array:
        """Return the centre `[m, n]`."""
        return points.zeros(shape)

    def center(self, shape: Shape) -> jax.Array:
        return points.zeros(shape)

    def inner_radius(self, shape: tuple[int, int]) -> ArrayLike:
        """Return `radius / sqrt(min(m, n))`, where all singular values are equal."""
        return self.radius / min(shape) ** 0.5

    def outer_radius(self, shape: tuple[int, int]) -> ArrayLike:
        del shape
        return self.radius

    def lmo(self, direction: jax.Array, guess: WarmStart | None = None) -> tuple[jax.Array, WarmStart | None]:
        """Return `[m, n]` `argmin_{||V||_* <= radius} <direction, V>`.

        It is -radius u v' for the top singular pair u, v, and 0 for 0.

        The guess is None where the pair is exact.
        """
        if min(direction.shape) < self.exact_below:
            left, right = _exact_pair(direction)
        else:
            left, right, residual = _krylov_pair(direction, self.iterations, guess)
            guess = WarmStart(right, residual)
        return jnp.outer((-jnp.asarray(self.radius)) * left, right), guess

    def project(self, x: jax.Array) -> jax.Array:
        """Return the nearest point `[m, n]` of the ball (Frobenius): singular values projected on the simplex."""
        left, values, right = jnp.linalg.svd(x, full_matrices=False)
        shrunk = project_simplex(values, self.radius)
        return jnp.where(jnp.sum(values) <= self.radius, x, (left * shrunk) @ right)


def top_singular_value(c: jax.Array, key: jax.Array, iterations: int = 60) -> jax.Array:
    """Return the largest singular value `[]` of `c` [m, n] from a random start, from below; 2 `iterations` products.

    Independent of any guess. With probability 1 - p it is at least `sqrt(1 - e)` of the true one for
    `e = (ln(1.648 sqrt(n) / p) / (2 iterations - 1))^2` (Kuczynski & Wozniakowski 1992, Theorem 4.1), and far closer on
    most matrices.
    """
    start = WarmStart(_unit(jax.random.normal(key, (c.shape[1],), c.dtype)), jnp.zeros((), c.dtype))
    left, right, _ = _krylov_pair(c, iterations, start)
    return left @ (c @ right)


def _exact_pair(c: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Unit vectors u [m] and v [n] of the top singular pair; u = 0 for zero. Free of any sign convention."""
    scaled = c / jnp.maximum(jnp.max(jnp.abs(c)), _tiny(c))  # keeps its squares in range
    tall = scaled if c.shape[0] >= c.shape[1] else scaled.T
    right = jnp.linalg.eigh(tall.T @ tall)[1][:, -1]
    left = _unit(tall @ right)
    return (left, right) if c.shape[0] >= c.shape[1] else (right, left)


def _krylov_pair(c: jax.Array, iterations: int, guess: WarmStart | None) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Unit vectors u [m], v [n] with the largest u'Cv of a Krylov space of C'C, and the residual; u = 0 for zero.

    Golub-Kahan-Lanczos bidiagonalisation in the form of Rayleigh and Ritz: with orthonormal V, the best v = V q has the
    top eigenvector q of (CV)'(CV). The last product C'u gives the residual, and a better v for the same u.
    Products are `c @ v` and `u @ c`: XLA:CPU turns `c.T @ u` into a transposed copy.
    """
    fixed = _unit(jnp.asarray(np.random.default_rng(0).standard_normal(c.shape[1]), c.dtype))
    # What a guess lacks it cannot find: a trace of a fixed vector, orthogonal to nothing likely, stays in it.
    first = fixed if guess is None else _unit(guess.right + 1e-3 * fixed)
    image = c @ first
    scale = 1.0 / jnp.maximum(jnp.max(jnp.abs(image)), _tiny(c))  # keeps squares in range without a copy of c
    size = min(iterations, c.shape[0] + 1, c.shape[1])  # then the space holds all that c does not send to 0

    def first_row(row: jax.Array) -> jax.Array:
        return jnp.zeros((size, len(row)), c.dtype).at[0].set(row)

    def extend(k: jax.Array, space: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        right, images = space  # [K, n] orthonormal rows and [K, m] their images, rows from k on still 0
        new = scale * (images[k - 1] @ c)
        for _ in range(2):  # twice is enough, also where nothing but rounding is left
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
