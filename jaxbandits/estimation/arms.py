"""Choosing the best arm of a set under a mask, with reproducible ties (first arm wins).

Arms are an array `[K, d]`, a mask an array `[K]` or None. Under `vmap` trials are their last axis (`core.linalg`): the
scores of all arms are one operation, and the largest of them comes out of a running `where` over K.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.core import factored, linalg
from jaxbandits.core.batching import trials_last
from jaxbandits.core.errors import InputError
from jaxbandits.core.factored import Inverse
from jaxbandits.core.fusion import once
from jaxbandits.core.linalg import Vector
from jaxbandits.core.pytree import ArrayLike
from jaxbandits.types import ArmDecision

_SELECTED_BYTES = 96  # of a coordinate of K arms: up to which a running `where` is faster than reading each trial's own
_WRITTEN_OUT = 64  # K up to which a running `where` is written out; beyond, knock-out rounds between neighbours


def best_arm(arms: jax.Array, mask: Any, score: Callable[[Vector], jax.Array]) -> ArmDecision:
    """The available arm with the largest score.

    Ties go to the smaller index (strict `>` in a fixed order), which is reproducible because trials run in pieces of
    one fixed width. A NaN score is chosen only when every available score is NaN.

    Args:
      arms: `[K, d]`.
      mask: `[K]` True where the arm may be played; None when all may. At least one is True.
      score: from an arm `[d]` to its score, by `core.linalg` or `jnp`.
    """
    return best_scored(arms, mask, jax.vmap(score)(arms))


def best_scored(arms: jax.Array, mask: Any, scores: jax.Array) -> ArmDecision:
    """The available arm with the largest of the `[K]` scores; the first of equal ones, NaN below everything."""
    index = once(_first_largest(once(_ordered(scores, True if mask is None else mask))))
    return once(ArmDecision(index=index, x=take(arms, index)))


def optimistic_arm(arms: jax.Array, mask: Any, center: Vector, inverse: Inverse, radius: ArrayLike) -> ArmDecision:
    """`argmax_x x'center + radius ||x||_inverse`: the largest value that an ellipsoid around `center` allows an arm.

    Args:
      arms: `[K, d]`.
      mask: as for `best_arm`.
      center: `[d]`
      inverse: V^{-1}, in factors (`core.factored`) or `[d, d]`: of the ellipsoid `||theta - center||_V <= radius`.
      radius: `[]` >= 0.
    """
    return best_scored(arms, mask, optimistic_values(arms, center, inverse, radius))


def optimistic_values(arms: jax.Array, center: Vector, inverse: Inverse, radius: ArrayLike) -> jax.Array:
    """`[K]` x'center + radius ||x||_inverse."""
    return optimistic(linalg.matvec(arms, center), factored.quads(inverse, arms), once(jnp.asarray(radius)))


@trials_last
def optimistic(mean: jax.Array, width_sq: jax.Array, radius: jax.Array) -> jax.Array:
    """`[K]` mean + radius times the root of width_sq."""
    return mean + radius * jnp.sqrt(jnp.maximum(width_sq, 0.0))


@trials_last
def _ordered(scores: jax.Array, mask: Any) -> jax.Array:
    """Scores in their order, above NaN, above masked arms."""
    lowest = jnp.finfo(scores.dtype).min
    return jnp.where(mask, jnp.where(scores > lowest, scores, lowest), -jnp.inf)


def widths(inverse: Inverse, arms: jax.Array) -> jax.Array:
    """`[K]` ||x||_inverse of the arms `[K, d]`."""
    return jnp.sqrt(jnp.maximum(factored.quads(inverse, arms), 0.0))


def nearest_arm(arms: jax.Array, mask: Any, point: Vector) -> ArmDecision:
    """The available arm nearest to `point` in Euclidean distance (the first of equally near ones)."""
    return best_scored(arms, mask, -_squared_distances(arms, point))


def largest(values: jax.Array, mask: Any = None) -> jax.Array:
    """The largest of `[K]` values under a mask `[K]`."""
    return _largest(values if mask is None else jnp.where(mask, values, -jnp.inf))


def check_count(arms: jax.Array, n_arms: int) -> None:
    """Raises `InputError` unless `n_arms` arms are shown."""
    if arms.shape[0] != n_arms:
        raise InputError(f"the environment shows {arms.shape[0]} arms, but the learner has n_arms={n_arms}")


@trials_last
def _squared_distances(arms: jax.Array, point: jax.Array) -> jax.Array:
    gaps = arms - point
    if arms.shape[1] > linalg.UNROLLED:
        return jnp.sum(gaps * gaps, axis=1)
    return linalg.added(gaps[:, i] * gaps[:, i] for i in range(arms.shape[1]))


@trials_last
def _first_largest(scores: jax.Array) -> jax.Array:
    """Where the first of the largest of `[K]` scores without NaN stands."""
    indices = jnp.arange(scores.shape[0], dtype=jnp.int32).reshape(-1, *(1,) * (scores.ndim - 1))
    indices = jnp.broadcast_to(indices, scores.shape)
    while scores.shape[0] > _WRITTEN_OUT:  # each against its right neighbour, which wins where it is strictly larger
        pairs = scores.shape[0] // 2 * 2
        better = scores[1:pairs:2] > scores[0:pairs:2]
        winners = jnp.where(better, scores[1:pairs:2], scores[0:pairs:2])
        places = jnp.where(better, indices[1:pairs:2], indices[0:pairs:2])
        scores = jnp.concatenate([winners, scores[pairs:]])
        indices = jnp.concatenate([places, indices[pairs:]])
        scores, indices = once((scores, indices))
    (best, index), *others = zip(scores, indices, strict=True)
    for score, k in others:
        better = score > best
        best, index = jnp.where(better, score, best), jnp.where(better, k, index)
    return index


@trials_last
def take(arms: jax.Array, index: jax.Array) -> jax.Array:
    """`arms[index]`."""
    if arms.shape[0] * arms.dtype.itemsize > _SELECTED_BYTES:
        arms = jnp.broadcast_to(arms, (*arms.shape[:2], *index.shape))
        return jnp.take_along_axis(arms, index[None, None], axis=0, mode="promise_in_bounds")[0]
    x, *others = arms
    for k, arm in enumerate(others, 1):
        x = jnp.where(index == k, arm, x)
    return x


@trials_last
def _largest(values: jax.Array) -> jax.Array:
    if values.shape[0] > _WRITTEN_OUT:
        return jnp.max(values, axis=0)
    best = values[0]
    for k in range(1, values.shape[0]):
        best = jnp.maximum(best, values[k])
    return best
