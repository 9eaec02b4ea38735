"""CombUCB1: UCB for combinatorial semi-bandits (Kveton, Wen, Ashkan & Szepesvari, AISTATS 2015, Algorithm 1).

    U_e    = w_e + sqrt(1.5 log(t - 1) / T_e)
    set    argmax_A sum_{e in A} U_e,   by an oracle

The policy plays this set in round $t = 1$, 2, ...; $w_e$ is the mean of the $T_e$ rewards of item e. Notation: the
factor 1.5 is the field `exploration`. With sets of m out of L items, the cost per round is $O(m L)$ plus one call of
the oracle.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import Pulls, log_rounds
from jaxbandits.algorithms.combinatorial.set_policy import OraclePolicy
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.estimation.oracles import TopM


@pytree
class CombUCB1(OraclePolicy):
    """UCB for semi-bandits, in which the rewards of all chosen items are observed (also called CUCB).

    Guarantee:
      If the rewards of items are in [0, 1], sets have at most K items and $D_e$ is the smallest gap of a suboptimal set
      that contains e, then the expected regret with `theory` after n rounds is at most $sum_e 534 K log n / D_e + (pi^2
      / 3 + 1) K L$, where the sum is over the items outside the best set (Theorem 4).

    Deviations:
      * [ours] Unobserved items have the highest scores, starting from item t mod L; the paper starts with sets that
        together contain every item. The oracle breaks ties.

    References:
      Branislav Kveton, Zheng Wen, Azin Ashkan, Csaba Szepesvari. Tight Regret Bounds for Stochastic Combinatorial
      Semi-Bandits. AISTATS 2015, arXiv:1410.0949, Algorithm 1, Theorem 4.
      Wei Chen, Yajun Wang, Yang Yuan. Combinatorial Multi-Armed Bandit. ICML 2013: CUCB, with the same bounds.
    """

    source: ClassVar[str] = "Kveton, Wen, Ashkan & Szepesvari, AISTATS 2015, Algorithm 1"
    exploration: ArrayLike = param(1.5, "[0, inf)", "factor of the logarithm under the root; 1.5 in the theory")

    @classmethod
    def theory(cls, *, n_items: int, oracle: Any, **changes: Any) -> "CombUCB1":
        """Use the factor 1.5 (the default)."""
        return cls(**{"n_items": n_items, "oracle": oracle} | changes)

    @classmethod
    def example(cls) -> "CombUCB1":
        return cls(n_items=6, oracle=TopM(size=3))

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del key
        inverse = 1.0 / state.positive_count
        return state.total * inverse + jnp.sqrt(self.exploration * log_rounds(t) * inverse)
