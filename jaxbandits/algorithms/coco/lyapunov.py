"""Lyapunov surrogate of loss and violation, for learners that have time-varying constraints.

    Q_t = Q_{t-1} + g_t^+(x_t)                                           cumulative violation
    w_t = Phi'(beta Q_t),   Phi(x) = exp(lam x) - 1                      weight of the violation
    h_t = beta (gamma grad f_t(x_t) + w_t 1[g_t(x_t) > 0] grad g_t(x_t))

This module divides all quantities by beta gamma: with the weight $rho = w / gamma$, h' = grad f + rho 1[g > 0] grad g.
The iterates do not change if the step sizes are multiplied by beta gamma. This avoids numbers of the size of beta
gamma, which is 1e-10 for the constants of the theorems on a large domain.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.base import trees
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.domains import points
from jaxbandits.domains.points import Point
from jaxbandits.types import ConstrainedValue


class Lyapunov(NamedTuple):
    """Constants of the surrogate with `Phi(x) = exp(lam x) - 1`, for convex losses."""

    beta: ArrayLike  # []  scale of the violation
    gamma: ArrayLike  # []  weight of the loss
    lam: ArrayLike  # []  lambda, exponent of Phi

    def weight(self, queue: jax.Array) -> jax.Array:
        """Return rho = `Phi'(beta Q) / gamma` `[]`, the weight of the constraint relative to the loss.

        The exponent lam beta Q is clamped at 60 in float32 and at 600 in float64; `is_clamped` reports this.
        """
        exponent = jnp.minimum(queue * self.beta * self.lam, _largest_exponent(queue))
        return jnp.exp(exponent) * (self.lam / self.gamma)

    def is_clamped(self, queue: jax.Array) -> jax.Array:
        """Return whether the exponent lam beta Q is above the limit at which `weight` clamps it.

        The weight is then less than `Phi'(beta Q) / gamma`, and the theory does not cover the run.
        """
        return queue * self.beta * self.lam > _largest_exponent(queue)


class QuadraticLyapunov(NamedTuple):
    """Constants of the surrogate with `Phi(x) = x^2 + linear x`, for strongly convex losses."""

    beta: ArrayLike  # []  scale of the violation
    gamma: ArrayLike  # []  weight of the loss
    linear: ArrayLike  # []  1 (SCOFW-TVC) or 0

    def weight(self, queue: jax.Array) -> jax.Array:
        """Return rho = `Phi'(beta Q) / gamma` `[]`, the weight of the constraint relative to the loss."""
        return (2.0 * self.beta * queue + self.linear) / self.gamma


def surrogate_gradient(grad: Point, con: jax.Array, con_grad: Point, weight: jax.Array) -> Point:
    """Return h' = grad f + rho 1[g > 0] grad g `[d]`."""
    return points.add_scaled(grad, jnp.where(con > 0.0, weight, 0.0), con_grad)


def surrogate_values(feedback: ConstrainedValue, weight: jax.Array) -> list[jax.Array]:
    """Return the surrogate values f + rho g^+ `[]`, one for each queried point."""
    return [
        loss + weight * jnp.maximum(con, 0.0)
        for loss, con in (trees.row(feedback, k) for k in range(len(feedback.con)))
    ]


def double_until(level: jax.Array, target: ArrayLike) -> jax.Array:
    """Return the result of `while level < target: level *= 2` for a positive level, exactly and without a loop.

    The smallest power of two that is at least target / level follows from the binary form of this ratio: adding ones in
    all fraction bits raises the exponent by one unless the fraction was zero. (log2 and exp2 are not exact at powers of
    two.)
    """
    ratio = jnp.asarray(target / level, level.dtype)
    unsigned = jnp.uint32 if level.dtype == jnp.float32 else jnp.uint64
    fraction = unsigned((1 << jnp.finfo(level.dtype).nmant) - 1)
    power = lax.bitcast_convert_type((lax.bitcast_convert_type(ratio, unsigned) + fraction) & ~fraction, level.dtype)
    return level * jnp.maximum(power, 1.0)


def _largest_exponent(x: jax.Array) -> float:
    return 60.0 if x.dtype == jnp.float32 else 600.0
