"""RUCB: relative upper confidence bounds for duels (Zoghi, Whiteson, Munos & de Rijke, ICML 2014, Algorithm 1).

    U_ij   = w_ij / N_ij + sqrt(alpha log t / N_ij),   U_ii = 1/2,   U_ij = 2 for pairs without a duel
    C      = {c : U_cj >= 1/2 for all j},   B <- B cap C,   B <- C if C has one arm
    first  the arm of C if it is the only one; else, if B is not empty, its arm with probability 1/2 and a uniform arm
           of C minus B otherwise; else a uniform arm of C, or of all arms if C is empty
    second argmax_j U_{j first}

The policy plays this pair in round $t = 1$, 2, ...; $w_ij$ is the number of times that i beat j, and $N_ij = w_ij +
w_ji$. The cost per round is $O(K^2)$.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import log_rounds
from jaxbandits.algorithms.duels.duel_policy import DuelCounts, DuelPolicy
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.numerics import first_axis, rng
from jaxbandits.types import ArmObs, PairDecision, Preference


class RUCBState(NamedTuple):
    """Counts of the duels of all pairs, and the hypothesised best arm."""

    duels: DuelCounts
    best: jax.Array  # [] int32, the arm of B; -1: B is empty


@pytree
class RUCB(DuelPolicy):
    """Policy with upper confidence bounds on preferences that compares a possible winner with its best challenger.

    Guarantee:
      If arm 1 is a Condorcet winner and $alpha > 1/2$, then with probability $1 - delta$, and in expectation for $alpha
      > 1$, the regret after T rounds is $O(K log T)$ plus a term of order $K^2$ that does not depend on T (Theorems 4
      and 5). The constants depend on the gaps.

    Deviations:
      * [ours] Unavailable arms belong to neither B nor C. Ties go to the first arm.

    References:
      Masrour Zoghi, Shimon Whiteson, Remi Munos, Maarten de Rijke. Relative Upper Confidence Bound for the K-Armed
      Dueling Bandit Problem. ICML 2014, arXiv:1312.3393, Algorithm 1.
    """

    source: ClassVar[str] = "Zoghi, Whiteson, Munos & de Rijke, ICML 2014, Algorithm 1"
    alpha: ArrayLike = param(0.51, "(0, inf)", "alpha, factor of log t; above 1/2 in the theory")

    @classmethod
    def theory(cls, *, n_arms: int, **changes: Any) -> "RUCB":
        """Use alpha = 0.51, just above the smallest value that the theory allows (the default)."""
        return cls(**{"n_arms": n_arms} | changes)

    @classmethod
    def example(cls) -> "RUCB":
        return cls(n_arms=5)

    def init(self, key: jax.Array) -> RUCBState:
        del key  # deterministic
        return RUCBState(DuelCounts.none(self.n_arms), jnp.int32(-1))

    def index(self, t: jax.Array, duels: DuelCounts) -> jax.Array:
        """Return the upper bounds U `[K, K]` of round t >= 0; 2 for pairs without a duel."""
        return jnp.where(self.diagonal(), 0.5, upper_bounds(self.alpha, t, duels.wins, duels.count))

    def candidates(self, t: jax.Array, state: RUCBState, available: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the mask C `[K]` and the arm of B (-1 if B is empty) in round t >= 0."""
        upper = self.index(t, state.duels)
        champions = available & jnp.all((upper >= 0.5) | ~available, axis=1)
        stays = jnp.any(champions & (jnp.arange(self.n_arms) == state.best))
        best = jnp.where(stays, state.best, -1)
        is_one = jnp.sum(champions, dtype=jnp.int32) == 1
        return champions, jnp.where(is_one, first_axis.argmax(jnp.where(champions, 1.0, 0.0)), best)

    def select(self, key: jax.Array, t: jax.Array, state: RUCBState, obs: ArmObs) -> PairDecision:
        available = self.available(obs)
        champions, best = self.candidates(t, state, available)
        pool = jnp.where(jnp.any(champions), champions, available)
        is_best = jnp.arange(self.n_arms) == best
        others = jnp.where(pool & ~is_best, 1.0, 0.0)
        count = jnp.sum(others)
        share = jnp.where(best < 0, 0.0, jnp.where(count > 0.0, 0.5, 1.0))  # probability of the arm of B
        p = jnp.where(is_best, share, (1.0 - share) * others / jnp.maximum(count, 1.0))
        first = rng.categorical(key, p)
        against = state.duels.of(first)
        upper = upper_bounds(self.alpha, t, against.losses, against.count)  # U_{j first}
        upper = jnp.where(jnp.arange(self.n_arms) == first, 0.5, upper)
        return PairDecision(first, first_axis.argmax(jnp.where(available, upper, -jnp.inf)))

    def update(
        self, key: jax.Array, t: jax.Array, state: RUCBState, obs: ArmObs, decision: PairDecision, feedback: Preference
    ) -> RUCBState:
        del key
        _, best = self.candidates(t, state, self.available(obs))
        return RUCBState(state.duels.add(decision, feedback), best)


def upper_bounds(alpha: Any, t: jax.Array, wins: jax.Array, count: jax.Array) -> jax.Array:
    """Return the bounds U of round t >= 0 from wins and duels of the same shape; 2 for pairs without a duel."""
    played = jnp.maximum(count, 1.0)
    return jnp.where(count > 0.0, wins / played + jnp.sqrt(alpha * log_rounds(t + 1) / played), 2.0)
