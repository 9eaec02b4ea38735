"""Scores of fixed arms: `x'theta` and `x'V^{-1} x` of every arm are updated in each round instead of recomputed.

A round subtracts one outer product c u u' from V^{-1} and adds a step s u to theta. With p_k = x_k'u,

    V^{-1} <- V^{-1} - c u u'       hence   x_k'V^{-1} x_k  <-  x_k'V^{-1} x_k - c p_k^2
    theta  <- theta + s u           hence   x_k'theta       <-  x_k'theta + s p_k

This costs O(K d) per round instead of O(K d^2). Both scores are recomputed from theta and V^{-1} every `REFRESH`
rounds, and after 1, 2, 4, ... rounds, since in the first few rounds V^{-1} may shrink to the size of the rounding
errors of its initial value.

Updated and recomputed scores differ only by rounding errors, which a refresh resets. Let eps be the machine epsilon of
the type, r the round of the last refresh and R = `REFRESH`. Then

    |width_sq_k - x_k'V_t^{-1} x_k|  <=  (R + 4d) eps ||x_k||^2 trace(V_r^{-1})
    |mean_k - x_k'theta_t|           <=  (R + 4d) eps ||x_k|| (||theta_r|| + sum of ||s u|| over the rounds since r)

for every number of rounds. Each update rounds `width_sq`, which never grows, and adds the rounding error of c p_k^2;
the sum of these errors is bounded in terms of the decrease of `width_sq`. The bound includes the rounding errors of
V^{-1}. In float32, over 10^6 rounds, the difference is less than half of the bound
(float32/test_fixed_arms.py::test_drift_stays_within_the_bound).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike
from jaxbandits.estimation.arms import choose_best, optimistic, optimistic_arm
from jaxbandits.numerics import inverse_factors
from jaxbandits.numerics.inverse_factors import Inverse
from jaxbandits.numerics.linalg import Vector
from jaxbandits.tracing import batching
from jaxbandits.types import ArmDecision, ArmObs, FixedArmObs

REFRESH = 256  # number of rounds between two computations of the scores from theta and V^{-1}
# Smallest dimension in which updates are faster. Measured speed-ups with 5 to 100 arms: for OFUL 0.8 at d = 2, 0.97 at
# 3, 1.05 to 1.2 at 5, 1.15 to 1.9 at 10, and 1.8 to 2.1 at 20; for Hvt-UCB 0.8 at 2, 1.03 at 5, 1.02 to 1.2 at 10, and
# 1.1 to 1.3 at 20. GLB-OMD does not use updates, because its speed-up was 0.95 at 5 and 10.
LEAST_DIM = 5


class Scores(NamedTuple):
    """Estimated rewards and widths of K arms."""

    mean: jax.Array  # [K]  x_k'theta
    width_sq: jax.Array  # [K]  x_k'V^{-1} x_k


class Step(NamedTuple):
    """Update in one round: `V^{-1} <- V^{-1} - weight u u'` and `theta <- theta + length u`."""

    direction: Vector  # [d]  u
    weight: jax.Array  # []  c
    length: Any = None  # []  s; None if theta did not move along u, for instance because it was projected


def start(obs: ArmObs, theta: Vector, inverse: Inverse) -> Scores | None:
    """Return the initial scores, or None if the arms may change or if updating the scores would not be faster."""
    if not isinstance(obs, FixedArmObs) or obs.arms.shape[1] < LEAST_DIM:
        return None
    return _compute_scores(obs.arms, theta, inverse)


def play(obs: ArmObs, scores: Scores | None, theta: Vector, inverse: Inverse, radius: ArrayLike) -> ArmDecision:
    """Return `argmax_x x'theta + radius ||x||_inverse` over the available arms.

    If scores are given, they are used; otherwise theta, the inverse V^{-1} and the arms determine the result.
    """
    if scores is None:
        return optimistic_arm(obs.arms, obs.mask, theta, inverse, radius)
    return choose_best(obs.arms, obs.mask, optimistic(*scores, jnp.asarray(radius)))


def follow(
    t: jax.Array, obs: ArmObs, scores: Scores | None, theta: Vector, inverse: Inverse, step: Step
) -> Scores | None:
    """Return the updated scores after a round.

    Args:
      t: `[]` round index, the same for all trials, so that rounds without a refresh skip its cost.
      obs: observation of the round.
      scores: scores before the round; None if `start` returned None.
      theta: `[d]` estimate after the round.
      inverse: V^{-1} after the round.
      step: the update of theta and V^{-1} in this round.
    """
    if scores is None:
        return None
    moved = obs.arms @ step.direction
    mean = obs.arms @ theta if step.length is None else scores.mean + step.length * moved
    carried = Scores(mean, scores.width_sq - step.weight * (moved * moved))
    return batching.cond(is_refreshed(t), lambda: _compute_scores(obs.arms, theta, inverse), lambda: carried)


def is_refreshed(t: jax.Array) -> jax.Array:
    """Return True if the scores are recomputed after round t = 0, 1, ..."""
    rounds = t + 1
    return (rounds % REFRESH == 0) | (rounds & (rounds - 1) == 0)  # the second condition holds for powers of two


def _compute_scores(arms: jax.Array, theta: Vector, inverse: Inverse) -> Scores:
    return Scores(arms @ theta, inverse_factors.quadratic_forms(inverse, arms))
