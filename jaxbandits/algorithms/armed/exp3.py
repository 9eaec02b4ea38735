"""Exp3: exponential weights over estimated losses (Auer, Cesa-Bianchi, Freund & Schapire, SIAM J. Comp. 2002).

    play   i with probability p_i proportional to exp(-eta_t L_i)
    L_i    <- L_i + (1 - reward) / p_i   for the arm i played

This is Algorithm 9 of Lattimore & Szepesvari (2020), which uses losses and no uniform exploration. Notation: eta is
the field `learning_rate`. The cost per round is $O(K)$.
"""

import math
from typing import ClassVar

import jax
import numpy as np

from jaxbandits.algorithms.armed.sampled_policy import SampledPolicy, anytime_rate, exponential_weights
from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree


@pytree
class Exp3(SampledPolicy):
    """Exponential weights over importance-weighted loss estimates, for any sequence of rewards in [0, 1].

    Guarantee:
      If rewards are in [0, 1] and chosen in advance, and eta is constant, then the expected regret against every fixed
      arm after n rounds is at most $log K / eta + eta n K / 2$, which is $3/2 sqrt(n K log K)$ with `theory`
      (Lattimore & Szepesvari, proof of Theorem 11.2).

    Deviations:
      * [ours] If `learning_rate` is None, eta is $sqrt(log K / (t K))$ in round $t = 1$, 2, ...
      * [ours] In the loss estimates, probabilities below 2^-40 are replaced by 2^-40.

    References:
      Peter Auer, Nicolo Cesa-Bianchi, Yoav Freund, Robert Schapire. The Nonstochastic Multiarmed Bandit Problem.
      SIAM Journal on Computing 32, 2002.
      Tor Lattimore, Csaba Szepesvari. Bandit Algorithms. Cambridge University Press, 2020, Algorithm 9, Theorem 11.2.
    """

    source: ClassVar[str] = "Auer, Cesa-Bianchi, Freund & Schapire, SIAM J. Comp. 2002; Lattimore & Szepesvari, Alg. 9"
    learning_rate: ArrayLike | None = param(
        None, "[0, inf)", "eta, learning rate; None: sqrt(log K / (t K)) in round t"
    )

    @classmethod
    def theory(cls, *, n_arms: int, horizon: ArrayLike, **changes: FieldValue) -> "Exp3":
        """Use eta = sqrt(log K / (n K)) for n rounds."""
        horizon = ranges.numbers("horizon", horizon, "[1, inf)")
        rate = np.sqrt(math.log(ranges.integer("n_arms", n_arms)) / (n_arms * horizon))
        return cls(**{"n_arms": n_arms, "learning_rate": rate} | changes)

    @classmethod
    def example(cls) -> "Exp3":
        return cls.theory(n_arms=5, horizon=200)

    def weights(self, t: jax.Array, losses: jax.Array) -> jax.Array:
        rate = self.learning_rate
        if rate is None:
            rate = anytime_rate(self.n_arms, self.n_arms, t)
        return exponential_weights(losses, rate)
