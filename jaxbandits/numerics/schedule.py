"""What grows with the round t."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.pytree import ArrayLike

_LISTED = 32  # sums of so many terms are listed, longer ones come from their expansion, exact to rounding from there on
_INVERSE_ROOTS = np.cumsum(1.0 / np.sqrt(np.arange(1, _LISTED + 1)))
_ZETA_HALF = -1.4603545088095868


def power(t: ArrayLike, exponent: jax.Array) -> jax.Array:
    """`t^exponent`, with t = 0 read as 1, to stay finite where it is not used.

    The logarithm is of the round, which all trials share: under `vmap` a trial pays for one exponential.

    Args:
      t: integer, >= 0.
      exponent: a floating array; the result has its type.
    """
    return jnp.exp(exponent * jnp.log(jnp.maximum(t, 1).astype(exponent.dtype)))


def inverse_roots(t: ArrayLike) -> jax.Array:
    """`1 + 1 / sqrt(2) + ... + 1 / sqrt(t)`, to rounding, at a cost that does not grow (Euler-Maclaurin).

    A running sum in float32 would stop to grow after some 10^7 terms.

    Args:
      t: integer, >= 1.
    """
    root = 1.0 / jnp.sqrt(jnp.maximum(t, _LISTED).astype(float))  # int32 alone would make float32
    cube = root**3
    expanded = 2.0 / root + _ZETA_HALF + root / 2.0 - cube / 24.0 + cube**2 * root / 384.0 - cube**3 * root**2 / 1024.0
    return jnp.where(t <= _LISTED, jnp.asarray(_INVERSE_ROOTS, root.dtype)[jnp.clip(t, 1, _LISTED) - 1], expanded)
