"""Epsilon-greedy with a constant or decreasing rate (Auer, Cesa-Bianchi & Fischer, 2002, Figure 3).

    play   argmax_k f_k with probability 1 - eps_t, else an arm uniformly at random,   eps_t = min(1, eps / t^a)

f_k is the model's prediction of the mean reward of arm k.
"""

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.contextual.rules.rule import WeightRule, finite, power
from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.estimation.arms import greedy_weights
from jaxbandits.types import Obs, State


@pytree
class EpsGreedy(WeightRule):
    """Rule that explores uniformly with probability eps_t, and otherwise plays greedily.

    Guarantee:
      None with a fixed eps. With $a = 1/3$ and a regression model with fast rates, the regret is of order $T^{2/3}$.

    References:
      Peter Auer, Nicolo Cesa-Bianchi, Paul Fischer. Finite-time Analysis of the Multiarmed Bandit Problem. Machine
      Learning 47, 2002, Figure 3.
      John Langford, Tong Zhang. The Epoch-Greedy Algorithm for Multi-armed Bandits with Side Information. NIPS 2007.
    """

    eps: ArrayLike = param(0.05, "[0, inf)", "eps, probability of a uniform draw in round 1; values above 1 count as 1")
    decay: ArrayLike = param(0.0, "[0, inf)", "a, decay exponent: the probability is eps / t^a in round t = 1, 2, ...")

    @classmethod
    def auer(cls, *, n_arms: int, gap: ArrayLike, c: ArrayLike = 5.0) -> "EpsGreedy":
        """Use eps_t = min(1, c K / (d^2 t)) for K = `n_arms` arms whose gaps are at least d = `gap`."""
        count = ranges.integer("n_arms", n_arms, "[1, 1000000000]")
        factor, least = ranges.numbers("c", c, "(0, 1e6]"), ranges.numbers("gap", gap, "[1e-6, 1]")
        return cls(eps=factor * count / least**2, decay=1.0)

    def weights(self, key: jax.Array, t: jax.Array, model: State, state: State, obs: Obs, mask: jax.Array) -> jax.Array:
        del key
        scores = finite(model.predict(state, obs))
        eps = jnp.minimum(self.eps * power(t, -self.decay, scores), 1.0)
        return eps * mask / jnp.sum(mask) + (1.0 - eps) * greedy_weights(scores, mask)
