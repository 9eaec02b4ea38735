"""CascadeUCB1: a list of the items with the largest UCB1 indices (Kveton et al., ICML 2015, Algorithm 1).

    U_e    = w_e + sqrt(1.5 log(t - 1) / T_e)
    list   the m of the L items with the largest U_e, in decreasing order

The policy shows this list in round $t = 1$, 2, ...; $w_e$ is the fraction of clicks among the $T_e$ observations of
item e. A round reveals the items up to the first click, or the whole list if there is no click. Notation: the factor
1.5 is the field `exploration`. The cost per round is $O(m L)$.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import Pulls, log_rounds
from jaxbandits.algorithms.combinatorial.set_policy import CascadePolicy
from jaxbandits.base.pytree import ArrayLike, param, pytree


@pytree
class CascadeUCB1(CascadePolicy):
    """UCB1 for the cascade model, in which the user clicks on the first attractive item of a list.

    Guarantee:
      If items attract independently with probabilities $w_1 >= ... >= w_L$, and $D_e = w_m - w_e$, then the expected
      regret with `theory` after n rounds is $O(sum_{e > m} log n / D_e)$ (Theorem 2).

    Deviations:
      * [ours] The paper starts with one free observation of every item; here, unobserved items are displayed first, in
        turn. Ties go to the first item.

    References:
      Branislav Kveton, Csaba Szepesvari, Zheng Wen, Azin Ashkan. Cascading Bandits: Learning to Rank in the Cascade
      Model. ICML 2015, arXiv:1502.02763, Algorithm 1, Theorem 2.
      Daniel Russo, Benjamin Van Roy, Abbas Kazerouni, Ian Osband, Zheng Wen. A Tutorial on Thompson Sampling.
      Foundations and Trends in Machine Learning 11, 2018: the scaled width of `practical`.
    """

    source: ClassVar[str] = "Kveton, Szepesvari, Wen & Ashkan, ICML 2015, Algorithm 1"
    exploration: ArrayLike = param(1.5, "[0, inf)", "factor of the logarithm under the root; 1.5 in the theory")

    @classmethod
    def theory(cls, *, n_items: int, list_size: int, **changes: Any) -> "CascadeUCB1":
        """Use the factor 1.5 (the default)."""
        return cls(**{"n_items": n_items, "list_size": list_size} | changes)

    @classmethod
    def practical(cls, *, n_items: int, list_size: int, **changes: Any) -> "CascadeUCB1":
        """Use a tenth of the width, as the tutorial of Russo et al. does in its comparison with Thompson sampling."""
        return cls(**{"n_items": n_items, "list_size": list_size, "exploration": 0.015} | changes)

    @classmethod
    def example(cls) -> "CascadeUCB1":
        return cls(n_items=6, list_size=3)

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del key
        inverse = 1.0 / state.positive_count
        return state.total * inverse + jnp.sqrt(self.exploration * log_rounds(t) * inverse)
