"""Optimistic planning in linear MDPs with the estimator of Hvt-UCB (ours, after Wang et al., ICML 2025, Section 6.1).

The reward of step h is phi(s, a)'theta*_h + noise with E |noise|^{1+eps} <= $nu^{1+eps}$; phi and the transitions P are
known. Each step h has its own estimator ($theta_h$, $V_h$) of `hvt_estimator`. Before episode $k = 1$, 2, ... the
learner computes:

    rtil_h(s, a) = phi(s, a)'theta_h + beta_scale beta_{k-1} ||phi(s, a)||_{V_h^{-1}}
    Q_h = rtil_h + P W_{h+1},   W_h = max_a Q_h,   W_{H+1} = 0                          backward induction
    play pi_h = argmax_a Q_h;   update estimator h with (phi(s_h, a_h), reward_h, nu),  h = 1..H

Notation: K is the field `horizon`, H is `steps` and nu is `moment_bound`. S (`norm_bound`) bounds every $||theta*_h||$,
L (`arm_bound`) bounds every ||phi(s, a)||, delta is the delta of Lemma 1 for each step, and the other symbols are those
of `hvt_ucb`. An episode costs O(H nS nA ($d^2$ + nS)) plus H projections for nS states and nA actions, and the memory
is $O(H d^2)$ for every K.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.linear.hvt_estimator import HvtConstants, HvtEstimator, HvtState, vmap_axes
from jaxbandits.algorithms.linear.multipliers import MULTIPLIERS
from jaxbandits.base.pytree import ArrayLike, FieldValue, PyTree, param, pytree, static
from jaxbandits.estimation.arms import widths
from jaxbandits.numerics import planning
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import Episode, Feedback, MDPObs, PolicyDecision, ScaledEpisode


@pytree
class HvtMDP(HvtConstants):
    """Learner for episodes that combines one-pass Huber regression for each step with optimistic backward induction.

    Guarantee:
      The paper states no theorem. Lemma 1 for each step and a union bound give, for the preset `theory` and the mean
      reward $r_h = phi'theta*_h$, the bounds $r_h$ <= rtil_h <= $r_h + 2 beta_{k-1} ||phi||_{V_h^{-1}}$ for all pairs
      (s, a), steps and episodes with probability at least 1 - 4 H delta. Hence $W_1$ is an upper bound of the optimal
      value, and the regret of an episode is at most the sum over its steps of the expected 2 beta_{k-1} ||phi(s_h,
      a_h)||_{V_h^{-1}}.

    Deviations:
      * [ours] The paper (Section 6.1) only says that Hvt-UCB may extend to linear MDPs. The whole algorithm is ours,
        with known transitions and unclipped values. Heavy-LSVI-UCB of Huang et al. (NeurIPS 2023) covers unknown
        transitions by weighted value regression.
      * The deviations of `HvtEstimator` apply.
      * [ours] Ties go to the first action.

    Numerics:
      In float32 every estimate is within 1e-4 of its float64 value over 300 episodes
      (float32/test_extensions.py::test_estimates_of_episodes_follow_the_float64_loop).

    References:
      Jing Wang, Yu-Jie Zhang, Peng Zhao, Zhi-Hua Zhou. Heavy-Tailed Linear Bandits: Huber Regression with One-Pass
      Update. ICML 2025, arXiv:2503.00419, Section 6.1, Algorithm 1, Lemma 1.
    """

    source: ClassVar[str] = "ours, after Wang, Zhang, Zhao & Zhou, ICML 2025, Section 6.1"
    environments: ClassVar[tuple[str, ...]] = ("linear/linear_mdp",)
    dim: int = static(range="[1, inf)", doc="d, dimension of the features")
    steps: int = static(range="[1, inf)", doc="H, number of steps of an episode")
    moment_bound: ArrayLike | None = param(
        None, "[0, inf)", "nu, bound on the moment scale; None: nu is part of the feedback"
    )

    @classmethod
    def theory(
        cls, *, dim: int, steps: int, horizon: ArrayLike, eps: ArrayLike = 1.0, **changes: FieldValue
    ) -> "HvtMDP":
        """Use the constants of Hvt-UCB's Theorem 1: lambda = d, sigma_min = 1/sqrt(K), delta = 1/(8K), alpha = 4."""
        return cls(dim=dim, steps=steps, horizon=horizon, eps=eps, **changes)

    @classmethod
    def practical(
        cls, *, dim: int, steps: int, horizon: ArrayLike, eps: ArrayLike = 1.0, **changes: FieldValue
    ) -> "HvtMDP":
        """Use the constants of the theory with the multipliers of `HvtUCB.practical`, which are tuned on bandits."""
        scaled = MULTIPLIERS["hvt_ucb"] | changes
        return cls.theory(dim=dim, steps=steps, horizon=horizon, eps=eps, **scaled)

    @classmethod
    def example(cls) -> "HvtMDP":
        return cls.practical(dim=2, steps=2, horizon=200, eps=0.99)

    @property
    def feedback(self) -> type:
        """Feedback type: `ScaledEpisode`, or `Episode` if `moment_bound` is set."""
        return ScaledEpisode if self.moment_bound is None else Episode

    @property
    def estimator(self) -> HvtEstimator:
        """Regression for each step, with the constants of this learner."""
        return self.estimator_of(self.dim)

    def init(self, key: jax.Array) -> HvtState:
        """Return the state of one estimator, with `theta` of shape `[H, d]` and a leading axis `[H]` in `inverse`."""
        del key  # deterministic
        state = self.estimator.init()

        def repeat(tree: PyTree) -> PyTree:
            return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (self.steps, *leaf.shape)), tree)

        return state._replace(
            theta=repeat(state.theta), inverse=repeat(state.inverse), theta_rounding=repeat(state.theta_rounding)
        )

    def select(self, key: jax.Array, t: jax.Array, state: HvtState, obs: MDPObs) -> PolicyDecision:
        del key
        return PolicyDecision(
            planning.backward_induction(self.optimistic_rewards(t, state, obs), obs.transitions).actions
        )

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: HvtState,
        obs: MDPObs,
        decision: PolicyDecision,
        feedback: Feedback,  # ScaledEpisode, or Episode when `moment_bound` is set
    ) -> HvtState:
        del key, obs, decision
        moment = feedback.noise_scale if self.moment_bound is None else self.moment_bound
        axes = vmap_axes()
        each_step = jax.vmap(self.estimator.update, in_axes=(None, axes, 0, 0, None), out_axes=axes)
        return each_step(t, state, feedback.features, feedback.rewards, moment)

    def recommend(self, state: HvtState) -> Vector:
        """Return the estimates `[H, d]` of theta*_h."""
        return state.theta

    def optimistic_rewards(self, t: jax.Array, state: HvtState, obs: MDPObs) -> jax.Array:
        """Return the optimistic rewards rtil_h(s, a) `[H, nS, nA]` after t episodes."""
        radius = self.estimator.radius(t, state)

        def one_step(state: HvtState) -> jax.Array:
            return obs.features @ state.theta + radius * widths(state.inverse, obs.features)

        return jax.vmap(one_step, in_axes=(vmap_axes(),))(state)
