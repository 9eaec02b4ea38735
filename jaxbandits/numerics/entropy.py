"""Entropic mirror descent steps on the simplex with one step size per coordinate, in log space.

The regulariser is `phi(p) = sum_i p_i ln(p_i) / rate_i`. The mirror descent step from q with the loss vector l,

    argmin_p <p, l> + D_phi(p, q)     over the simplex,

is `p_i = q_i exp(-rate_i (l_i + nu))`, where the multiplier nu makes p sum to one. Steps are additive in log space:
after the losses l_1, l_2, ... the weights are `p_i = q_i exp(-rate_i (sum_s l_s + sum_s nu_s))`. A learner may
therefore store the sum of its losses instead of its weights, and compute a single multiplier when it makes a decision.
With equal rates the step is a softmax.

A coordinate with `log q = -inf` is excluded. The logarithms of the weights are computed, because exponentials may
overflow in float32 if the rates span a factor of 2^15.
"""

from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics import elementary, first_axis
from jaxbandits.tracing.batching import while_loop

# A safeguard: with rates that span a factor of 2^15, at most 13 steps were observed from the lower bound, and 5 from a
# start near the root.
_MAX_STEPS = 64


def entropic_step(
    log_q: jax.Array, loss: jax.Array, rate: ArrayLike, start: ArrayLike | None = None
) -> tuple[jax.Array, jax.Array]:
    """Return `log p` for `p = argmin_p <p, loss> + D_phi(p, q)` over the simplex, and the multiplier nu.

    nu is the root of `F(nu) = logsumexp(log q - rate (loss + nu))`, a convex and decreasing function. Newton's method
    approaches the root monotonically from the left; from a start to the right of the root, its first step leads to the
    left. Under `vmap` the loop runs until the slowest trial of the batch is done.

    Args:
      log_q: `[K]` logarithms of the weights q, which need not be normalised; -inf excludes a coordinate.
      loss: `[K]` loss vector, finite.
      rate: step sizes `[K]` or a scalar, > 0.
      start: a guess of nu, such as the multiplier of the previous step. None: Newton's method starts from `-max(loss)`,
        which is a lower bound on nu if q sums to one.

    Returns:
      `log p` `[K]`, normalised, and nu `[]`.
    """
    eps = jnp.finfo(loss.dtype).eps
    rate = jnp.broadcast_to(jnp.asarray(rate, loss.dtype), loss.shape)
    active, log_q, loss, size, lowest = _problem(log_q, loss, rate)

    def is_unsolved(carry):
        _, value, step, rounding, count = carry
        return (jnp.abs(value) > 8.0 * eps) & (jnp.abs(step) > rounding) & (count < _MAX_STEPS)

    def newton(carry):
        nu, _, step, _, count = carry
        nu = nu + step
        value, step, weighed = _excess(nu, active, log_q, loss, rate, size)
        return nu, value, step, 2.0 * eps * (jnp.abs(nu) + weighed), count + 1

    nu = lowest if start is None else jnp.asarray(start, loss.dtype)
    # A first step of length 0 evaluates F(start) inside the loop: the program holds one copy of `_excess`, not two.
    init = (nu, jnp.full_like(nu, jnp.inf), jnp.zeros_like(nu), jnp.full_like(nu, -1.0), -1)
    nu, value, *_ = while_loop(is_unsolved, newton, init, _MAX_STEPS + 1)
    return _weights(nu, value, active, log_q, loss, rate), nu


def _problem(log_q: jax.Array, loss: jax.Array, rate: jax.Array) -> tuple[jax.Array, ...]:
    """Prepare the problem for Newton's method.

    Returns:
      The mask of the coordinates that are not excluded, log q and the loss with zeros at the excluded coordinates, the
      magnitude of the terms of the exponent (which cancel at the root), and a lower bound on the root.
    """
    active = log_q > -jnp.inf
    lowest = -first_axis.max(jnp.where(active, loss, -jnp.inf))
    log_q, loss = jnp.where(active, log_q, 0.0), jnp.where(active, loss, 0.0)
    return active, log_q, loss, jnp.abs(log_q) + rate * jnp.abs(loss), lowest


def _excess(
    nu: jax.Array, active: jax.Array, log_q: jax.Array, loss: jax.Array, rate: jax.Array, size: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return F(nu), the Newton step F(nu) / <softmax, rate>, and the rounding error of the step in units of eps."""
    log_p = jnp.where(active, log_q - rate * (loss + nu), -jnp.inf)
    top = first_axis.max(log_p)
    p = elementary.exp(log_p - top)
    total, slope = jnp.sum(p), jnp.sum(p * rate)
    value = top + elementary.log(total)
    return value, value * total / slope, jnp.sum(p * size) / slope


def _weights(nu: Any, value: object, active: Any, log_q: Any, loss: Any, rate: Any) -> jax.Array:
    return jnp.where(active, log_q - rate * (loss + nu) - value, -jnp.inf)
