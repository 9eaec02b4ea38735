"""Normal, Student t, Pareto, Lomax and Fisk variates."""

import jax
import jax.numpy as jnp

from jaxbandits.base import trees
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics import elementary
from jaxbandits.numerics.elementary import sin_half_pi
from jaxbandits.numerics.rng.generator import random_words
from jaxbandits.numerics.rng.unit_interval import tail_and_angle


def normal(key: jax.Array) -> jax.Array:
    """Draw a standard normal variate by the Box-Muller method, with tails up to 7.5 standard deviations."""
    tail, angle = tail_and_angle(key)
    return jnp.sqrt(-2.0 * elementary.log_positive(tail)) * sin_half_pi(2.0 * angle - 1.0)


def normal_vector(key: jax.Array, dim: int) -> jax.Array:
    """Draw independent standard normal variates `[dim]`, which are equal to `normals(key, 1, dim)[0]`."""
    return trees.row(normals(key, 1, dim), 0)


def normals(key: jax.Array, count: int, dim: int) -> jax.Array:
    """Draw standard normal variates `[count, dim]` by the Box-Muller method, with tails up to 6.6 standard deviations.

    A block of 64 random bits gives two variates; the draw uses the first `count ceil(dim / 2)` blocks of the key.
    """
    pairs = (dim + 1) // 2
    high, low = random_words(key, jnp.arange(count * pairs))
    real = jnp.result_type(float)
    radius = jnp.sqrt(-2.0 * elementary.log_positive(((high >> 1).astype(real) + 0.5) * 2.0**-31))
    angle = ((low >> 8).astype(real) + 0.5) * 2.0**-23 - 1.0  # in quarter turns; the last bit selects the half-circle
    sine = radius * sin_half_pi(angle)
    cosine = radius * sin_half_pi(1.0 - jnp.abs(angle)) * jnp.where(low & 1, 1.0, -1.0)
    halves = [a.reshape(count, pairs) for a in (sine, cosine)]
    return jnp.concatenate(halves, axis=1)[:, :dim]


def student_t(key: jax.Array, df: ArrayLike) -> jax.Array:
    """Draw a Student t variate exactly, by Bailey's polar form (Math. Comp. 62, 1994).

    `df` is the number of degrees of freedom, positive and finite. On a CPU the method is 50 times as fast as dividing a
    normal variate by the root of a gamma variate. Tails are resolved down to a probability of 2^-41; in float32 values
    that far in the tail overflow if `df < 0.65`.
    """
    tail, angle = tail_and_angle(key)
    radius = jnp.sqrt(df * jnp.expm1(-2.0 / df * elementary.log_positive(tail)))
    # The sine of a uniform angle in (-pi/2, pi/2) has the same distribution as the cosine of a uniform angle.
    return radius * sin_half_pi(2.0 * angle - 1.0)


def pareto(key: jax.Array, shape: ArrayLike) -> jax.Array:
    """Draw a Pareto variate on [1, inf) with the survival function `x^-shape` and the mean `shape / (shape - 1)`."""
    return jnp.exp(-elementary.log_positive(tail_and_angle(key)[0]) / shape)


def lomax(key: jax.Array, shape: ArrayLike) -> jax.Array:
    """Draw a Lomax variate on [0, inf) with the survival function `(1 + x)^-shape` and the mean `1 / (shape - 1)`."""
    return jnp.expm1(-elementary.log_positive(tail_and_angle(key)[0]) / shape)


def fisk(key: jax.Array, shape: ArrayLike) -> jax.Array:
    """Draw a Fisk (log-logistic) variate on [0, inf) with the survival function `1 / (1 + x^shape)`.

    The mean is `(pi / shape) / sin(pi / shape)` for shape > 1. The logarithm of the variate has a symmetric
    distribution; its sign is drawn separately, so that both tails are finely resolved.
    """
    tail, angle = tail_and_angle(key)
    half = 0.5 * tail
    logit = elementary.log1p(-half) - elementary.log_positive(half)
    return jnp.exp(jnp.where(angle < 0.5, -logit, logit) / shape)
