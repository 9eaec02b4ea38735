"""Reductions over the first axis of an array; short axes are unrolled, which is fast under `vmap` over trials."""

import functools

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.numerics.linalg import UNROLLED
from jaxbandits.tracing import short_axes
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.batching import trials_last


def _maximum(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return the larger number; this takes one instruction, whereas `jnp.maximum` takes three to propagate NaN."""
    return jnp.where(b > a, b, a)


@trials_last
def max(x: jax.Array) -> jax.Array:
    """Return the maximum `[...]` over the first axis of an array `[n, ...]` without NaN."""
    return jnp.max(x, axis=0) if x.shape[0] > UNROLLED else functools.reduce(_maximum, list(x))


@trials_last
def argmax(x: jax.Array) -> jax.Array:
    """Return the index `[...]` int32 of the first maximum along the first axis of an array `[n, ...]` without NaN.

    This function is faster than `jnp.argmax`, which checks for NaN in every comparison.
    """
    (x,) = barrier([x])
    return short_axes.argextreme(lax.gt, x, 0, jnp.int32)


@trials_last
def argmin(x: jax.Array) -> jax.Array:
    """Return the index `[...]` int32 of the first minimum along the first axis of an array `[n, ...]` without NaN."""
    if x.shape[0] > UNROLLED:
        return jnp.argmin(x, axis=0).astype(jnp.int32)
    least, index = x[0], jnp.zeros(x.shape[1:], jnp.int32)
    for k in range(1, x.shape[0]):
        index = jnp.where(x[k] < least, k, index)
        least = jnp.minimum(least, x[k])
    return index
