"""Abstract index policy on the posteriors of Bernoulli arms: the means have independent beta distributions.

Beta(alpha_0 + S_i, beta_0 + F_i),   S_i the sum of the rewards of arm i, S_i + F_i its plays
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.types import ArmDecision, ArmObs, Reward


@pytree
class BetaPosterior(IndexPolicy):
    """Abstract policy for rewards 0 and 1.

    A reward between 0 and 1 counts as that fraction of a success. Each reward outside is clipped to [0, 1], hence
    $0 <= S_i <= T_i$ for $T_i$ plays, also after rounding.
    """

    first_pulls: ClassVar[float] = 0.0  # the prior serves arms that were not played
    prior_success: ArrayLike = param(1.0, "(0, inf)", "alpha_0, successes before the first round")
    prior_failure: ArrayLike = param(1.0, "(0, inf)", "beta_0, failures before the first round")

    def update(
        self, key: jax.Array, t: jax.Array, state: Pulls, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> Pulls:
        del key, t, obs
        return state.add(decision.index, jnp.clip(feedback.reward, 0.0, 1.0))

    def posterior(self, state: Pulls) -> tuple[jax.Array, jax.Array]:
        """Return both parameters `[K]` of the beta laws."""
        return self.prior_success + state.total, self.prior_failure + (state.count - state.total)
