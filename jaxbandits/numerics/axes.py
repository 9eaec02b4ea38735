"""Reductions over the first axis of an array, fast under `vmap` over trials: unrolled where the axis is short."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.numerics import elementary
from jaxbandits.numerics.linalg import UNROLLED
from jaxbandits.tracing import short_axes
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.batching import trials_last


def _reduced(
    x: jax.Array, pair: Callable[[jax.Array, jax.Array], jax.Array], whole: Callable[..., jax.Array]
) -> jax.Array:
    return whole(x, axis=0) if x.shape[0] > UNROLLED else functools.reduce(pair, list(x))


def _larger(a: jax.Array, b: jax.Array) -> jax.Array:
    """One instruction: `jnp.maximum` takes three, for the sake of NaN."""
    return jnp.where(b > a, b, a)


@trials_last
def largest(x: jax.Array) -> jax.Array:
    """`[n, ...]` to `[...]`: the maximum over the first axis, of numbers without NaN."""
    return _reduced(x, _larger, jnp.max)


@trials_last
def first_largest(x: jax.Array) -> jax.Array:
    """`[n, ...]` to `[...]` int32: the index of the first of the largest, of numbers without NaN.

    `jnp.argmax` looks for NaN in every comparison.
    """
    (x,) = barrier([x])
    return short_axes.first_extreme(lax.gt, x, 0, jnp.int32)


@trials_last
def log_sum_exp(x: jax.Array) -> jax.Array:
    """`[n, ...]` to `[...]`: the logarithm of the sum of exponentials over the first axis."""
    top = _reduced(x, _larger, jnp.max)
    return top + elementary.log(barrier(_reduced(elementary.exp(x - top), jnp.add, jnp.sum)))
