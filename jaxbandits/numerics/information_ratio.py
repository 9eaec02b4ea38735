"""Distribution over arms that minimises the information ratio (Russo & Van Roy, NeurIPS 2014, Proposition 6).

    minimise (p'D)^2 / p'g   over probabilities p; D: expected regrets of the arms, g: their information gains

Some minimiser has at most two arms in its support. For a pair (i, j) of arms, of which i is played with probability q
and j with 1 - q, the ratio is convex in q, and stationary at

    q = D_j / (D_i - D_j) - 2 g_j / (g_i - g_j)

This q is clipped to [0, 1]. The minimum over all pairs and over all single arms costs $O(K^2)$, without an iterative
search.

Arms with the same posterior give pairs with the same ratio. Ratios that differ by at most 256 units in the last place
therefore count as equal, and the first of these pairs is taken. Otherwise rounding errors would select the arms, and
the selection would depend on the device.
"""

import jax
import jax.numpy as jnp

from jaxbandits.numerics import first_axis

_TIED = 256.0  # units in the last place
_LEAST = 1e-30  # lower bound on shortfalls and gains, so that the ratio is defined for all arms


def minimize_information_ratio(shortfall: jax.Array, gain: jax.Array, mask: jax.Array) -> jax.Array:
    """Return probabilities `[K]` of the arms that minimise the information ratio; they are 0 where the mask is False.

    Args:
      shortfall: D `[K]`, expected regret of each arm; negative numbers count as 0.
      gain: g `[K]`, information gain of each arm; negative numbers count as 0. If all gains are 0, the arm with the
        smallest shortfall is chosen.
      mask: `[K]` True where an arm may be played; at least one is True.
    """
    n_arms = len(shortfall)
    d, g = jnp.maximum(shortfall, 0.0), jnp.maximum(gain, 0.0)
    d_change, g_change = d[:, None] - d, g[:, None] - g  # [K, K]  of i - j
    both = (d_change != 0.0) & (g_change != 0.0)
    root = d / jnp.where(both, d_change, 1.0) - 2.0 * g / jnp.where(both, g_change, 1.0)
    inner = jnp.where(both, jnp.clip(root, 0.0, 1.0), 1.0)  # if D or g is equal for both arms, 0 or 1 is a minimiser
    # The pairs (i, i), whose ratio does not depend on q, cover q = 0 and q = 1.
    values = _log_ratio(d + inner * d_change, g + inner * g_change)
    available = mask[:, None] & mask
    values = jnp.where(available, values, jnp.inf).reshape(-1)
    is_least = values <= jnp.min(values, axis=0) + _TIED * jnp.finfo(values.dtype).eps
    pair = first_axis.argmax(is_least.astype(values.dtype))
    i, j = pair // n_arms, pair % n_arms
    q = inner.reshape(-1)[pair]
    arms = jnp.arange(n_arms)
    return jnp.where(arms == i, q, 0.0) + jnp.where(arms == j, 1.0 - q, 0.0)


def _log_ratio(shortfall: jax.Array, gain: jax.Array) -> jax.Array:
    return 2.0 * jnp.log(jnp.maximum(shortfall, _LEAST)) - jnp.log(jnp.maximum(gain, _LEAST))
