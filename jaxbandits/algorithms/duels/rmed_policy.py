"""Abstract policy for duels (relative minimum empirical divergence) that plays all plausible winners in turn.

    p_ij   fraction of the N_ij duels of i and j that i won
    I_i    = sum_{j : p_ij <= 1/2} N_ij kl(p_ij, 1/2),   i* = argmin_i I_i
    first  the next arm l of the list; an arm j that has left the list joins the next list if I_j - I_{i*} <= log t + f

The lists are used after `first_duels` duels of every pair, and f is `weight` times K^1.01. If arms are unavailable, i*
is the best available arm, a list ends when none of its arms is available, and i* is played if the new list has no
available arm either. A concrete subclass defines the second arm.
"""

import abc
import math
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.armed.index_policy import log_rounds
from jaxbandits.algorithms.duels.duel_policy import DuelCounts, DuelPolicy
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.numerics import bernoulli, first_axis
from jaxbandits.types import ArmObs, PairDecision, Preference


class RMEDState(NamedTuple):
    """Counts of the duels of all pairs, the current list and the next list of arms, and the fixed opponents."""

    duels: DuelCounts
    left: jax.Array  # [K] bool, L_R: remaining arms of the current list
    following: jax.Array  # [K] bool, L_N: arms of the next list
    rivals: jax.Array  # [K] int32, opponents that are fixed after the first duels


@pytree
class RMEDPolicy(DuelPolicy):
    """Abstract policy whose first arm is any arm that is still a plausible Condorcet winner."""

    weight: ArrayLike = param(0.3, "[0, inf)", "weight, the ratio f / K^1.01")
    first_duels: ClassVar[Any] = 1  # number of duels of every pair before the lists are used

    @abc.abstractmethod
    def opponent(
        self, t: jax.Array, state: RMEDState, arm: jax.Array, best: jax.Array, available: jax.Array
    ) -> jax.Array:
        """Return the second arm of round t >= 0, given the first arm and the most plausible winner i*."""

    def fixed_rivals(self, duels: DuelCounts) -> jax.Array:
        """Return the opponents `[K]` that are fixed after the first duels; a subclass that uses them overrides this."""
        del duels
        return jnp.zeros(self.n_arms, jnp.int32)

    @property
    def exploration_rounds(self) -> int:
        """Number of rounds until every pair has been compared `first_duels` times."""
        return self.first_duels * math.comb(self.n_arms, 2)

    def init(self, key: jax.Array) -> RMEDState:
        del key  # deterministic
        everything = jnp.ones(self.n_arms, bool)
        return RMEDState(DuelCounts.none(self.n_arms), everything, ~everything, jnp.zeros(self.n_arms, jnp.int32))

    def divergences(self, duels: DuelCounts) -> jax.Array:
        """Return the empirical divergences I_i `[K]`."""
        p = duels.share
        loses = (p <= 0.5) & ~self.diagonal()
        return jnp.sum(jnp.where(loses, duels.count * bernoulli.divergence(p, 0.5 - p), 0.0), axis=1)

    def best(self, duels: DuelCounts, available: jax.Array) -> jax.Array:
        """Return i*, the available arm with the smallest empirical divergence."""
        return first_axis.argmax(jnp.where(available, -self.divergences(duels), -jnp.inf))

    def select(self, key: jax.Array, t: jax.Array, state: RMEDState, obs: ArmObs) -> PairDecision:
        del key  # deterministic
        available = self.available(obs)
        first, second = (np.asarray(arms, np.int32) for arms in np.triu_indices(self.n_arms, 1))
        pair = t % len(first)
        listed = state.left & available
        best = self.best(state.duels, available)
        arm = jnp.where(jnp.any(listed), first_axis.argmax(jnp.where(listed, 1.0, 0.0)), best)
        other = self.opponent(t, state, arm, best, available)
        explores = t < self.exploration_rounds
        return PairDecision(
            first=_or_available(jnp.where(explores, jnp.asarray(first)[pair], arm), available),
            second=_or_available(jnp.where(explores, jnp.asarray(second)[pair], other), available),
        )

    def update(
        self, key: jax.Array, t: jax.Array, state: RMEDState, obs: ArmObs, decision: PairDecision, feedback: Preference
    ) -> RMEDState:
        del key
        available = self.available(obs)
        duels = state.duels.add(decision, feedback)
        rivals = jnp.where(t == self.exploration_rounds - 1, self.fixed_rivals(duels), state.rivals)
        left = state.left & (jnp.arange(self.n_arms) != decision.first)
        divergences = self.divergences(duels)
        slack = log_rounds(t + 1) + self.weight * self.n_arms**1.01
        least = jnp.min(jnp.where(available, divergences, jnp.inf))
        following = state.following | (~left & (divergences - least <= slack))
        is_over, lists = ~jnp.any(left & available), t >= self.exploration_rounds
        return RMEDState(
            duels=duels,
            left=jnp.where(lists, jnp.where(is_over, following, left), state.left),
            following=jnp.where(lists, following & ~is_over, state.following),
            rivals=rivals,
        )

    def opponents(self, duels: DuelCounts, arm: jax.Array, available: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return a mask `[K]` of the arms that do not lose against `arm`, and the strongest opponent of `arm`."""
        p = duels.of(arm).share
        others = available & (jnp.arange(self.n_arms) != arm)
        return others & (p <= 0.5), first_axis.argmax(jnp.where(others, -p, -jnp.inf))


def _or_available(arm: jax.Array, available: jax.Array) -> jax.Array:
    """Return the arm if it is available, else the first available arm."""
    return jnp.where(available[arm], arm, first_axis.argmax(jnp.where(available, 1.0, 0.0)))
