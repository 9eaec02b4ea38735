"""Double Thompson sampling for duels (Wu & Liu, NIPS 2016, Algorithm 1).

    U_ij, L_ij   = w_ij / N_ij +- sqrt(alpha log t / N_ij),   1/2 on the diagonal
    first        argmax over {i : #{j : U_ij >= 1/2} is largest} of #{j : theta_ij > 1/2},   theta_ij = 1 - theta_ji ~
                 Beta(1 + w_ij, 1 + w_ji)
    second       argmax over {i : L_{i first} <= 1/2} of theta'_i ~ Beta(1 + w_{i first}, 1 + w_{first i}),
                 theta'_first = 1/2

The policy plays this pair in round $t = 1$, 2, ...; $w_ij$ is the number of times that i beat j, and $N_ij = w_ij +
w_ji$. The cost per round is $O(K^2)$.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.duels.duel_policy import DuelCounts, DuelPolicy
from jaxbandits.algorithms.duels.rucb import upper_bounds
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.base.ranges import BOOL
from jaxbandits.numerics import bernoulli, first_axis, rng
from jaxbandits.types import ArmObs, PairDecision, Preference


@pytree
class DoubleTS(DuelPolicy):
    """Thompson sampling that draws one posterior sample for each of the two arms, after confidence bounds exclude arms.

    Guarantee:
      The expected regret against Copeland winners after T rounds is $O(K^2 log T)$ for alpha above 1/2, and
      $O(K log T + K^2 log log T)$ with a Condorcet winner (Theorems 1 and 2).

    Deviations:
      * [ours] Ties go to the arm with the smallest number, while the paper breaks them at random; environments number
        the arms at random. Unavailable arms are excluded from all comparisons.
      * [printed] With `is_plus` (D-TS+), ties for the first arm go to the arm with the smallest $sum_j (s_i -
        s_j) / kl(theta_ij, 1/2)$, as in the authors' code; s_i is the number of comparisons that arm i wins in the
        sample, which is the same for all arms that tie.

    References:
      Huasen Wu, Xin Liu. Double Thompson Sampling for Dueling Bandits. NIPS 2016, arXiv:1604.07101, Algorithm 1.
    """

    source: ClassVar[str] = "Wu & Liu, NIPS 2016, Algorithm 1"
    alpha: ArrayLike = param(0.51, "(0, inf)", "alpha, factor of log t; above 1/2 in the theory")
    is_plus: bool = static(False, BOOL, "True: break ties for the first arm by estimated regret (D-TS+)")

    @classmethod
    def theory(cls, *, n_arms: int, **changes: Any) -> "DoubleTS":
        """Use alpha = 0.51, as in the paper's experiments (the default)."""
        fields: dict[str, Any] = {"n_arms": n_arms, **changes}
        return cls(**fields)

    @classmethod
    def plus(cls, *, n_arms: int, **changes: Any) -> "DoubleTS":
        """Use D-TS+, which breaks ties for the first arm by estimated regret."""
        fields: dict[str, Any] = {"n_arms": n_arms, "is_plus": True, **changes}
        return cls(**fields)

    @classmethod
    def example(cls) -> "DoubleTS":
        return cls(n_arms=5)

    def init(self, key: jax.Array) -> DuelCounts:
        del key  # deterministic
        return DuelCounts.none(self.n_arms)

    def sample(self, key: jax.Array, duels: DuelCounts) -> jax.Array:
        """Draw a sample theta `[K, K]` of the preferences; the diagonal is 1/2."""
        i, j = np.triu_indices(self.n_arms, 1)
        drawn = rng.betas(key, 1.0 + duels.wins[i, j], 1.0 + duels.losses[i, j])
        place = np.zeros((self.n_arms, self.n_arms), np.int32)
        place[i, j] = place[j, i] = np.arange(len(i))
        theta = jnp.where(np.triu(np.ones_like(place, bool)), drawn[place], 1.0 - drawn[place])
        return jnp.where(self.diagonal(), 0.5, theta)

    def sample_against(self, key: jax.Array, duels: DuelCounts, first: jax.Array) -> jax.Array:
        """Draw theta' `[K]`, a sample of the preferences of all arms over a given arm; it is 1/2 for the arm itself."""
        mine = duels.of(first)
        drawn = rng.betas(key, 1.0 + mine.losses, 1.0 + mine.wins)
        return jnp.where(jnp.arange(self.n_arms) == first, 0.5, drawn)

    def first(self, t: jax.Array, duels: DuelCounts, theta: jax.Array, available: jax.Array) -> jax.Array:
        """Return the first arm of round t >= 0, given a sample theta `[K, K]`."""
        pairs = available & ~self.diagonal()
        plausible = upper_bounds(self.alpha, t, duels.wins, duels.count) >= 0.5
        scores = jnp.where(available, jnp.sum(pairs & plausible, axis=1, dtype=jnp.int32), -1)
        won = jnp.sum(pairs & (theta > 0.5), axis=1, dtype=jnp.int32).astype(theta.dtype)
        of_candidates = jnp.where(scores == jnp.max(scores), won, -1.0)
        if not self.is_plus:
            return first_axis.argmax(of_candidates)
        most = jnp.max(of_candidates)
        divergence = jnp.maximum(bernoulli.divergence(theta, 0.5 - theta), jnp.finfo(theta.dtype).tiny)
        terms = (2.0 * most - won[:, None] - won) / divergence
        regret = jnp.sum(jnp.where(pairs & (theta != 0.5), terms, 0.0), axis=1)
        return first_axis.argmax(jnp.where(of_candidates == most, -regret, -jnp.inf))

    def second(
        self, t: jax.Array, duels: DuelCounts, first: jax.Array, theta: jax.Array, available: jax.Array
    ) -> jax.Array:
        """Return the second arm of round t >= 0, given a sample theta' `[K]` against the first arm."""
        mine = duels.of(first)
        upper = upper_bounds(self.alpha, t, mine.wins, mine.count)  # 1 - L_{i first}
        possible = (upper >= 0.5) | (jnp.arange(self.n_arms) == first)
        return first_axis.argmax(jnp.where(available & possible, theta, -jnp.inf))

    def select(self, key: jax.Array, t: jax.Array, state: DuelCounts, obs: ArmObs) -> PairDecision:
        available = self.available(obs)
        first_key, second_key = jax.random.split(key)
        first = self.first(t, state, self.sample(first_key, state), available)
        theta = self.sample_against(second_key, state, first)
        return PairDecision(first, self.second(t, state, first, theta, available))

    def update(
        self, key: jax.Array, t: jax.Array, state: DuelCounts, obs: ArmObs, decision: PairDecision, feedback: Preference
    ) -> DuelCounts:
        del key, t, obs
        return state.add(decision, feedback)
