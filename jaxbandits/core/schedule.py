"""What grows with the round t."""

import jax
import jax.numpy as jnp

from jaxbandits.core.pytree import ArrayLike


def power(t: ArrayLike, exponent: jax.Array) -> jax.Array:
    """`t^exponent`, with t = 0 read as 1, to stay finite where it is not used.

    The logarithm is of the round, which all trials share: under `vmap` a trial pays for one exponential.

    Args:
      t: integer, >= 0.
      exponent: a floating array; the result has its type.
    """
    return jnp.exp(exponent * jnp.log(jnp.maximum(t, 1).astype(exponent.dtype)))
