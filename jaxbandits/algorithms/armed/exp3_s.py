"""Exp3.S: exponential weights that compete with sequences of arms (Auer et al., SIAM J. Comp. 2002, Section 8).

    p_i   = (1 - g) w_i / sum_k w_k + g / K
    w_i   <- w_i exp(g x_i / K) + (e alpha / K) sum_k w_k,   x_i = reward / p_i for the arm i played, else 0

Notation: g is the field `exploration` and alpha is `sharing`. The cost per round is $O(K)$.
"""

import math
from typing import Any, ClassVar

import numpy as np

from jaxbandits.algorithms.armed.mixed_weights import MixedWeights
from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, param, pytree


@pytree
class Exp3S(MixedWeights):
    """Exponential weights with weight sharing, for rewards in [0, 1] whose best arm changes.

    Guarantee:
      If rewards are in [0, 1] and chosen in advance, then the expected regret with `theory` after T rounds, against
      every sequence of arms with at most $C >= 1$ changes, is $O(sqrt(C K T log(K T)))$ (Corollary 8.3).

    Deviations:
      * [ours] Probabilities below 2^-40, which divide the rewards in the estimates, are replaced by 2^-40.
      * [ours] A weight below the smallest normal floating-point number, relative to the sum of all weights, is replaced
        by this number: an arm whose weight underflowed to 0 could not gain weight again.

    References:
      Peter Auer, Nicolo Cesa-Bianchi, Yoav Freund, Robert Schapire. The Nonstochastic Multiarmed Bandit Problem.
      SIAM Journal on Computing 32, 2002, Section 8, Corollary 8.3.
    """

    source: ClassVar[str] = "Auer, Cesa-Bianchi, Freund & Schapire, SIAM J. Comp. 2002, Exp3.S"
    exploration: ArrayLike = param(0.1, "(0, 1]", "g, weight of the uniform distribution in the mixture")
    sharing: ArrayLike = param(1e-3, "[0, 1]", "alpha; e alpha / K of the total is added to each weight; 0: Exp3")

    @classmethod
    def theory(cls, *, n_arms: int, horizon: ArrayLike, changes: ArrayLike, **fields: Any) -> "Exp3S":
        """Use alpha = 1/T and g = min(1, sqrt(K (C log(K T) + e) / ((e - 1) T))) for C changes in T rounds."""
        horizon = ranges.numbers("horizon", horizon, "[1, inf)")
        n_arms = ranges.integer("n_arms", n_arms)
        changes = ranges.numbers("changes", changes, "[0, 1e15]")
        log_both = math.log(n_arms) + np.log(horizon)
        square = n_arms * ((changes * log_both + math.e) / horizon) / (math.e - 1.0)
        made = {"n_arms": n_arms, "exploration": np.minimum(1.0, np.sqrt(square)), "sharing": 1.0 / horizon}
        return cls(**made | fields)

    @classmethod
    def example(cls) -> "Exp3S":
        return cls(n_arms=5)

    @property
    def mixture(self) -> Any:
        """Weight g of the uniform distribution in p."""
        return self.exploration

    @property
    def share(self) -> Any:
        """Fraction e alpha / K of the total weight that is added to the weight of every arm in a round."""
        return math.e * self.sharing / self.n_arms
