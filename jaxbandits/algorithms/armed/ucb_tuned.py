"""UCB1-Tuned: UCB1 with an upper bound on the variance of each arm (Auer, Cesa-Bianchi & Fischer, 2002, Section 4).

    play   argmax_i  m_i + sqrt((log t / T_i) min(1/4, V_i + sqrt(2 log t / T_i))),   after one play of every arm

After t rounds, arm i has $T_i$ plays with mean reward $m_i$ and empirical variance $V_i$. The largest variance of a
reward in [0, 1] is 1/4. The cost per round is $O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, log_rounds
from jaxbandits.algorithms.armed.moments import Moments
from jaxbandits.base.pytree import ArrayLike, param, pytree


@pytree
class UCBTuned(IndexPolicy):
    """Index policy for rewards in [0, 1], with upper confidence bounds that depend on the empirical variance.

    Guarantee:
      No guarantee is proved; the authors recommend the policy because of their experiments.

    Deviations:
      * [ours] The constant 1/4 of the paper is a field (`largest_variance`). Ties go to the first arm.

    References:
      Peter Auer, Nicolo Cesa-Bianchi, Paul Fischer. Finite-time Analysis of the Multiarmed Bandit Problem.
      Machine Learning 47, 2002, Section 4.
    """

    source: ClassVar[str] = "Auer, Cesa-Bianchi & Fischer, Machine Learning 2002, Section 4"
    largest_variance: ArrayLike = param(0.25, "(0, inf)", "largest variance of a reward; 1/4 for rewards in [0, 1]")

    @classmethod
    def example(cls) -> "UCBTuned":
        return cls(n_arms=5)

    def init(self, key: jax.Array) -> Moments:
        del key  # deterministic
        return Moments.init(self.n_arms)

    def index(self, key: jax.Array, t: jax.Array, state: Moments) -> jax.Array:
        del key
        share = log_rounds(t) / jnp.maximum(state.count, 1.0)
        variance = jnp.minimum(state.variance + jnp.sqrt(2.0 * share), self.largest_variance)
        return state.mean + jnp.sqrt(share * variance)
