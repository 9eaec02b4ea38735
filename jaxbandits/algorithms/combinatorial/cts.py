"""CTS: combinatorial Thompson sampling (Wang & Chen, ICML 2018, Algorithm 1).

    theta_e ~ Beta(alpha_0 + S_e, beta_0 + T_e - S_e)
    set     argmax_A sum_{e in A} theta_e,   by an oracle

Here $S_e$ is the sum of the $T_e$ rewards of item e. With sets of m out of L items, the cost per round is $O(m L)$ plus
one call of the oracle.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.algorithms.combinatorial.set_policy import OraclePolicy
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.estimation.oracles import TopM
from jaxbandits.numerics import rng
from jaxbandits.types import ArmObs, ItemRewards, SetDecision


@pytree
class CTS(OraclePolicy):
    """Thompson sampling with independent beta priors for semi-bandits.

    Guarantee:
      If rewards are independent and in [0, 1] and the oracle is exact, then the expected regret after n rounds is
      $O(sum_e log K log n / D_e)$ plus a constant (Theorem 1), where K is the largest size of a set and $D_e$ is the
      smallest gap of a suboptimal set that contains e.

    Deviations:
      * [ours] A reward between 0 and 1 counts as a fractional success (the paper draws a Bernoulli variable instead);
        rewards outside [0, 1] are clipped.

    References:
      Siwei Wang, Wei Chen. Thompson Sampling for Combinatorial Semi-Bandits. ICML 2018, arXiv:1803.04623, Algorithm 1.
    """

    source: ClassVar[str] = "Wang & Chen, ICML 2018, Algorithm 1"
    first_seen: ClassVar[float] = 0.0  # unobserved items keep the prior
    prior_success: ArrayLike = param(1.0, "(0, inf)", "alpha_0, number of successes that the prior assumes")
    prior_failure: ArrayLike = param(1.0, "(0, inf)", "beta_0, number of failures that the prior assumes")

    @classmethod
    def theory(cls, *, n_items: int, oracle: Any, **changes: Any) -> "CTS":
        """Use uniform priors (the default)."""
        return cls(**{"n_items": n_items, "oracle": oracle} | changes)

    @classmethod
    def example(cls) -> "CTS":
        return cls(n_items=6, oracle=TopM(size=3))

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del t
        return rng.betas(key, self.prior_success + state.total, self.prior_failure + (state.count - state.total))

    def update(
        self, key: jax.Array, t: jax.Array, state: Pulls, obs: ArmObs, decision: SetDecision, feedback: ItemRewards
    ) -> Pulls:
        return super().update(
            key, t, state, obs, decision, feedback._replace(reward=jnp.clip(feedback.reward, 0.0, 1.0))
        )
