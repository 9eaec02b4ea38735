"""Powers of the round index t, and sums of inverse roots over rounds, for step sizes and radii."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.pytree import ArrayLike

_LISTED = 32  # number of terms up to which sums are tabulated; the expansion for longer sums is exact to rounding
_INVERSE_ROOTS = np.cumsum(1.0 / np.sqrt(np.arange(1, _LISTED + 1)))
_ZETA_HALF = -1.4603545088095868


def power(t: ArrayLike, exponent: jax.Array) -> jax.Array:
    """Return `max(t, 1)^exponent`, which is finite even for t = 0 and a negative exponent.

    All trials share the logarithm of t, so that under `vmap` a call costs one exponential per trial.

    Args:
      t: integer round index, >= 0.
      exponent: array of floats, whose type the result has.
    """
    return jnp.exp(exponent * jnp.log(jnp.maximum(t, 1).astype(exponent.dtype)))


def inverse_roots(t: ArrayLike) -> jax.Array:
    """Return `1 + 1 / sqrt(2) + ... + 1 / sqrt(t)`, exact to rounding, at constant cost (Euler-Maclaurin formula).

    A running sum in float32 would stop growing after about 10^7 terms.

    Args:
      t: number of terms, an integer >= 1.
    """
    root = 1.0 / jnp.sqrt(jnp.maximum(t, _LISTED).astype(float))  # int32 alone would give float32
    cube = root**3
    expanded = 2.0 / root + _ZETA_HALF + root / 2.0 - cube / 24.0 + cube**2 * root / 384.0 - cube**3 * root**2 / 1024.0
    return jnp.where(t <= _LISTED, jnp.asarray(_INVERSE_ROOTS, root.dtype)[jnp.clip(t, 1, _LISTED) - 1], expanded)
