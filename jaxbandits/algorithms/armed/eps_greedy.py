"""Epsilon-greedy with a decreasing rate (Auer, Cesa-Bianchi & Fischer, Machine Learning 47, 2002, Figure 3).

    eps_t = min(1, c K / (d^2 t))   in round t = 1, 2, ...
    play    an arm uniformly at random with probability eps_t, else argmax_i m_i

Here $m_i$ is the mean reward of arm i. Notation: c is the field `rate` and d is `gap`. The cost per round is $O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.estimation.arms import check_count, decide
from jaxbandits.numerics import rng
from jaxbandits.numerics.sampling import uniform_available
from jaxbandits.types import ArmDecision, ArmObs


@pytree
class EpsGreedy(IndexPolicy):
    """Policy that explores uniformly with probability min(1, $c K / (d^2 t)$), and otherwise plays greedily.

    Guarantee:
      If rewards are independent and in [0, 1], d is at most the smallest positive gap and $c > 5$, then the probability
      of playing a suboptimal arm in round t is $O(1/t)$, so that the expected regret after T rounds is $O(log T)$
      (Theorem 3).

    Deviations:
      * [ours] A greedy round plays an arm that was never played, if there is one. Ties go to the first arm.

    References:
      Peter Auer, Nicolo Cesa-Bianchi, Paul Fischer. Finite-time Analysis of the Multiarmed Bandit Problem.
      Machine Learning 47, 2002, Figure 3, Theorem 3.
    """

    source: ClassVar[str] = "Auer, Cesa-Bianchi & Fischer, Machine Learning 2002, Figure 3"
    rate: ArrayLike = param(5.0, "(0, inf)", "c, scale of the exploration rate")
    gap: ArrayLike = param(range="(0, inf)", doc="d, lower bound on the gap between the best arm and the others")

    @classmethod
    def example(cls) -> "EpsGreedy":
        return cls(n_arms=5, rate=0.2, gap=0.3)

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del key, t
        return state.mean

    def select(self, key: jax.Array, t: jax.Array, state: Pulls, obs: ArmObs) -> ArmDecision:
        check_count(obs.arms, self.n_arms)
        greedy = super().select(key, t, state, obs).index
        explores = rng.bernoulli(key, self.exploration(t))
        drawn = uniform_available(rng.random_words(key, counter=1)[0], self.n_arms, obs.mask)
        return decide(obs, jnp.where(explores, drawn, greedy))

    def exploration(self, t: jax.Array) -> jax.Array:
        """Return the exploration probability eps `[]` of round t >= 0."""
        return jnp.minimum(1.0, self.rate * self.n_arms / (self.gap * self.gap * (t + 1)))
