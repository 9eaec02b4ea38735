"""RegCB-Opt: the arm with the largest upper bound on its reward (Foster et al., ICML 2018).

    play   one of the arms with u_k = max_j u_j, uniformly at random

$u_k$ and $l_k$ are the bounds on the reward of arm k in this context (`reg_cb`). A round costs $O(K)$ updates of the
oracle.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.contextual.reg_cb import RegCB
from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.base.pytree import pytree


@pytree
class RegCBOpt(RegCB):
    """Optimistic policy that plays the arm with the largest upper bound on its mean reward.

    Guarantee:
      None with an online oracle. The paper's guarantee is for least squares over a class that contains the mean
      rewards, with bounds over all functions whose loss exceeds the smallest loss by at most Delta: the regret is then
      logarithmic in T under conditions on the contexts.

    Deviations:
      * [printed] The bounds use the sensitivity of an online oracle and c = 0.1, and ties are broken at random, as in
        Vowpal Wabbit.
      * [ours] The sensitivity is the effect of one update of weight 1 instead of a derivative, so that any learner of
        `jaxbandits.oco` can be the oracle. The weight is computed by Newton's method (Vowpal Wabbit uses 20
        bisections). K in Delta_t counts only the available arms. The play of a randomised oracle is drawn anew in
        `update`.

    References:
      Dylan Foster, Alekh Agarwal, Miroslav Dudik, Haipeng Luo, Robert Schapire. Practical Contextual Bandits with
      Regression Oracles. ICML 2018, optimism.
      Alberto Bietti, Alekh Agarwal, John Langford. A Contextual Bandit Bake-off. JMLR 22(133), 2021.
    """

    source: ClassVar[str] = "Foster, Agarwal, Dudik, Luo & Schapire, ICML 2018, optimism"

    @classmethod
    def example(cls) -> "RegCBOpt":
        return cls(n_arms=3, dim=2, oracle=OGD(dim=6, lipschitz=6.0), low=-1.0)

    def choose(self, lower: jax.Array, upper: jax.Array) -> jax.Array:
        return upper >= jnp.max(upper)
