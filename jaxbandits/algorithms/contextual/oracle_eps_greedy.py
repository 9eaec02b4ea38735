"""Epsilon-greedy with a regression oracle (Langford & Zhang, NIPS 2007; Bietti, Agarwal & Langford, JMLR 2021).

    play   argmax_k yhat_k with probability 1 - eps_t, else an arm uniformly at random,   eps_t = eps / t^a

yhat_k is the oracle's prediction of the reward of arm k (`oracle_learner`). The cost per round is $O(K p)$ plus one
update of the oracle.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.contextual.oracle_learner import OracleLearner
from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.estimation.arms import greedy_weights
from jaxbandits.types import ContextObs, State


@pytree
class OracleEpsGreedy(OracleLearner):
    """Learner that explores uniformly with probability eps_t, and otherwise plays greedily by an oracle's predictions.

    Guarantee:
      None with a fixed eps. With $a = 1/3$ and an oracle with fast rates, the regret is of order $T^{2/3}$.

    Deviations:
      * [ours] The oracle is updated with the squared loss of the arm played, without importance weights. The play of a
        randomised oracle is drawn anew in `update`. Ties go to the first arm.

    References:
      Alberto Bietti, Alekh Agarwal, John Langford. A Contextual Bandit Bake-off. JMLR 22(133), 2021, Algorithm 2.
      John Langford, Tong Zhang. The Epoch-Greedy Algorithm for Multi-armed Bandits with Side Information. NIPS 2007.
    """

    source: ClassVar[str] = "Bietti, Agarwal & Langford, JMLR 2021, epsilon-greedy"
    eps: ArrayLike = param(0.05, "[0, 1]", "eps, probability of a uniform draw")
    decay: ArrayLike = param(0.0, "[0, inf)", "a, decay exponent: the probability is eps / t^a in round t = 1, 2, ...")

    @classmethod
    def example(cls) -> "OracleEpsGreedy":
        return cls(n_arms=3, dim=2, oracle=OGD(dim=6, lipschitz=4.0))

    def weights(self, key: jax.Array, t: jax.Array, state: State, obs: ContextObs, mask: jax.Array) -> jax.Array:
        scores = self.predict(key, t, state, obs.context)
        eps = self.eps * jnp.exp(-self.decay * jnp.log((t + 1).astype(scores.dtype)))
        return eps * mask / jnp.sum(mask) + (1.0 - eps) * greedy_weights(scores, mask)
