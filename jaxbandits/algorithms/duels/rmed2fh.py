"""RMED2FH: RMED1 with the cheapest opponents, fixed early (Komiyama, Honda, Kashima & Nakagawa, COLT 2015, Alg. 2).

    b(i)   = argmin_{j : p_ij < 1/2} (p_{i* i} + p_{i* j} - 1) / kl(p_ij, 1/2); i* if there is no such j
    second i* if it is in O_l and N_{l i*} <= N_{l b(l)} / log log t, else b(l) if it is in O_l, else as RMED1 does

b is computed after L duels of every pair, and the lists are used from then on. The first arms, $i*$ and $O_l$ are those
of RMED1. Notation: L is the field `first_duels`. The cost per round is $O(K^2)$.
"""

import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import log_rounds
from jaxbandits.algorithms.duels.duel_policy import DuelCounts
from jaxbandits.algorithms.duels.rmed_policy import RMEDPolicy, RMEDState
from jaxbandits.base import ranges
from jaxbandits.base.pytree import pytree, static
from jaxbandits.numerics import bernoulli, first_axis

_LEAST = 0.01  # smallest sum of gaps, as in the authors' code


@pytree
class RMED2FH(RMEDPolicy):
    """Policy that compares every plausible Condorcet winner with the opponent that rules it out at the smallest regret.

    Guarantee:
      If arm 1 is a Condorcet winner and $D_i = p_1i - 1/2$, then the expected regret of `theory` after T rounds is at
      most $sum_{i > 1} min_j (D_i + D_j) log T / (2 kl(p_ij, 1/2)) + o(log T)$. No consistent policy has a smaller
      factor of log T (Theorems 1 and 4).

    Deviations:
      * [printed] Sums of gaps below 0.01 are replaced by 0.01, and log log t is replaced by log(log t + 0.01), as in
        the authors' code.
      * [ours] log t counts as at least 1 in log log t. Unavailable arms are skipped. Ties go to the first arm.

    References:
      Junpei Komiyama, Junya Honda, Hisashi Kashima, Hiroshi Nakagawa. Regret Lower Bound and Optimal Algorithm in
      Dueling Bandit Problem. COLT 2015, arXiv:1506.02550, Algorithm 2, Theorem 4; and the authors' duelingbanditlib.
    """

    source: ClassVar[str] = "Komiyama, Honda, Kashima & Nakagawa, COLT 2015, Algorithm 2 (RMED2FH)"
    first_duels: int = static(range="[1, 1000000]", doc="L, number of duels of every pair before opponents are fixed")

    @classmethod
    def theory(cls, *, n_arms: int, horizon: int, alpha: float = 3.0, **changes: Any) -> "RMED2FH":
        """Use L = alpha log(log T + 0.01), rounded up, for T rounds; alpha = 3 in the paper's experiments."""
        horizon = ranges.integer("horizon", horizon, "[1, 1000000000000]")
        log_log = math.log(max(math.log(horizon), 1.0) + 0.01)
        duels = max(1, math.ceil(ranges.real("alpha", alpha, "(0, 1000]") * log_log))
        return cls(**{"n_arms": n_arms, "first_duels": duels} | changes)

    @classmethod
    def example(cls) -> "RMED2FH":
        return cls(n_arms=5, first_duels=2)

    def fixed_rivals(self, duels: DuelCounts) -> jax.Array:
        p = duels.share
        best = self.best(duels, jnp.any(duels.count > 0.0, axis=1))  # arms that were never available lose no duel
        gap = p[best] - 0.5
        regret = jnp.maximum(gap[:, None] + gap, _LEAST)
        divergence = jnp.maximum(bernoulli.divergence(p, 0.5 - p), jnp.finfo(p.dtype).tiny)
        beaten = (p > 0.5) & ~self.diagonal()  # column i marks the arms that beat i
        cheapest = first_axis.argmax(jnp.where(beaten, -regret / divergence, -jnp.inf))
        return jnp.where(jnp.any(beaten, axis=0), cheapest, best)

    def opponent(
        self, t: jax.Array, state: RMEDState, arm: jax.Array, best: jax.Array, available: jax.Array
    ) -> jax.Array:
        opponents, strongest = self.opponents(state.duels, arm, available)
        rival = state.rivals[arm]
        count = state.duels.count[arm]
        log_log = jnp.log(jnp.maximum(log_rounds(t + 1), 1.0) + 0.01)
        is_rare = count[best] <= count[rival] / log_log
        has_best = opponents[best]
        fallback = jnp.where(has_best | ~jnp.any(opponents), best, strongest)
        return jnp.where(has_best & is_rare, best, jnp.where(opponents[rival], rival, fallback))
