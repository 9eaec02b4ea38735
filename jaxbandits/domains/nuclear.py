"""The nuclear-norm (trace-norm) ball `{||X||_* <= radius}` of matrices: the convex hull of rank-one matrices."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from jaxbandits.core.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains import points
from jaxbandits.domains.points import Shape

_EXACT_SIDE = 64  # up to this smaller side, an eigendecomposition of the Gram matrix costs less than the power method


@pytree
class NuclearBall:
    """`{X in R^{m x n}: sum of singular values <= radius}`; points are arrays `[m, n]`.

    The linear oracle needs one pair of singular vectors where the projection needs them all: the standard reason to be
    projection-free. Up to min(m, n) = 64 the pair is exact; above, it comes from `iterations` steps of the power method
    from a fixed vector, so that the answer is a point of the ball whose value is close to the best (943 x 1682, dense
    uniform entries: 0.977 of it after 20 steps, 0.997 after 50; low rank: all of it after 5).
    """

    radius: ArrayLike = param(1.0, "(0, inf)", "radius tau")
    iterations: int = static(50, "[1, inf)", "steps of the power method, used when min(m, n) > 64")

    @property
    def diameter(self) -> ArrayLike:
        """Frobenius norm of the difference of two opposite rank-one matrices."""
        return 2.0 * self.radius

    def zero(self, shape: Shape) -> jax.Array:
        """`[m, n]` the centre."""
        return points.zeros(shape)

    def lmo(self, direction: jax.Array, guess: jax.Array | None = None) -> tuple[jax.Array, jax.Array | None]:
        """`[m, n]` `argmin_{||V||_* <= radius} <direction, V>`: -radius u v' of the top singular pair, and 0 for 0.

        The guess is the singular vector of the shorter side, from which the power method starts; None where it is not
        needed.
        """
        scaled = direction / jnp.maximum(jnp.max(jnp.abs(direction)), _tiny(direction))  # keeps its squares in range
        wide = scaled.shape[0] < scaled.shape[1]
        pair, guess = _top_pair(scaled.T if wide else scaled, self.iterations, guess)
        return (pair.T if wide else pair) * -jnp.asarray(self.radius), guess

    def project(self, x: jax.Array) -> jax.Array:
        """`[m, n]` the nearest point of the ball (Frobenius): singular values projected on the l1 ball."""
        left, values, right = jnp.linalg.svd(x, full_matrices=False)
        shrunk = optax.projections.projection_l1_ball(values, self.radius)
        return jnp.where(jnp.sum(values) <= self.radius, x, (left * shrunk) @ right)


def _top_pair(c: jax.Array, iterations: int, guess: jax.Array | None) -> tuple[jax.Array, jax.Array | None]:
    """`u v'` of the top singular pair of `c` [m, n] with m >= n, and v where it serves as a guess.

    Zero for zero, and free of any sign convention.
    """
    side = c.shape[1]
    if side <= _EXACT_SIDE:
        right, guess = jnp.linalg.eigh(c.T @ c)[1][:, -1], None  # [n]
    else:
        first = _unit(jnp.asarray(np.random.default_rng(0).standard_normal(side), c.dtype))
        # What a guess lacks it cannot find: a trace of the fixed vector, orthogonal to nothing likely, stays in it.
        first = first if guess is None else _unit(guess + 1e-3 * first)
        guess = right = lax.fori_loop(0, iterations, lambda _, v: _unit(c.T @ _unit(c @ v)), first)
    return jnp.outer(_unit(c @ right), right), guess


def _unit(x: jax.Array) -> jax.Array:
    return x / jnp.maximum(jnp.sqrt(jnp.sum(x * x)), _tiny(x))


def _tiny(x: jax.Array) -> ArrayLike:
    return jnp.finfo(x.dtype).tiny
