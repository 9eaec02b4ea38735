"""Entropic steps on the simplex with a step size of its own for every coordinate, in log space.

The regulariser is `phi(p) = sum_i p_i ln(p_i) / rate_i`. Its mirror step from q on the loss l,

    argmin_p <p, l> + D_phi(p, q)     over the simplex,

is `p_i = q_i exp(-rate_i (l_i + nu))`, where the multiplier nu makes p sum to one. Steps add up: after the losses l_1,
l_2, ... one has `p_i = q_i exp(-rate_i (sum_s l_s + sum_s nu_s))`, so that a learner may keep the sum of its losses in
place of its weights and pay for one multiplier only when it plays. With equal rates this is a softmax.

Excluded coordinates have `log q = -inf`. Rates that span 2^15 make a bare exp overflow in float32: everything stays in
logarithms until weights are asked for.
"""

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.core.pytree import ArrayLike

_MAX_STEPS = 64  # a guard: 13 is the worst case measured from the lower bound with rates that span 2^15, 5 from nearby


def entropic_step(
    log_q: jax.Array, loss: jax.Array, rate: ArrayLike, start: ArrayLike | None = None
) -> tuple[jax.Array, jax.Array]:
    """`log` of `argmin_p <p, loss> + D_phi(p, q)` over the simplex, and the multiplier nu.

    nu is the root of `F(nu) = logsumexp(log q - rate (loss + nu))`, convex and decreasing. Newton's method goes there
    monotonically from the left; from the right its first step lands on the left. The loop is a `while_loop`: under
    `vmap` it runs as often as the worst trial of the piece needs.

    Args:
      log_q: `[K]`; -inf excludes a coordinate. Need not be normalised.
      loss: `[K]`, finite.
      rate: `[K]` or a scalar, > 0.
      start: a guess of nu, such as the multiplier of the step before; None: the lower bound, `-max(loss)` for a q that
        sums to one.

    Returns:
      `log p` `[K]`, normalised, and nu `[]`.
    """
    active = log_q > -jnp.inf
    rate = jnp.broadcast_to(jnp.asarray(rate, loss.dtype), loss.shape)
    log_q, loss = jnp.where(active, log_q, 0.0), jnp.where(active, loss, 0.0)
    largest = jnp.max(jnp.where(active, loss, -jnp.inf))
    eps = jnp.finfo(loss.dtype).eps
    size = jnp.abs(log_q) + rate * jnp.abs(loss)  # what cancels in the exponent at the root

    def excess(nu: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """F(nu), the step of Newton's method F(nu) / <softmax, rate>, and the rounding error of that step."""
        log_p = jnp.where(active, log_q - rate * (loss + nu), -jnp.inf)
        top = jnp.max(log_p)
        p = jnp.exp(log_p - top)
        total, slope = jnp.sum(p), jnp.sum(p * rate)
        value = top + jnp.log(total)
        return value, value * total / slope, 2.0 * eps * (jnp.abs(nu) + jnp.sum(p * size) / slope)

    def unsolved(carry):
        _, value, step, rounding, count = carry
        return (jnp.abs(value) > 8.0 * eps) & (jnp.abs(step) > rounding) & (count < _MAX_STEPS)

    def newton(carry):
        nu, _, step, _, count = carry
        nu = nu + step
        return nu, *excess(nu), count + 1

    nu = -largest if start is None else jnp.asarray(start, loss.dtype)
    # A first step of length 0 evaluates F(start) inside the loop: the program holds one copy of `excess`, not two.
    begin = (nu, jnp.full_like(nu, jnp.inf), jnp.zeros_like(nu), jnp.full_like(nu, -1.0), -1)
    nu, value, *_ = lax.while_loop(unsolved, newton, begin)
    return jnp.where(active, log_q - rate * (loss + nu) - value, -jnp.inf), nu


def hedge_step(log_q: jax.Array, loss: jax.Array, rate: ArrayLike) -> jax.Array:
    """`entropic_step` for one common rate: `log_softmax(log q - rate loss)`, without a multiplier to solve for.

    Args:
      log_q: `[K]`; -inf excludes a coordinate.
      loss: `[K]`, finite.
      rate: `[]`, > 0.
    """
    log_p = jnp.where(log_q > -jnp.inf, log_q - rate * loss, -jnp.inf)
    top = jnp.max(log_p)
    return log_p - (top + jnp.log(jnp.sum(jnp.exp(log_p - top))))
