"""Choosing the best arm of a set under a mask, with reproducible ties (first arm wins)."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.core import linalg
from jaxbandits.core.errors import InputError
from jaxbandits.core.fusion import once
from jaxbandits.core.linalg import Symmetric, Vec, Vector
from jaxbandits.core.pytree import ArrayLike
from jaxbandits.types import ArmDecision, ArmSet

_GROUP_WORK = 400  # K d^2 of arms between two barriers: 1.1x at d = 10; none at d = 2, K = 50, where it would cost


def best_arm(arms: ArmSet, mask: Any, score: Callable[[Vector], jax.Array]) -> ArmDecision:
    """The available arm with the largest score.

    Ties go to the smaller index (strict `>` in a fixed order), which is reproducible because trials run in pieces of
    one fixed width. A NaN score is chosen only when every available score is NaN.

    Args:
      arms: K arms in any of the three forms of `ArmSet`.
      mask: `[K]` True where the arm may be played, as K scalars or one array; None when all may. At least one is True.
      score: from an arm `[d]` to its score; must be elementwise over leading axes (the operators of `core.linalg` are).
    """
    if isinstance(arms, tuple):
        return _running_best(arms, mask, score)
    scores = score(arms) if isinstance(arms, Vec) else jax.vmap(score)(arms)  # [K]
    index = jnp.argmax(_available(scores, mask))
    return once(ArmDecision(index=index.astype(jnp.int32), x=jax.tree.map(lambda a: a[index], arms)))


def optimistic_arm(arms: ArmSet, mask: Any, center: Vector, inverse: Symmetric, radius: ArrayLike) -> ArmDecision:
    """`argmax_x x'center + radius ||x||_inverse`: the largest value that an ellipsoid around `center` allows an arm.

    Args:
      arms: as for `best_arm`.
      mask: as for `best_arm`.
      center: `[d]`
      inverse: `[d, d]` V^{-1}, for the ellipsoid `{theta: ||theta - center||_V <= radius}`.
      radius: `[]` >= 0.
    """
    radius = once(jnp.asarray(radius))

    def optimistic_value(x: Vector) -> jax.Array:
        return linalg.inner(x, center) + radius * jnp.sqrt(jnp.maximum(linalg.quad(inverse, x), 0.0))

    return best_arm(arms, mask, optimistic_value)


def nearest_arm(arms: ArmSet, mask: Any, point: Vector) -> ArmDecision:
    """The available arm nearest to `point` in Euclidean distance (the first of equally near ones)."""

    def closeness(x: Vector) -> jax.Array:
        gap = x - point
        return -linalg.inner(gap, gap)

    return best_arm(arms, mask, closeness)


def _running_best(arms: tuple[Vector, ...], mask: Any, score: Callable[[Vector], jax.Array]) -> ArmDecision:
    """A running select over unrolled arms: no reduction over a tiny axis, no gather."""
    best, x, index = _available(score(arms[0]), None if mask is None else mask[0]), arms[0], jnp.zeros((), jnp.int32)
    group = max(1, _GROUP_WORK // len(arms[0]) ** 2)
    for k, arm in enumerate(arms[1:], start=1):
        value = once(score(arm))  # else every coordinate of x repeats it
        value = value if mask is None else _available(value, mask[k])
        better = value > best  # a NaN is not
        best = jnp.where(better, value, best)
        x = linalg.where(better, arm, x)
        index = jnp.where(better, k, index)
        if (k + 1) % group == 0:  # else every coordinate repeats the whole chain of comparisons
            best, x, index = once((best, x, index))
    return once(ArmDecision(index=index, x=x))


def _available(score: jax.Array, mask: Any) -> jax.Array:
    """Scores in their order, above NaN, above masked arms."""
    lowest = jnp.finfo(score.dtype).min
    score = jnp.where(score > lowest, score, lowest)
    return score if mask is None else jnp.where(mask, score, -jnp.inf)


def largest(values: Any, mask: Any = None) -> jax.Array:
    """The largest of K values under a mask (K scalars or an array `[K]`)."""
    if not isinstance(values, (tuple, list)):
        return jnp.max(values if mask is None else jnp.where(mask, values, -jnp.inf))
    best = values[0] if mask is None else jnp.where(mask[0], values[0], -jnp.inf)
    for k, value in enumerate(values[1:], start=1):
        best = jnp.maximum(best, value if mask is None else jnp.where(mask[k], value, -jnp.inf))
    return best


def stacked(arms: ArmSet, n_arms: int | None = None) -> Vector:
    """Any form of `ArmSet` as one: a `Vec` with leaves `[K]` for small d, an array `[K, d]` otherwise.

    Raises:
      InputError: when `n_arms` is given and there are not as many.
    """
    shown = len(arms) if isinstance(arms, tuple) else jax.tree.leaves(arms)[0].shape[0]
    if n_arms not in (None, shown):
        raise InputError(f"the environment shows {shown} arms, but the learner has n_arms={n_arms}")
    if not isinstance(arms, tuple):
        return arms
    if not isinstance(arms[0], Vec):
        return jnp.stack(arms)
    return Vec([jnp.stack(column) for column in zip(*(arm.leaves for arm in arms), strict=True)])


def best_scored(arms: ArmSet, mask: Any, scores: jax.Array) -> ArmDecision:
    """The available arm with the largest of the `[K]` scores; the first of equal ones, NaN below everything."""
    lowest = jnp.finfo(scores.dtype).min
    scores = jnp.where(scores > lowest, scores, lowest)
    if mask is not None:
        scores = jnp.where(jnp.stack(mask) if isinstance(mask, tuple) else mask, scores, -jnp.inf)
    index = jnp.argmax(scores).astype(jnp.int32)
    return once(ArmDecision(index, jax.tree.map(lambda a: a[index], stacked(arms))))
