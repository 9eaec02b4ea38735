"""SquareCB: inverse gap weighting with a regression oracle (Foster & Rakhlin, ICML 2020, Algorithm 1).

    b    = argmax_k yhat_k
    p_k  = 1 / (K + gamma_t (yhat_b - yhat_k))  for k != b,   p_b = 1 - sum_{k != b} p_k,   gamma_t = c t^a
    play   k with probability p_k

yhat_k is the oracle's prediction of the reward of arm k (`oracle_learner`). The cost per round is $O(K p)$ plus one
update of the oracle.
"""

from typing import Any, ClassVar

import jax
import numpy as np

from jaxbandits.algorithms.contextual.inverse_gap import inverse_gap_weights
from jaxbandits.algorithms.contextual.oracle_learner import OracleLearner
from jaxbandits.algorithms.contextual.rules.rule import power
from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree
from jaxbandits.types import ContextObs, State


@pytree
class SquareCB(OracleLearner):
    """SquareCB: reduction of contextual bandits to online regression with an arbitrary oracle.

    Guarantee:
      If rewards are in [0, 1], their mean function is in the oracle's class and the oracle has regret at most R in
      squared loss, then the regret with `theory` is, with probability at least 1 - delta, at most $4 sqrt(K T R) + 8
      sqrt(K T log(2 / delta))$.

    Deviations:
      * [printed] The default is $gamma_t = 10 sqrt(t)$, as in Vowpal Wabbit.
      * [reconstructed] The gamma of `theory` and the constants of the bound are reconstructed. The authors' lecture
        notes have gamma = $sqrt(K T / E)$ and the bound $2 sqrt(K T E)$ for predictions whose expected squared errors
        sum to at most E.
      * [ours] The oracle is updated with the squared loss of the arm played, and its predictions are not clipped. The
        play of a randomised oracle is drawn anew in `update`. K in the formulas counts only the available arms. Ties go
        to the first arm.

    References:
      Dylan Foster, Alexander Rakhlin. Beyond UCB: Optimal and Efficient Contextual Bandits with Regression Oracles.
      ICML 2020, Algorithm 1.
      Dylan Foster, Alexander Rakhlin. Foundations of Reinforcement Learning and Interactive Decision Making.
      arXiv:2312.16730, Proposition 10.
    """

    source: ClassVar[str] = "Foster & Rakhlin, ICML 2020, Algorithm 1"
    scale: ArrayLike = param(10.0, "[0, inf)", "c, factor in gamma_t = c t^a")
    exponent: ArrayLike = param(0.5, "[0, inf)", "a, exponent in gamma_t = c t^a")

    @classmethod
    def theory(
        cls,
        *,
        n_arms: int,
        dim: int,
        oracle: Any,
        horizon: ArrayLike,
        regret: ArrayLike,
        delta: float = 0.05,
        **changes: FieldValue,
    ) -> "SquareCB":
        """Use gamma = sqrt(K T / (R + log(2 / delta))) for an oracle with regret at most R in T rounds."""
        horizon = ranges.numbers("horizon", horizon, "[1, 1e18]")
        bound = ranges.numbers("regret", regret, "[0, inf)") + np.log(2.0 / ranges.real("delta", delta, "(0, 1)"))
        scale = np.sqrt(ranges.integer("n_arms", n_arms, "[1, 1000000000]") * horizon / bound)
        return cls(**{"n_arms": n_arms, "dim": dim, "oracle": oracle, "scale": scale, "exponent": 0.0} | changes)

    @classmethod
    def example(cls) -> "SquareCB":
        return cls(n_arms=3, dim=2, oracle=OGD(dim=6, lipschitz=4.0))

    def weights(self, key: jax.Array, t: jax.Array, state: State, obs: ContextObs, mask: jax.Array) -> jax.Array:
        scores = self.predict(key, t, state, obs.context)
        return inverse_gap_weights(scores, mask, self.scale * power(t, self.exponent, scores))
