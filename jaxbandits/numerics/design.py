"""Near-optimal designs: weights on the arms that nearly minimise the largest variance of an estimated mean reward.

    V(w)  = sum_k w_k x_k x_k',   g(w) = max_k x_k'V(w)^{-1} x_k >= d   for weights w with sum 1

Equality holds for the D-optimal weights, which maximise det V(w) (Kiefer and Wolfowitz). If the arms span only r < d
dimensions, the design is computed in their span, where the lower bound on g is r.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.numerics import first_axis, linalg
from jaxbandits.numerics.linalg import Symmetric
from jaxbandits.tracing import batching
from jaxbandits.tracing.vmap_last import vmap_last


class Design(NamedTuple):
    """Weights of a design on K arms, with the largest variance of an arm's estimated mean reward."""

    weights: jax.Array  # [K]  w, with sum 1
    largest: jax.Array  # []  g(w)
    complement: Symmetric  # [d, d]  projection onto the orthogonal complement of the arms; 0 if they span R^d


def optimal_design(arms: jax.Array, steps: int) -> Design:
    """Return a near-optimal design, by the Frank-Wolfe method with exact line search (Fedorov 1972; Wynn 1970).

    The method starts from equal weights on the arms that Gram-Schmidt orthogonalisation with pivoting selects: the next
    arm is the arm with the longest remainder after the projections onto the selected arms are removed. Each of the
    `steps` steps then moves a share $(g / r - 1) / (g - 1)$ of the weight to the arm with the largest variance, so that
    at most r + steps arms have positive weight. A remainder shorter than 4 sqrt(eps) times the longest arm (1.4e-3
    times in float32, 6e-8 times in float64) is treated as 0, because the Gram matrix would be numerically singular.

    Args:
      arms: `[K, d]` feature vectors, not all of which are 0; a zero vector never receives weight.
      steps: number of steps (static); with 4 d steps, g(w) is below 2 r for the arm sets of
        tests/numerics/test_design.py.
    """
    n_arms, dim = arms.shape
    ranks, columns = jnp.arange(n_arms), arms.T

    def pick(_: jax.Array, carry: tuple) -> tuple:
        rest, complement, weights, longest = carry
        square = jnp.sum(rest * rest, axis=1)
        index = first_axis.argmax(square)
        length_sq = square[index]
        longest = jnp.maximum(longest, length_sq)
        is_new = length_sq > 16.0 * jnp.finfo(arms.dtype).eps * longest
        unit = jnp.where(is_new, rest[index] / jnp.sqrt(jnp.where(is_new, length_sq, 1.0)), 0.0)
        rest = rest - jnp.outer(rest @ unit, unit)
        weights = jnp.where((ranks == index) & is_new, 1.0, weights)
        return rest, complement - jnp.outer(unit, unit), weights, longest

    start = (arms, jnp.eye(dim, dtype=arms.dtype), jnp.zeros(n_arms, arms.dtype), jnp.zeros((), arms.dtype))
    _, complement, weights, _ = batching.fori_loop(0, dim, pick, start)
    rank = jnp.maximum(jnp.sum(weights), 1.0)

    def variances(weights: jax.Array) -> jax.Array:
        gram = jnp.einsum("ik,jk->ij", columns * weights, columns)
        images = vmap_last(linalg.solve, (None, -1))(linalg.factor(gram + complement), columns)
        return jnp.sum(columns * images, axis=0)

    def step(_: jax.Array, weights: jax.Array) -> jax.Array:
        variance = variances(weights)
        index = first_axis.argmax(variance)
        largest = variance[index]
        share = jnp.maximum(largest / rank - 1.0, 0.0) / jnp.maximum(largest - 1.0, 1e-6)
        return (1.0 - share) * weights + jnp.where(ranks == index, share, 0.0)

    weights = batching.fori_loop(0, steps, step, weights / rank)
    return Design(weights, jnp.max(variances(weights)), complement)
