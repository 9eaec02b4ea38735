"""D-kl-UCB: discounted KL-UCB for non-stationary rewards (Garivier & Moulines, ALT 2011, with kl bounds).

    N_i   = sum_{s < t, i played} gamma^{t-1-s},   m_i = sum_{s < t, i played} gamma^{t-1-s} reward_s / N_i
    play    argmax_i  max{q in [0, 1] : N_i kl(m_i, q) <= log n + c log log n},   n = sum_k N_k

The policy plays this arm in round t, after one play of every arm. Notation: gamma is the field `discount`. The cost per
round is $O(K)$.
"""

import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.discounted_policy import DiscountedPolicy
from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.numerics import bernoulli

_FEWEST = 1e-12  # lower bound on the count that divides the exploration level


@pytree
class DKLUCB(DiscountedPolicy):
    """KL-UCB for rewards in [0, 1], with weights that decay by a factor gamma per round.

    Guarantee:
      Garivier and Moulines state no guarantee for kl bounds.

    Deviations:
      * [ours] Means outside [0, 1] are clipped; log log n counts as 0 for n <= e. An arm whose discounted count is
        below the smallest normal floating-point number counts as not played. Ties go to the first arm.

    References:
      Aurelien Garivier, Eric Moulines. On Upper-Confidence Bound Policies for Switching Bandit Problems. ALT 2011,
      arXiv:0805.3415: the discount.
      Lilian Besson, Emilie Kaufmann, Odalric-Ambrym Maillard, Julien Seznec. Efficient Change-Point Detection for
      Tackling Piecewise-Stationary Bandits. JMLR 23(77), 2022: the policy with kl bounds, as a baseline.
    """

    source: ClassVar[str] = "Garivier & Moulines, ALT 2011, D-UCB with kl bounds"
    c: ArrayLike = param(0.0, "[0, inf)", "c, factor of log log n")

    @classmethod
    def theory(cls, *, n_arms: int, horizon: int, changes: int, **fields: Any) -> "DKLUCB":
        """Use gamma = 1 - sqrt(C / T) / 4 for C changes in T rounds."""
        horizon = ranges.integer("horizon", horizon, "[1, inf)")
        share = ranges.integer("changes", changes, f"[1, {horizon}]") / horizon
        return cls(**{"n_arms": n_arms, "discount": 1.0 - math.sqrt(share) / 4.0} | fields)

    @classmethod
    def example(cls) -> "DKLUCB":
        return cls(n_arms=5, discount=0.95)

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del key, t
        count = jnp.maximum(state.count, _FEWEST)
        log_all = jnp.log(jnp.maximum(jnp.sum(state.count), 1.0))
        level = log_all + self.c * jnp.log(jnp.maximum(log_all, 1.0))
        mean = jnp.clip(state.total / jnp.maximum(state.count, self.first_pulls), 0.0, 1.0)
        return bernoulli.upper(mean, level / count)
