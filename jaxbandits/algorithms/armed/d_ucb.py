"""D-UCB: discounted UCB for non-stationary rewards (Garivier & Moulines, ALT 2011).

    N_i   = sum_{s < t, i played} gamma^{t-1-s},   m_i = sum_{s < t, i played} gamma^{t-1-s} reward_s / N_i
    play    argmax_i  m_i + 2 B sqrt(xi log(sum_k N_k) / N_i),   after one play of every arm

The policy plays this arm in round t. Notation: gamma is the field `discount`, B is `reward_bound` and xi is `xi`. The
cost per round is $O(K)$.
"""

import math
from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.discounted_policy import DiscountedPolicy
from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree


@pytree
class DUCB(DiscountedPolicy):
    """UCB with exponentially decaying weights: every round multiplies the weights of all past rewards by gamma.

    Guarantee:
      If rewards are independent and in [0, B], their means change at most C times in T rounds, xi > 1/2 and gamma is
      set as in `theory`, then a suboptimal arm is played $O(sqrt(C T) log T)$ times in expectation.

    Deviations:
      * [ours] An arm whose discounted count is below the smallest normal floating-point number counts as not played.
        Ties go to the first arm.

    References:
      Aurelien Garivier, Eric Moulines. On Upper-Confidence Bound Policies for Switching Bandit Problems. ALT 2011,
      arXiv:0805.3415.
    """

    source: ClassVar[str] = "Garivier & Moulines, ALT 2011, D-UCB"
    reward_bound: ArrayLike = param(1.0, "(0, inf)", "B, upper end of the interval [0, B] of the rewards")
    xi: ArrayLike = param(0.6, "[0, inf)", "xi, factor of the exploration; above 1/2 in the theory")

    @classmethod
    def theory(
        cls, *, n_arms: int, horizon: int, changes: int, reward_bound: float = 1.0, **fields: FieldValue
    ) -> "DUCB":
        """Use gamma = 1 - sqrt(C / T) / (4 B) for C changes in T rounds."""
        horizon = ranges.integer("horizon", horizon, "[1, inf)")
        share = ranges.integer("changes", changes, f"[1, {horizon}]") / horizon
        discount = 1.0 - math.sqrt(share) / (4.0 * ranges.real("reward_bound", reward_bound, "[1, inf)"))
        return cls(**{"n_arms": n_arms, "discount": discount, "reward_bound": reward_bound} | fields)

    @classmethod
    def example(cls) -> "DUCB":
        return cls(n_arms=5, discount=0.95)

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del key, t
        count = jnp.maximum(state.count, self.first_pulls)
        log_all = jnp.log(jnp.maximum(jnp.sum(state.count), 1.0))
        return state.total / count + 2.0 * self.reward_bound * jnp.sqrt(self.xi * log_all / count)
