"""Powers of the round t and sums over rounds, for step sizes and radii."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.pytree import ArrayLike

_LISTED = 32  # sums up to this number of terms are in a table; the expansion of longer ones is exact to rounding
_INVERSE_ROOTS = np.cumsum(1.0 / np.sqrt(np.arange(1, _LISTED + 1)))
_ZETA_HALF = -1.4603545088095868


def power(t: ArrayLike, exponent: jax.Array) -> jax.Array:
    """Return `t^exponent`, with t = 0 read as 1, so that it is finite even where it is not used.

    All trials share the logarithm of the round: under `vmap` it costs one exponential per trial.

    Args:
      t: integer, >= 0.
      exponent: a floating array; the result has its type.
    """
    return jnp.exp(exponent * jnp.log(jnp.maximum(t, 1).astype(exponent.dtype)))


def inverse_roots(t: ArrayLike) -> jax.Array:
    """Return `1 + 1 / sqrt(2) + ... + 1 / sqrt(t)`, exact to rounding, at constant cost (Euler-Maclaurin).

    A running sum in float32 would stop growing after some 10^7 terms.

    Args:
      t: integer, >= 1.
    """
    root = 1.0 / jnp.sqrt(jnp.maximum(t, _LISTED).astype(float))  # int32 alone would give float32
    cube = root**3
    expanded = 2.0 / root + _ZETA_HALF + root / 2.0 - cube / 24.0 + cube**2 * root / 384.0 - cube**3 * root**2 / 1024.0
    return jnp.where(t <= _LISTED, jnp.asarray(_INVERSE_ROOTS, root.dtype)[jnp.clip(t, 1, _LISTED) - 1], expanded)
