"""Thompson sampling for cascades (Russo, Van Roy, Kazerouni, Osband & Wen, FnT ML 2018, Section 7.3).

    theta_e ~ Beta(alpha_0 + S_e, beta_0 + T_e - S_e)
    list    the m of the L items with the largest theta_e, in decreasing order

Here $S_e$ is the number of clicks among the $T_e$ observations of item e. A round reveals the items up to the first
click, or the whole list if there is no click. The cost per round is $O(m L)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.algorithms.combinatorial.set_policy import CascadePolicy
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.numerics import rng
from jaxbandits.types import ArmObs, ItemRewards, SetDecision


@pytree
class CascadeTS(CascadePolicy):
    """Thompson sampling with independent beta priors in the cascade model.

    Guarantee:
      The tutorial states no guarantee.

    Deviations:
      * [ours] A reward between 0 and 1 counts as a fractional click; rewards outside [0, 1] are clipped.

    References:
      Daniel Russo, Benjamin Van Roy, Abbas Kazerouni, Ian Osband, Zheng Wen. A Tutorial on Thompson Sampling.
      Foundations and Trends in Machine Learning 11, 2018, arXiv:1707.02038, Section 7.3.
    """

    source: ClassVar[str] = "Russo et al., A Tutorial on Thompson Sampling, FnT ML 2018, Section 7.3"
    first_seen: ClassVar[float] = 0.0  # unobserved items keep the prior
    prior_success: ArrayLike = param(1.0, "(0, inf)", "alpha_0, number of clicks that the prior assumes")
    prior_failure: ArrayLike = param(
        1.0, "(0, inf)", "beta_0, number of observations without a click that the prior assumes"
    )

    @classmethod
    def example(cls) -> "CascadeTS":
        return cls(n_items=6, list_size=3)

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del t
        return rng.betas(key, self.prior_success + state.total, self.prior_failure + (state.count - state.total))

    def update(
        self, key: jax.Array, t: jax.Array, state: Pulls, obs: ArmObs, decision: SetDecision, feedback: ItemRewards
    ) -> Pulls:
        return super().update(
            key, t, state, obs, decision, feedback._replace(reward=jnp.clip(feedback.reward, 0.0, 1.0))
        )
