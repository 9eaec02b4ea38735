"""Abstract index policy on discounted rewards, for non-stationary bandits: weights decay by a factor gamma per round.

N_i   = sum_{s < t, i played} gamma^{t-1-s},   S_i = sum_{s < t, i played} gamma^{t-1-s} reward_s
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.types import ArmDecision, ArmObs, Reward


@pytree
class DiscountedPolicy(IndexPolicy):
    """Abstract index policy over discounted counts and discounted sums of rewards."""

    counts_all: ClassVar[bool] = False
    discount: ArrayLike = param(range="(0, 1]", doc="gamma, factor by which the weight of a reward decays per round")

    @property
    def first_pulls(self) -> Any:
        """Discounted count below which an arm is treated as not played."""
        return jnp.finfo(jnp.result_type(float)).tiny

    def update(
        self, key: jax.Array, t: jax.Array, state: Pulls, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> Pulls:
        del key, t, obs
        return Pulls(self.discount * state.count, self.discount * state.total).add(decision.index, feedback.reward)
