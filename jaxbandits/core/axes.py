"""Reductions over the first axis of an array, fast under `vmap` over trials: unrolled where the axis is short."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxbandits.core import elementary
from jaxbandits.core.batching import trials_last
from jaxbandits.core.fusion import once
from jaxbandits.core.linalg import UNROLLED


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
def log_sum_exp(x: jax.Array) -> jax.Array:
    """`[n, ...]` to `[...]`: the logarithm of the sum of exponentials over the first axis."""
    top = _reduced(x, _larger, jnp.max)
    return top + elementary.log(once(_reduced(elementary.exp(x - top), jnp.add, jnp.sum)))
