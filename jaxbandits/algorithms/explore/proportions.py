"""Optimal proportions of plays that identify the best of K Bernoulli arms (Garivier & Kaufmann, COLT 2016, Theorem 5).

    w*     = argmax_w min_{b != a} inf over means where b beats a of sum_i w_i kl(mu_i, .),   a the best arm
    w*_b   proportional to x_b,   x_a = 1;   s_b = x_b / (1 + x_b),   m_b = mu_a - s_b (mu_a - mu_b)
    g_b(s) = kl(mu_a, m_b) + x_b kl(mu_b, m_b) = y for all b,   F(y) = sum_b kl(mu_a, m_b) / kl(mu_b, m_b) = 1

Here $g_b$ is nearly linear in s, and $sqrt(F) / (1 + sqrt(F))$ is nearly linear in y (exactly linear if $K = 2$ and kl
is replaced by a square), so that a few Newton steps suffice. The paper uses bisection.
"""

import jax
import jax.numpy as jnp

from jaxbandits.numerics import bernoulli, first_axis
from jaxbandits.tracing.batching import fori_loop

_CLIP = 1e-6  # means are kept away from 0 and 1, where kl is infinite


def optimal_proportions(mean: jax.Array) -> jax.Array:
    """Return the optimal proportions w* `[K]` for means `[K]`; w* is uniform on the best arms if there are several.

    In float64, w* agrees with a solution by bisection to a relative accuracy of 1e-6
    (algorithms/explore/test_explore.py::test_optimal_proportions_against_bisection).
    """
    steps, inner = (6, 3) if mean.dtype == jnp.float32 else (8, 4)
    mean = jnp.clip(mean, _CLIP, 1.0 - _CLIP)
    best = first_axis.argmax(mean)
    top = jnp.full_like(mean, mean[best])
    gap = top - mean
    limit = bernoulli.divergence(top, -gap)  # [K]  g_b(1)
    is_best = limit <= jnp.finfo(mean.dtype).tiny
    limit = jnp.where(is_best, jnp.inf, limit)
    most = jnp.min(limit)
    most = jnp.where(most < jnp.inf, most, 1.0)

    def parts(s: jax.Array) -> tuple[jax.Array, jax.Array]:
        over = bernoulli.divergence(top, -s * gap)
        under = bernoulli.divergence(mean, (1.0 - s) * gap)
        return over, jnp.where(is_best, 1.0, under)

    def solve(s: jax.Array, y: jax.Array) -> jax.Array:
        def newton(_: jax.Array, s: jax.Array) -> jax.Array:
            over, under = parts(s)
            excess = over + s / (1.0 - s) * under - y
            return jnp.clip(s - excess * jnp.square(1.0 - s) / under, 0.0, 1.0 - 1e-6)

        return fori_loop(0, inner, newton, s)

    def improve(_: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        s, y = carry
        s = solve(s, y)
        over, under = parts(s)
        m = top - s * gap
        root = jnp.sqrt(jnp.sum(jnp.where(is_best, 0.0, over / under)))
        slope = jnp.square(gap * (1.0 - s)) / (m * (1.0 - m)) * (s * under + (1.0 - s) * over) / (under * under * under)
        slope = jnp.sum(jnp.where(is_best, 0.0, slope))  # F'
        # Newton's step for root / (1 + root) = 1 / 2
        step = (root - 1.0) * (1.0 + root) * root / jnp.where(slope > 0.0, slope, 1.0)
        return s, jnp.clip(y - step, 0.1 * y, y + 0.9 * (most - y))

    s, y = fori_loop(0, steps, improve, (0.5 * most / limit, 0.5 * most))
    s = solve(s, y)
    odds = jnp.where(jnp.arange(len(mean)) == best, 1.0, jnp.where(is_best, 0.0, s / (1.0 - s)))
    n_best = jnp.sum(is_best)
    return jnp.where(n_best > 1, is_best * (1.0 / n_best), odds * (1.0 / jnp.sum(odds)))
