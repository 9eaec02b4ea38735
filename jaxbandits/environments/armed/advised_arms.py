"""Bernoulli bandit with a context that is hidden from the learner, and experts who know it and recommend arms.

    context c_t uniform on 1, ..., C;   reward_t ~ Bernoulli(mu_{c_t, i}) for the arm i played
    expert m recommends the arm a_{m, c_t} with probability 1 - spread, else a uniformly random arm
    regret        = sum_t (max_k mu_{c_t, k} - mu_{c_t, i_t})                     against the best arm of every round
    expert_regret = max_m sum_t (sum_k e_{m, t, k} mu_{c_t, k} - mu_{c_t, i_t})   against the best expert of all rounds

$e_{m, t}$ is the advice of expert m, a distribution over arms. The means are drawn for every trial unless they are
given. The arm $a_{m, c}$ is also drawn for every trial: with probability skill (m - 1) / (M - 1), which is 0 for a
single expert, it is the best arm of context c, else it is uniformly random. Regret is computed from means, not from
rewards.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, lists_to_arrays, param, pytree, static
from jaxbandits.estimation.arms import largest
from jaxbandits.numerics import first_axis, rng
from jaxbandits.types import AdviceObs, ArmDecision, Reward


class AdvisedState(NamedTuple):
    """Problem instance, and context of the current round."""

    means: jax.Array  # [C, K]
    policies: jax.Array  # [M, C] int32, arm that each expert recommends in each context
    context: jax.Array  # [] int32, context of the round


class AdvisedOutcome(NamedTuple):
    """Regret and mean rewards of one round."""

    regret: jax.Array  # []
    mean: jax.Array  # []  mean reward of the arm played
    expert_mean: jax.Array  # [M]  mean reward of an arm drawn from the advice of each expert


@pytree
class AdvisedArms:
    """K Bernoulli arms whose means depend on a context that only experts know; the last expert has the most skill."""

    source: ClassVar[str] = "Bernoulli arms in a hidden context, with experts of increasing skill"
    axes: ClassVar = {"expert_mean": ("expert",)}
    units: ClassVar = dict.fromkeys(("regret", "expert_regret", "mean", "expert_mean"), "reward")
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")
    n_experts: int = static(range="[1, inf)", doc="M, number of experts")
    n_contexts: int = static(8, "[1, inf)", "C, number of contexts")
    means: ArrayLike | None = param(
        None, "[0, 1]", "[C, K] probabilities; None to draw them in every trial, uniformly from [0, 1]"
    )
    skill: ArrayLike = param(0.9, "[0, 1]", "probability that the last of several experts knows a context's best arm")
    spread: ArrayLike = param(0.1, "[0, 1]", "weight of the uniform distribution in every expert's advice")

    def __post_init__(self) -> None:
        lists_to_arrays(self, "means")

    @classmethod
    def example(cls) -> "AdvisedArms":
        return cls(n_arms=5, n_experts=4, n_contexts=3)

    def check(self) -> None:
        """Raise InputError if the means do not have the shape `[C, K]`."""
        shape = (self.n_contexts, self.n_arms)
        if self.means is not None and np.shape(self.means)[-2:] != shape:
            raise InputError(f"AdvisedArms.means must have shape {list(shape)}, got {list(np.shape(self.means))}")

    @property
    def reward_range(self) -> tuple[float, float]:
        """Interval [0, 1] that contains all rewards."""
        return 0.0, 1.0

    def init(self, key: jax.Array) -> AdvisedState:
        n, m, c = self.n_arms, self.n_experts, self.n_contexts
        means_key, arm_key, skill_key, context_key = jax.random.split(key, 4)
        if self.means is None:
            means = rng.uniforms(means_key, c * n).reshape(c, n)
        else:
            means = jnp.asarray(self.means, jnp.result_type(float))
        anyone = rng.randints(arm_key, n, m * c).reshape(m, c)
        skills = self.skill * jnp.arange(m) / max(m - 1, 1)
        knows = rng.uniforms(skill_key, m * c).reshape(m, c) < skills[:, None]
        policies = jnp.where(knows, first_axis.argmax(means.T), anyone)
        return AdvisedState(means, policies, rng.randint(context_key, c))

    def observe(self, key: jax.Array, t: jax.Array, state: AdvisedState) -> AdviceObs:
        del key, t
        named = state.policies[:, state.context][:, None] == jnp.arange(self.n_arms)
        return AdviceObs.of((1.0 - self.spread) * named + self.spread / self.n_arms)

    def step(
        self, key: jax.Array, t: jax.Array, state: AdvisedState, obs: AdviceObs, decision: ArmDecision
    ) -> tuple[AdvisedState, Reward, AdvisedOutcome]:
        del t
        means = state.means[state.context]
        mean = means[decision.index]
        reward = jnp.where(rng.bernoulli(key, mean), 1.0, 0.0)
        following = state._replace(context=rng.randint(key, self.n_contexts, counter=1))
        return following, Reward(reward), AdvisedOutcome(largest(means) - mean, mean, obs.advice @ means)

    def admits(self, state: AdvisedState, obs: AdviceObs, decision: ArmDecision) -> jax.Array:
        """Return True if the index of the arm is in range."""
        del state, obs
        return (decision.index >= 0) & (decision.index < self.n_arms)

    def derive(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return `expert_regret`, the regret against the expert with the largest total mean reward."""
        return {"expert_regret": values["expert_mean"].max(axis=-1) - values["mean"]}
