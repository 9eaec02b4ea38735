"""Selection of the best available arm of a set; ties are broken in favour of the smallest index.

Arms are an array `[K, d]`; a mask is an array `[K]` of bools, or None if all arms are available.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics import first_axis, inverse_factors, rng
from jaxbandits.numerics.inverse_factors import Inverse
from jaxbandits.numerics.linalg import Vector
from jaxbandits.numerics.sampling import RESOLUTION
from jaxbandits.types import AdviceObs, ArmDecision, ArmObs, ContextObs


def best_arm(arms: jax.Array, mask: Any, score: Callable[[Vector], jax.Array]) -> ArmDecision:
    """Return the available arm with the largest score.

    Ties go to the smallest index. A score of NaN or -inf counts as the smallest finite number.

    Args:
      arms: `[K, d]`.
      mask: `[K]` True where the arm may be played, with at least one True; None if all arms may be played.
      score: function that maps the features `[d]` of an arm to its score `[]`.
    """
    return choose_best(arms, mask, jax.vmap(score)(arms))


def choose_best(arms: jax.Array, mask: Any, scores: jax.Array) -> ArmDecision:
    """Return the available arm with the largest score `[K]`; ties go to the first arm, and NaN ranks lowest."""
    lowest = jnp.finfo(scores.dtype).min  # above masked arms, and at most every score except NaN
    ordered = jnp.where(True if mask is None else mask, jnp.where(scores > lowest, scores, lowest), -jnp.inf)
    index = first_axis.argmax(ordered)
    return ArmDecision(index=index, x=arms[index])


def decide(obs: ArmObs | ContextObs | AdviceObs, index: jax.Array, probability: Any = None) -> ArmDecision:
    """Return the decision to play an arm; `probability` `[]` is that of its draw, or None if it was not drawn."""
    return ArmDecision(index, obs.arms[index], probability)


def draw_arm(key: jax.Array, obs: ArmObs | ContextObs | AdviceObs, weights: jax.Array) -> ArmDecision:
    """Draw an arm of the round from probabilities `[K]`, and return the decision to play it.

    The probability in the decision is at least the resolution of the draw, so that importance weights are bounded.
    """
    index = rng.categorical(key, weights)
    return decide(obs, index, jnp.maximum(weights[index], RESOLUTION))


def optimistic_arm(arms: jax.Array, mask: Any, center: Vector, inverse: Inverse, radius: ArrayLike) -> ArmDecision:
    """Return `argmax_x x'center + radius ||x||_inverse` over the available arms x.

    This is the arm that maximises x'theta jointly over the arms and over an ellipsoid of parameters theta.

    Args:
      arms: `[K, d]`.
      mask: `[K]` or None, as in `best_arm`.
      center: `[d]` centre of the ellipsoid `||theta - center||_V <= radius`.
      inverse: V^{-1} as factors (`numerics.inverse_factors`) or as a matrix `[d, d]`.
      radius: `[]` >= 0.
    """
    return choose_best(arms, mask, optimistic_values(arms, center, inverse, radius))


def optimistic_values(arms: jax.Array, center: Vector, inverse: Inverse, radius: ArrayLike) -> jax.Array:
    """Return x'center + radius ||x||_inverse `[K]` for the arms `[K, d]`."""
    return optimistic(arms @ center, inverse_factors.quadratic_forms(inverse, arms), radius)


def optimistic(mean: jax.Array, width_sq: jax.Array, radius: ArrayLike) -> jax.Array:
    """Return mean + radius sqrt(width_sq) `[K]`, where negative `width_sq` count as 0."""
    return mean + radius * jnp.sqrt(jnp.maximum(width_sq, 0.0))


def widths(inverse: Inverse, arms: jax.Array) -> jax.Array:
    """Return the norms ||x||_inverse `[K]` of the arms `[K, d]`."""
    return jnp.sqrt(jnp.maximum(inverse_factors.quadratic_forms(inverse, arms), 0.0))


def nearest_arm(arms: jax.Array, mask: Any, point: Vector) -> ArmDecision:
    """Return the available arm with the smallest Euclidean distance to `point`; ties go to the first arm."""
    return choose_best(arms, mask, -jnp.sum(jnp.square(arms - point), axis=1))


def greedy_weights(scores: jax.Array, mask: jax.Array) -> jax.Array:
    """Return weights `[K]`: 1 for the first available arm with the largest score, else 0; NaN ranks lowest."""
    index = choose_best(scores, mask, scores).index
    return (jnp.arange(len(scores)) == index).astype(scores.dtype)


def largest(values: jax.Array, mask: Any = None) -> jax.Array:
    """Return the largest of the values `[K]` for which the mask `[K]` is True."""
    return jnp.max(values if mask is None else jnp.where(mask, values, -jnp.inf))


def check_count(arms: jax.Array, n_arms: int) -> None:
    """Raise `InputError` unless the observation has `n_arms` arms."""
    if arms.shape[0] != n_arms:
        raise InputError(f"the environment has {arms.shape[0]} arms, but the learner has n_arms={n_arms}")


def check_features(features: jax.Array, *shape: int) -> None:
    """Raise `InputError` unless the features of arms have this shape, (K, k) for all arms and (k,) for one arm.

    Other shapes, such as the numbers `[K]` of arms without features, could broadcast.
    """
    if features.shape != shape:
        raise InputError(
            f"the learner has shared_dim={shape[-1]} and needs features of arms of shape {shape}, got {features.shape}"
        )
