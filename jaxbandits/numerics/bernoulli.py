"""Upper confidence bounds for Bernoulli means from the KL divergence, in a fixed number of Newton steps.

    kl(m, q) = m log(m / q) + (1 - m) log((1 - m) / (1 - q)),   upper(m, d) = max{q : kl(m, q) <= d}

With x = q - m, the root of kl = d is the root of g(x) = sqrt(2 kl(m, m + x)) - sqrt(2 d). The function g is nearly
linear, because kl is nearly a square. Newton's step for g is x <- x - 2 (kl - sqrt(kl d)) / kl', where
kl' = x / (q (1 - q)). The iteration starts from the smallest of three upper bounds on x, which follow from three lower
bounds on kl: Pinsker's bound 2 x^2, the bound x^2 / (2 q), and the bound that drops m log(1 / q).
"""

import jax
import jax.numpy as jnp

from jaxbandits.numerics import elementary


def divergence(mean: jax.Array, shift: jax.Array) -> jax.Array:
    """Return the KL divergence `kl(mean, mean + shift)` of Bernoulli distributions with these means; never negative.

    Here `0 log 0 = 0`.

    Args:
      mean: array of any shape, in [0, 1].
      shift: array of the same shape, in [-mean, 1 - mean].
    """
    tiny = jnp.finfo(mean.dtype).tiny
    left = 1.0 - mean
    below = mean * elementary.log1p(shift / jnp.maximum(mean, tiny))
    above = left * elementary.log1p(-shift / jnp.maximum(left, tiny))
    return jnp.maximum(-jnp.where(mean > 0.0, below, 0.0) - jnp.where(left > 0.0, above, 0.0), 0.0)


def lower(mean: jax.Array, level: jax.Array) -> jax.Array:
    """Return the smallest q in [0, mean] with `kl(mean, q) <= level`; the arguments are those of `upper`."""
    return 1.0 - upper(1.0 - mean, level)


def upper(mean: jax.Array, level: jax.Array) -> jax.Array:
    """Return the largest q in [mean, 1] with `kl(mean, q) <= level`.

    Over all means and levels from 1e-9 to 100 the error is below 1e-6 in float32 (three steps) and below 1e-13 in
    float64 (five steps), as numerics/test_bernoulli.py and float32/test_armed.py check.

    Args:
      mean: array of any shape, in [0, 1].
      level: array of the same shape, >= 0.
    """
    real = jnp.finfo(mean.dtype)
    left = 1.0 - mean  # upper bound on x
    below, above = jnp.maximum(mean, real.tiny), jnp.maximum(left, real.tiny)
    entropy = -mean * elementary.log(below) - left * elementary.log(above)
    pinsker = jnp.sqrt(0.5 * level)
    relative = level + jnp.sqrt(level * (level + 2.0 * mean))
    tail = left - elementary.exp(-(level + entropy) / above)
    most = left * (1.0 - 2.0 * real.eps)
    x = jnp.clip(jnp.minimum(jnp.minimum(pinsker, relative), tail), 0.0, most)
    for _ in range(3 if mean.dtype == jnp.float32 else 5):
        kl = jnp.maximum(-mean * elementary.log1p(x / below) - left * elementary.log1p(-x / above), 0.0)
        room = (mean + x) * (left - x)  # q (1 - q)
        step = 2.0 * (kl - jnp.sqrt(kl * level)) * room / jnp.where(x > 0.0, x, 1.0)
        x = jnp.clip(x - step, 0.0, most)
    return mean + x
