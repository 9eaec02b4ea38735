"""Discounted Thompson sampling for non-stationary rewards (Raj & Kalyani, 2017, Algorithm 1).

    S_i, F_i   <- gamma S_i, gamma F_i for every arm, then S_i + reward, F_i + 1 - reward for the arm i played
    play       argmax_i  theta_i ~ Beta(alpha_0 + S_i, beta_0 + F_i)

Notation: gamma is the field `discount`, alpha_0 is `prior_success` and beta_0 is `prior_failure`. The cost per round is
$O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.beta_posterior import BetaPosterior
from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.numerics import rng
from jaxbandits.types import ArmDecision, ArmObs, Reward


@pytree
class DiscountedTS(BetaPosterior):
    """Thompson sampling with weights that decay by a factor gamma per round.

    Guarantee:
      The paper states no guarantee.

    Deviations:
      * [ours] A reward between 0 and 1 counts as a fractional success; rewards outside [0, 1] are clipped.
      * [printed] The default is gamma = 0.95, as in Besson's thesis, in whose experiments the value 0.75 of the paper
        performs worse.

    References:
      Vishnu Raj, Sheetal Kalyani. Taming Non-stationary Bandits: A Bayesian Approach. arXiv:1707.09727, 2017,
      Algorithm 1.
      Lilian Besson. Multi-Players Bandit Algorithms for Internet of Things Networks. PhD thesis, CentraleSupelec, 2019,
      Chapter 6: gamma.
    """

    source: ClassVar[str] = "Raj & Kalyani, arXiv:1707.09727, 2017, Algorithm 1"
    counts_all: ClassVar[bool] = False
    discount: ArrayLike = param(0.95, "(0, 1]", "gamma, factor by which the weight of a reward decays per round")

    @classmethod
    def example(cls) -> "DiscountedTS":
        return cls(n_arms=5)

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del t
        return rng.betas(key, *self.posterior(state))

    def update(
        self, key: jax.Array, t: jax.Array, state: Pulls, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> Pulls:
        del key, t, obs
        reward = jnp.clip(feedback.reward, 0.0, 1.0)
        return Pulls(self.discount * state.count, self.discount * state.total).add(decision.index, reward)
