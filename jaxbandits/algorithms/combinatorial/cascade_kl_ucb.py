"""CascadeKL-UCB: a list of the items with the largest KL-UCB indices (Kveton et al., ICML 2015, Algorithm 1).

    U_e    = max{q in [w_e, 1] : T_e kl(w_e, q) <= log t + 3 log log t}
    list   the m of the L items with the largest U_e, in decreasing order

The policy shows this list in round $t = 1$, 2, ...; $w_e$ is the fraction of clicks among the $T_e$ observations of
item e. A round reveals the items up to the first click, or the whole list if there is no click. Notation: the factor 3
is the field `c`. The cost per round is $O(m L)$.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import Pulls, log_rounds
from jaxbandits.algorithms.combinatorial.set_policy import CascadePolicy
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.numerics import bernoulli


@pytree
class CascadeKLUCB(CascadePolicy):
    """KL-UCB for the cascade model, in which the user clicks on the first attractive item of a list.

    Guarantee:
      If items attract independently with probabilities $w_1 >= ... >= w_L$, $D_e = w_m - w_e$ and $c = 3$, then the
      expected regret after n rounds is $O(log(1 / min D) sum_{e > m} D_e log n / kl(w_e, w_m))$ (Theorem 3), within a
      logarithmic factor of the lower bound (Theorem 4).

    Deviations:
      * [ours] The paper starts with one free observation of every item; here, unobserved items are displayed first, in
        turn. Means outside [0, 1] are clipped; log log t counts as 0 for t <= e. Ties go to the first item.

    References:
      Branislav Kveton, Csaba Szepesvari, Zheng Wen, Azin Ashkan. Cascading Bandits: Learning to Rank in the Cascade
      Model. ICML 2015, arXiv:1502.02763, Algorithm 1, Theorems 3 and 4.
    """

    source: ClassVar[str] = "Kveton, Szepesvari, Wen & Ashkan, ICML 2015, Algorithm 1"
    c: ArrayLike = param(3.0, "[0, inf)", "c, factor of log log t")

    @classmethod
    def theory(cls, *, n_items: int, list_size: int, **changes: Any) -> "CascadeKLUCB":
        """Use c = 3, the value of Theorem 3 (the default)."""
        return cls(**{"n_items": n_items, "list_size": list_size} | changes)

    @classmethod
    def practical(cls, *, n_items: int, list_size: int, **changes: Any) -> "CascadeKLUCB":
        """Use c = 0, the value that is recommended for KL-UCB in practice."""
        return cls(**{"n_items": n_items, "list_size": list_size, "c": 0.0} | changes)

    @classmethod
    def example(cls) -> "CascadeKLUCB":
        return cls(n_items=6, list_size=3)

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del key
        log_now = log_rounds(t + 1)
        level = log_now + self.c * jnp.log(jnp.maximum(log_now, 1.0))
        return bernoulli.upper(jnp.clip(state.mean, 0.0, 1.0), level / state.positive_count)
