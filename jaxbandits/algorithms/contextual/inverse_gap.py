"""Inverse gap weighting of the arms by their predictions (Abe & Long 1999; Foster & Rakhlin, ICML 2020).

b   = argmax_k yhat_k
p_k = 1 / (K + gamma (yhat_b - yhat_k))  for k != b,   p_b = 1 - sum_{k != b} p_k
"""

import jax
import jax.numpy as jnp

from jaxbandits.estimation.arms import greedy_weights, largest


def inverse_gap_weights(scores: jax.Array, mask: jax.Array, gamma: jax.Array) -> jax.Array:
    """Return the probabilities `[K]` for predictions `[K]`; K in the formula counts only the available arms."""
    greedy = greedy_weights(scores, mask)
    gap = jnp.where(mask, largest(scores, mask) - scores, 0.0)
    gamma = jnp.minimum(gamma, jnp.finfo(scores.dtype).max)  # infinity times a gap of 0 is NaN
    others = mask * (1.0 - greedy) / (jnp.sum(mask) + gamma * gap)
    return others + greedy * (1.0 - jnp.sum(others))
