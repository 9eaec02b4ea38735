"""REXP3: Exp3 that restarts every D rounds (Besbes, Gur & Zeevi, NIPS 2014, Algorithm 1).

    p_i   = (1 - g) w_i / sum_k w_k + g / K
    w_i   <- w_i exp(g x_i / K),   x_i = reward / p_i for the arm i played, else 0;   w_i <- 1 every D rounds

Notation: g is the field `exploration` and D is `period`. The cost per round is $O(K)$.
"""

import math
from typing import Any, ClassVar

import jax

from jaxbandits.algorithms.armed.mixed_weights import MixedWeights
from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, param, pytree, static

_MOST_ROUNDS = 2**31 - 1


@pytree
class REXP3(MixedWeights):
    """Exp3 with periodic restarts, for rewards in [0, 1] whose means have a known total variation.

    Guarantee:
      If the total variation sum_t max_i |mu_{t+1,i} - mu_{t,i}| of the means is at most V and $1/K <= V <= T/K$, then
      the expected regret with `theory` after T rounds, against the best arm of every round, is
      $O((K V log K)^{1/3} T^{2/3})$ (Theorem 2).

    Deviations:
      * [reconstructed] The constants of `theory` are not checked against the text of the paper.
      * [ours] If feedback is late, the round in which the weights restart has equal weights, but later rounds have the
        old ones until the feedback of that round has arrived.
      * [ours] Probabilities below 2^-40, which divide the rewards in the estimates, are replaced by 2^-40.
      * [ours] A weight below the smallest normal floating-point number, relative to the sum of all weights, is replaced
        by this number: an arm whose weight underflowed to 0 could not gain weight again.

    References:
      Omar Besbes, Yonatan Gur, Assaf Zeevi. Stochastic Multi-Armed-Bandit Problem with Non-stationary Rewards.
      NIPS 2014, arXiv:1405.3316, Algorithm 1, Theorem 2.
    """

    source: ClassVar[str] = "Besbes, Gur & Zeevi, NIPS 2014, Algorithm 1"
    exploration: ArrayLike = param(0.1, "(0, 1]", "g, weight of the uniform distribution in the mixture")
    period: int = static(100, f"[1, {_MOST_ROUNDS}]", "D, number of rounds between two restarts")

    @classmethod
    def theory(cls, *, n_arms: int, horizon: int, variation: float, **fields: Any) -> "REXP3":
        """Use D = (K log K)^{1/3} (T / V)^{2/3}, rounded up, and g = min(1, sqrt(K log K / ((e - 1) D))).

        Raises:
          InputError: if a value is out of range, or D is not below 2^31 because the variation is too small.
        """
        n_arms, horizon = ranges.integer("n_arms", n_arms), ranges.integer("horizon", horizon, "[1, 1000000000000]")
        variation = ranges.real("variation", variation, "(0, inf)")
        scale = n_arms * math.log(n_arms)
        rounds = scale ** (1 / 3) * min(horizon / variation, 1e300) ** (2 / 3)  # the quotient may be infinite
        period = math.ceil(min(horizon, max(1.0, rounds)))
        if period > _MOST_ROUNDS:
            least = 1.05 * horizon * math.sqrt(scale) / _MOST_ROUNDS**1.5  # not too small when it is rounded
            raise InputError(
                f"variation must be at least about {least:.2g} with horizon={horizon} and n_arms={n_arms}, got "
                f"{variation:g}: the period between two restarts would be {period} rounds, but a run has at most "
                f"{_MOST_ROUNDS}"
            )
        exploration = min(1.0, math.sqrt(scale / ((math.e - 1.0) * period))) or 1.0  # with one arm, any value works
        return cls(**{"n_arms": n_arms, "period": period, "exploration": exploration} | fields)

    @classmethod
    def example(cls) -> "REXP3":
        return cls(n_arms=5, period=20)

    @property
    def mixture(self) -> Any:
        """Weight g of the uniform distribution in p."""
        return self.exploration

    def is_restart(self, t: jax.Array) -> Any:
        return t % self.period == 0
