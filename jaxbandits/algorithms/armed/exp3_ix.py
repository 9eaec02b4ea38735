"""Exp3-IX: exponential weights with implicit exploration (Neu, NIPS 2015).

    play   i with probability p_i proportional to exp(-eta_t L_i)
    L_i    <- L_i + (1 - reward) / (p_i + gamma_t),   gamma_t = eta_t / 2,   for the arm i played

This is Algorithm 10 of Lattimore & Szepesvari (2020). Notation: eta is the field `learning_rate`. The cost per round is
$O(K)$.
"""

import math
from typing import Any, ClassVar

import jax
import numpy as np

from jaxbandits.algorithms.armed.sampled_policy import SampledPolicy, anytime_rate, exponential_weights
from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree


@pytree
class Exp3IX(SampledPolicy):
    """Exponential weights over loss estimates with a downward bias, so that the regret is small with high probability.

    Guarantee:
      If rewards are in [0, 1] and chosen in advance, and eta is set as in `theory`, then the regret against every fixed
      arm after n rounds is $O(sqrt(n K log K))$ with high probability, not only in expectation (Lattimore & Szepesvari,
      Theorem 12.1).

    Deviations:
      * [ours] If `learning_rate` is None, eta is $sqrt(log K / (t K))$ in round $t = 1$, 2, ...
      * [ours] In the loss estimates, probabilities below 2^-40 are replaced by 2^-40.

    References:
      Gergely Neu. Explore no more: Improved high-probability regret bounds for non-stochastic bandits. NIPS 2015.
      Tor Lattimore, Csaba Szepesvari. Bandit Algorithms. Cambridge University Press, 2020, Algorithm 10, Theorem 12.1,
      Eq. (12.5).
    """

    source: ClassVar[str] = "Neu, NIPS 2015; Lattimore & Szepesvari, Bandit Algorithms, 2020, Algorithm 10"
    learning_rate: ArrayLike | None = param(
        None, "[0, inf)", "eta, learning rate; None: sqrt(log K / (t K)) in round t"
    )

    @classmethod
    def theory(cls, *, n_arms: int, horizon: ArrayLike, **changes: FieldValue) -> "Exp3IX":
        """Use eta = sqrt(2 log(K + 1) / (n K)) for n rounds."""
        horizon = ranges.numbers("horizon", horizon, "[1, inf)")
        rate = np.sqrt(2.0 * math.log(ranges.integer("n_arms", n_arms) + 1) / (n_arms * horizon))
        return cls(**{"n_arms": n_arms, "learning_rate": rate} | changes)

    @classmethod
    def example(cls) -> "Exp3IX":
        return cls.theory(n_arms=5, horizon=200)

    def weights(self, t: jax.Array, losses: jax.Array) -> jax.Array:
        return exponential_weights(losses, self._rate(t))

    def bias(self, t: jax.Array) -> jax.Array:
        return 0.5 * self._rate(t)

    def _rate(self, t: jax.Array) -> Any:
        if self.learning_rate is not None:
            return self.learning_rate
        return anytime_rate(self.n_arms, self.n_arms, t)
