"""UCB1 for rewards in [0, 1] (Auer, Cesa-Bianchi & Fischer, Machine Learning 47, 2002, Figure 1).

    play   argmax_i  m_i + sqrt(c log t / T_i),   after one play of every arm

After t rounds, arm i has $T_i$ plays with mean reward $m_i$; the paper has $c = 2$. Notation: c is the field
`exploration`. The cost per round is $O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls, log_rounds
from jaxbandits.base.pytree import ArrayLike, param, pytree


@pytree
class UCB1(IndexPolicy):
    """Index policy with upper confidence bounds from Hoeffding's inequality.

    Guarantee:
      If rewards are independent and in [0, 1], the gaps are $D_i$ and $c = 2$, then the expected regret after T rounds
      is at most $8 sum_{D_i > 0} log T / D_i + (1 + pi^2 / 3) sum_i D_i$ (Theorem 1).

    Deviations:
      * [ours] c is a field (`exploration`); it is 2 in the paper. Ties go to the first arm.

    References:
      Peter Auer, Nicolo Cesa-Bianchi, Paul Fischer. Finite-time Analysis of the Multiarmed Bandit Problem.
      Machine Learning 47, 2002, Figure 1, Theorem 1.
    """

    source: ClassVar[str] = "Auer, Cesa-Bianchi & Fischer, Machine Learning 2002, Figure 1"
    exploration: ArrayLike = param(2.0, "[0, inf)", "c, factor of log t; the paper uses 2")

    @classmethod
    def example(cls) -> "UCB1":
        return cls(n_arms=5)

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del key
        return state.mean + jnp.sqrt(self.exploration * log_rounds(t) / state.positive_count)
