"""Linear Thompson sampling over sets of items, of which only the total reward is observed (Agrawal & Goyal, ICML 2013).

    theta~ ~ N(theta_t, v^2 V_t^{-1}),   set = argmax_A sum_{e in A} theta~_e,   by an oracle

Here theta_t and V_t are the estimate and the Gram matrix of ridge regression of the sums on the indicator vectors of
the sets. Notation: v is the field `width`, lambda is `ridge`, L is the number of items, and m is the size of a set. The
cost per round is $O(L^2)$ plus one call of the oracle.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.linear.lin_ts import LinTS, LinTSState
from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.estimation.items import check_items, item_sums
from jaxbandits.estimation.oracles import TopM, require_oracle
from jaxbandits.types import ArmDecision, ArmObs, Reward, SetDecision, SetReward


@pytree
class FullBanditTS:
    """Thompson sampling for full-bandit feedback: LinTS over the feasible sets, which need not be enumerated.

    Guarantee:
      With the v of `theory` and lambda = m, the learner is `linear.LinTS.theory` on indicator vectors divided by
      $sqrt(m)$, which lie in the unit ball. If the norm of the vector of means is at most $1 / sqrt(m)$, the regret is
      therefore $O~(L^{3/2} sqrt(T))$ with high probability. The preset `theory` leaves lambda at 1.

    Deviations:
      * [ours] The oracle replaces the maximum over a list of arms. The default is v = 1/2, the sub-Gaussian constant of
        one reward in [0, 1]; the constant of the sum of m independent rewards is $sqrt(m) / 2$.

    References:
      Shipra Agrawal, Navin Goyal. Thompson Sampling for Contextual Bandits with Linear Payoffs. ICML 2013,
      arXiv:1209.3352, Algorithm 1.
      Nicolo Cesa-Bianchi, Gabor Lugosi. Combinatorial Bandits. JCSS 78, 2012: full-bandit feedback.
    """

    source: ClassVar[str] = "Agrawal & Goyal, ICML 2013, Algorithm 1, on indicator vectors of sets"
    feedback: ClassVar[type] = SetReward
    environments: ClassVar[tuple[str, ...]] = ("combinatorial/semi_bandit",)
    n_items: int = static(range="[1, inf)", doc="L, number of items")
    oracle: Any = param(doc="oracle of jaxbandits.oracles for the feasible sets, such as TopM")
    width: ArrayLike = param(0.5, "[0, inf)", "v, scale of the draws; 0: greedy play")
    ridge: ArrayLike = param(1.0, "(0, inf)", "lambda, ridge parameter")

    @classmethod
    def theory(cls, *, n_items: int, oracle: Any, horizon: ArrayLike, **changes: Any) -> "FullBanditTS":
        """Use v = R sqrt(9 L log(T / 0.05)) with R = sqrt(m) / 2, as in `LinTS.theory`."""
        require_oracle("FullBanditTS", oracle, ranges.integer("n_items", n_items))
        width = LinTS.theory(dim=n_items, horizon=horizon, noise_scale=0.5 * oracle.size**0.5).width
        return cls(**{"n_items": n_items, "oracle": oracle, "width": width} | changes)

    @classmethod
    def example(cls) -> "FullBanditTS":
        return cls(n_items=6, oracle=TopM(size=3))

    def check(self) -> None:
        """Raise InputError if the oracle is invalid or its number of items differs from `n_items`."""
        require_oracle("FullBanditTS", self.oracle, self.n_items)

    @property
    def regression(self) -> LinTS:
        """LinTS learner on indicator vectors `[L]`, which holds the regression."""
        return LinTS(dim=self.n_items, width=self.width, ridge=self.ridge)

    def init(self, key: jax.Array) -> LinTSState:
        return self.regression.init(key)

    def select(self, key: jax.Array, t: jax.Array, state: LinTSState, obs: ArmObs) -> SetDecision:
        del t
        check_items(obs.arms.shape[0], self.n_items)
        return SetDecision(self.oracle.best(self.regression.draw(key, state), obs.mask))

    def update(
        self, key: jax.Array, t: jax.Array, state: LinTSState, obs: ArmObs, decision: SetDecision, feedback: SetReward
    ) -> LinTSState:
        x = item_sums(decision.items, jnp.ones(len(decision.items)), self.n_items)
        return self.regression.update(key, t, state, obs, ArmDecision(decision.items[0], x), Reward(feedback.total))

    def recommend(self, state: LinTSState) -> jax.Array:
        """Return the ridge estimate `[L]` of the means of the items."""
        return state.theta
