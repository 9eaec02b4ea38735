"""Abstract policy for duels that counts how often each arm has beaten every other arm.

    w_ij   wins of arm i over arm j,   N_ij = w_ij + w_ji,   p_ij = w_ij / N_ij, 1/2 for pairs without a duel

The two arms of a duel may be the same arm; a duel of an arm with itself is not counted.
"""

import abc
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import pytree, static
from jaxbandits.estimation.arms import check_count
from jaxbandits.types import ArmObs, PairDecision, Preference


class DuelCounts(NamedTuple):
    """Wins and numbers of duels of all pairs; w_ji is computed as N_ij - w_ij, which avoids a transpose."""

    wins: jax.Array  # [K, K]  w_ij, 0 on the diagonal
    count: jax.Array  # [K, K]  N_ij

    @classmethod
    def none(cls, n_arms: int) -> "DuelCounts":
        """Return the counts before the first duel of K arms."""
        zeros = jnp.zeros((n_arms, n_arms))
        return cls(zeros, zeros)

    def add(self, decision: PairDecision, feedback: Preference) -> "DuelCounts":
        """Return the counts after one more duel, which is ignored if the arms are equal; `won` is clipped to [0, 1]."""
        arm, won = jnp.arange(len(self.wins), dtype=jnp.int32), jnp.clip(feedback.won, 0.0, 1.0)
        first, second = arm == decision.first, arm == decision.second
        forward = first[:, None] & second & ~first  # zero everywhere if both are the same arm
        backward = second[:, None] & first & ~second
        wins = self.wins + jnp.where(forward, won, 0.0) + jnp.where(backward, 1.0 - won, 0.0)
        return DuelCounts(wins, self.count + jnp.where(forward | backward, 1.0, 0.0))

    @property
    def losses(self) -> jax.Array:
        """Losses of every arm against every other arm, w_ji `[K, K]`."""
        return self.count - self.wins

    @property
    def share(self) -> jax.Array:
        """Fractions of duels won, p_ij `[K, K]`; 1/2 for pairs without a duel."""
        return jnp.where(self.count > 0.0, self.wins / jnp.maximum(self.count, 1.0), 0.5)

    def of(self, arm: jax.Array) -> "DuelCounts":
        """Return the rows `[K]` of one arm: its wins against every arm, and its numbers of duels with every arm."""
        return DuelCounts(self.wins[arm], self.count[arm])


@pytree
class DuelPolicy(abc.ABC):
    """Abstract policy on the counts of all pairs; features of arms are ignored, and ties go to the first arm."""

    feedback: ClassVar[type] = Preference
    environments: ClassVar[tuple[str, ...]] = ("duels/dueling_arms",)
    n_arms: int = static(range="[2, inf)", doc="K, number of arms")

    @abc.abstractmethod
    def init(self, key: jax.Array) -> Any:
        """Return the state of the policy before the first round."""

    @abc.abstractmethod
    def select(self, key: jax.Array, t: jax.Array, state: Any, obs: ArmObs) -> PairDecision:
        """Return the pair of available arms to compare in round t >= 0."""

    @abc.abstractmethod
    def update(
        self, key: jax.Array, t: jax.Array, state: Any, obs: ArmObs, decision: PairDecision, feedback: Preference
    ) -> Any:
        """Return the state of the policy after a duel."""

    def available(self, obs: ArmObs) -> jax.Array:
        """Return a mask `[K]` of the arms that may be compared.

        Raises:
          InputError: if the number of arms is not `n_arms`.
        """
        check_count(obs.arms, self.n_arms)
        return jnp.ones(self.n_arms, bool) if obs.mask is None else jnp.asarray(obs.mask)

    def diagonal(self) -> jax.Array:
        """Return a mask `[K, K]` that is True on the diagonal."""
        return jnp.eye(self.n_arms, dtype=bool)
