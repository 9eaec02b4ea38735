"""Entropic steps on the simplex with a step size of its own for every coordinate, in log space.

The regulariser is `phi(p) = sum_i p_i ln(p_i) / rate_i`. Its mirror step from q on the loss l,

    argmin_p <p, l> + D_phi(p, q)     over the simplex,

is `p_i = q_i exp(-rate_i (l_i + nu))`, where the multiplier nu makes p sum to one. Steps add up: after the losses l_1,
l_2, ... one has `p_i = q_i exp(-rate_i (sum_s l_s + sum_s nu_s))`, so that a learner may keep the sum of its losses in
place of its weights and pay for one multiplier only when it plays. With equal rates this is a softmax.

Excluded coordinates have `log q = -inf`. Rates that span 2^15 make a bare exp overflow in float32: everything stays in
logarithms until weights are asked for.
"""

from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics import elementary, first_axis
from jaxbandits.tracing.batching import while_loop

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
    eps = jnp.finfo(loss.dtype).eps
    rate = jnp.broadcast_to(jnp.asarray(rate, loss.dtype), loss.shape)
    active, log_q, loss, size, lowest = _problem(log_q, loss, rate)

    def unsolved(carry):
        _, value, step, rounding, count = carry
        return (jnp.abs(value) > 8.0 * eps) & (jnp.abs(step) > rounding) & (count < _MAX_STEPS)

    def newton(carry):
        nu, _, step, _, count = carry
        nu = nu + step
        value, step, weighed = _excess(nu, active, log_q, loss, rate, size)
        return nu, value, step, 2.0 * eps * (jnp.abs(nu) + weighed), count + 1

    nu = lowest if start is None else jnp.asarray(start, loss.dtype)
    # A first step of length 0 evaluates F(start) inside the loop: the program holds one copy of `_excess`, not two.
    begin = (nu, jnp.full_like(nu, jnp.inf), jnp.zeros_like(nu), jnp.full_like(nu, -1.0), -1)
    nu, value, *_ = while_loop(unsolved, newton, begin, _MAX_STEPS + 1)
    return _weights(nu, value, active, log_q, loss, rate), nu


def _problem(log_q: jax.Array, loss: jax.Array, rate: jax.Array) -> tuple[jax.Array, ...]:
    """Who takes part, log q and loss without the others, what cancels in the exponent at the root, and its bound."""
    active = log_q > -jnp.inf
    lowest = -first_axis.max(jnp.where(active, loss, -jnp.inf))
    log_q, loss = jnp.where(active, log_q, 0.0), jnp.where(active, loss, 0.0)
    return active, log_q, loss, jnp.abs(log_q) + rate * jnp.abs(loss), lowest


def _excess(
    nu: jax.Array, active: jax.Array, log_q: jax.Array, loss: jax.Array, rate: jax.Array, size: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """F(nu), the step of Newton's method F(nu) / <softmax, rate>, and what rounding it may hold, over eps."""
    log_p = jnp.where(active, log_q - rate * (loss + nu), -jnp.inf)
    top = first_axis.max(log_p)
    p = elementary.exp(log_p - top)
    total, slope = jnp.sum(p), jnp.sum(p * rate)
    value = top + elementary.log(total)
    return value, value * total / slope, jnp.sum(p * size) / slope


def _weights(nu: Any, value: Any, active: Any, log_q: Any, loss: Any, rate: Any) -> jax.Array:
    return jnp.where(active, log_q - rate * (loss + nu) - value, -jnp.inf)


def hedge_step(log_q: jax.Array, loss: jax.Array, rate: ArrayLike) -> jax.Array:
    """`entropic_step` for one common rate: `log_softmax(log q - rate loss)`, without a multiplier to solve for.

    Args:
      log_q: `[K]`; -inf excludes a coordinate.
      loss: `[K]`, finite.
      rate: `[]`, > 0.
    """
    log_p = jnp.where(log_q > -jnp.inf, log_q - rate * loss, -jnp.inf)
    return log_p - first_axis.logsumexp(log_p)
