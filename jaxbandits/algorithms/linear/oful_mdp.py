"""Optimistic planning in linear MDPs with the confidence sets of OFUL (ours, a baseline for `hvt_mdp`).

The reward of step h is phi(s, a)'theta*_h + noise; phi and the transitions P are known. Each step h has its own ridge
regression of `oful`, with estimate $theta_h$ and Gram matrix $V_h$. Before every episode the learner computes:

    rtil_h(s, a) = phi(s, a)'theta_h + beta_scale radius_h ||phi(s, a)||_{V_h^{-1}}
    Q_h = rtil_h + P W_{h+1},   W_h = max_a Q_h,   W_{H+1} = 0                          backward induction
    play pi_h = argmax_a Q_h;   update regression h with (phi(s_h, a_h), reward_h),  h = 1..H

Notation: H is the field `steps`; R is `noise_scale`, lambda is `ridge` and S is `norm_bound`, as in `oful`. An episode
costs O(H nS nA ($d^2$ + nS)) for nS states and nA actions.
"""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.linear.multipliers import MULTIPLIERS
from jaxbandits.algorithms.linear.oful import OFUL, OFULState
from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.estimation.arms import widths
from jaxbandits.numerics import planning
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import ArmDecision, ArmObs, Episode, MDPObs, PolicyDecision, Reward


@pytree
class OFULMDP:
    """Learner for episodes that combines ridge regression for each step with optimistic backward induction.

    Guarantee:
      If the noise is R-sub-Gaussian and $||theta*_h|| <= S$, OFUL's Theorem 2 and a union bound give, for the mean
      reward $r_h = phi'theta*_h$, the bounds $r_h$ <= rtil_h <= $r_h + 2$ radius_h $||phi||_{V_h^{-1}}$ for all pairs
      (s, a), steps and episodes with probability at least 1 - H delta (with `beta_scale = 1`). Heavy-tailed noise has
      no finite R, and there is no guarantee; R may be set to the moment scale nu of the noise.

    Deviations:
      * [ours] This algorithm is `HvtMDP` with the estimator of `OFUL`; the transitions are known and values are not
        clipped.
      * The deviations of `OFUL` apply.
      * [ours] Ties go to the first action.

    Numerics:
      In float32 every estimate is within 1e-4 of its float64 value over 300 episodes
      (float32/test_extensions.py::test_estimates_of_episodes_follow_the_float64_loop).

    References:
      Yasin Abbasi-Yadkori, David Pal, Csaba Szepesvari. Improved Algorithms for Linear Stochastic Bandits.
      NeurIPS 2011, Theorem 2.
    """

    feedback: ClassVar[type] = Episode
    source: ClassVar[str] = "ours, on Abbasi-Yadkori, Pal & Szepesvari, NeurIPS 2011"
    environments: ClassVar[tuple[str, ...]] = ("linear/linear_mdp",)
    dim: int = static(range="[1, inf)", doc="d, dimension of the features")
    steps: int = static(range="[1, inf)", doc="H, number of steps of an episode")
    noise_scale: ArrayLike = param(1.0, "[0, inf)", "R, sub-Gaussian constant of the noise")
    ridge: ArrayLike | None = param(None, "(0, inf)", "lambda, ridge parameter; None: d")
    norm_bound: ArrayLike = param(1.0, "(0, inf)", "S, bound on every ||theta*_h||")
    delta: ArrayLike = param(0.01, "(0, 1)", "delta, failure probability of each step")
    beta_scale: ArrayLike = param(1.0, "[0, inf)", "multiplier of the confidence radius; the theory uses 1")

    @classmethod
    def theory(
        cls, *, dim: int, steps: int, horizon: ArrayLike, noise_scale: ArrayLike = 1.0, **changes: FieldValue
    ) -> "OFULMDP":
        """Use Theorem 2 with delta = 1/(8K) for K = horizon episodes, which is also the delta of `HvtMDP`."""
        delta = {"delta": 1.0 / (8.0 * ranges.numbers("horizon", horizon, "[1, 1e18]"))} | changes
        return cls(dim=dim, steps=steps, noise_scale=noise_scale, **delta)

    @classmethod
    def practical(
        cls, *, dim: int, steps: int, horizon: ArrayLike, noise_scale: ArrayLike = 1.0, **changes: FieldValue
    ) -> "OFULMDP":
        """Use the constants of the theory with the multiplier of `OFUL.practical`, which is tuned on bandits."""
        scaled = MULTIPLIERS["oful"] | changes
        return cls.theory(dim=dim, steps=steps, horizon=horizon, noise_scale=noise_scale, **scaled)

    @classmethod
    def example(cls) -> "OFULMDP":
        return cls.practical(dim=2, steps=2, horizon=200)

    @property
    def estimator(self) -> OFUL:
        """OFUL learner that holds the regression of each step, with the constants of this learner."""
        return OFUL(**{f.name: getattr(self, f.name) for f in dataclasses.fields(OFUL)})

    def init(self, key: jax.Array) -> OFULState:
        """Return the states of the H regressions; all leaves have a leading axis `[H]`."""
        state = self.estimator.init(key)
        return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (self.steps, *leaf.shape)), state)

    def select(self, key: jax.Array, t: jax.Array, state: OFULState, obs: MDPObs) -> PolicyDecision:
        del key
        rewards = self.optimistic_rewards(t, state, obs)
        return PolicyDecision(planning.backward_induction(rewards, obs.transitions).actions)

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: OFULState,
        obs: MDPObs,
        decision: PolicyDecision,
        feedback: Episode,
    ) -> OFULState:
        del obs, decision
        estimator = self.estimator

        def one_step(state: OFULState, x: Vector, reward: jax.Array) -> OFULState:
            decision = ArmDecision(index=jnp.zeros((), jnp.int32), x=x)
            return estimator.update(key, t, state, ArmObs(x[None]), decision, Reward(reward))

        return jax.vmap(one_step)(state, feedback.features, feedback.rewards)

    def recommend(self, state: OFULState) -> Vector:
        """Return the ridge estimates `[H, d]` of theta*_h."""
        return jax.vmap(self.estimator.recommend)(state)

    def optimistic_rewards(self, t: jax.Array, state: OFULState, obs: MDPObs) -> jax.Array:
        """Return the optimistic rewards rtil_h(s, a) `[H, nS, nA]` before episode t >= 0."""
        estimator = self.estimator

        def one_step(state: OFULState) -> jax.Array:
            theta, radius = estimator.recommend(state), estimator.radius(t, state)
            return obs.features @ theta + radius * widths(state.inverse, obs.features)

        return jax.vmap(one_step)(state)
