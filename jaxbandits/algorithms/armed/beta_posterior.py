"""Abstract index policy on the posteriors of Bernoulli arms: the means have independent beta distributions.

Beta(alpha_0 + S_i, beta_0 + F_i),   S_i the sum of the rewards of arm i, S_i + F_i its number of plays
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.types import ArmDecision, ArmObs, Reward


@pytree
class BetaPosterior(IndexPolicy):
    """Abstract index policy for rewards in {0, 1} with independent beta posteriors.

    A reward between 0 and 1 counts as a fractional success, and rewards outside [0, 1] are clipped. Hence
    $0 <= S_i <= T_i$ for $T_i$ plays, even after rounding.
    """

    first_pulls: ClassVar[float] = 0.0  # arms without plays keep the prior
    prior_success: ArrayLike = param(1.0, "(0, inf)", "alpha_0, number of successes that the prior assumes")
    prior_failure: ArrayLike = param(1.0, "(0, inf)", "beta_0, number of failures that the prior assumes")

    def update(
        self, key: jax.Array, t: jax.Array, state: Pulls, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> Pulls:
        del key, t, obs
        return state.add(decision.index, jnp.clip(feedback.reward, 0.0, 1.0))

    def posterior(self, state: Pulls) -> tuple[jax.Array, jax.Array]:
        """Return both parameters of the beta posteriors, `[K]` each."""
        return self.prior_success + state.total, self.prior_failure + (state.count - state.total)
