"""UCB from a relative Chernoff bound, the baseline for Thompson sampling in Chapelle & Li (NIPS 2011, Section 2).

    play   argmax_i  m_i + sqrt(2 m_i L / T_i) + 2 L / T_i,   L = log(1 / delta_t),   after one play of every arm

After t rounds, arm i has $T_i$ plays with mean reward $m_i$, and $delta_t = t^{-a}$, where a is the field `power`. The
cost per round is $O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls, log_rounds
from jaxbandits.base.pytree import ArrayLike, param, pytree


@pytree
class ChernoffUCB(IndexPolicy):
    """Index policy for rewards in [0, 1] whose upper confidence bounds are tight for small means.

    Guarantee:
      If rewards are independent and in [0, 1], the mean of an arm with a fixed number of plays lies below its bound
      with probability at least $1 - delta_t$. There is no regret bound.

    Deviations:
      * [ours] Negative means are clipped to 0. Ties go to the first arm.

    References:
      Olivier Chapelle, Lihong Li. An Empirical Evaluation of Thompson Sampling. NIPS 2011, Section 2.
    """

    source: ClassVar[str] = "Chapelle & Li, NIPS 2011, UCB of their experiments"
    power: ArrayLike = param(0.5, "[0, inf)", "a, exponent in delta_t = t^{-a}; 1/2 in the paper's experiments")

    @classmethod
    def example(cls) -> "ChernoffUCB":
        return cls(n_arms=5)

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del key
        level = 2.0 * self.power * log_rounds(t) / state.positive_count
        mean = jnp.maximum(state.mean, 0.0)
        return mean + jnp.sqrt(mean * level) + level
