"""Bernoulli arms shared by P players: players who collide on an arm receive nothing.

    Y_k        ~ Bernoulli(mu_k), one draw per round for all players on arm k
    C_j        = 1 if another player is on the arm A_j of player j, else 0,   reward_j = Y_{A_j} (1 - C_j)
    regret_t   = (sum of the P largest mu_k) - sum_j mu_{A_j} (1 - C_j)

Collisions and switches of arms are summed over the players.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, lists_to_arrays, param, pytree, static, validate
from jaxbandits.base.ranges import BOOL, floats
from jaxbandits.estimation.items import top_items
from jaxbandits.numerics import rng
from jaxbandits.types import IndexObs, PlayerRewards, TeamDecision


class SharedState(NamedTuple):
    """Problem instance, and arms of the last round."""

    means: jax.Array  # [K]
    best: jax.Array  # []  sum of the P largest means
    last: jax.Array  # [P] int32, arms of the last round; -1 before the first round


class TeamOutcome(NamedTuple):
    """Sums over all players in one round."""

    regret: jax.Array  # []  computed from means
    collisions: jax.Array  # []  number of players who collided
    switches: jax.Array  # []  number of players who changed their arm


@pytree
class SharedArms:
    """K Bernoulli arms for P players without communication.

    Each player observes Y_k of the chosen arm. With `sees_collisions` players also observe every collision. Otherwise
    they can infer a collision only from a lost reward, so that `collided` is 0 if Y_k is 0. Two players may then both
    settle on the same arm, a case that MCTopM does not handle. Teams that need to observe every collision, such as
    SIC-MMAB and Musical Chairs, are then rejected.

    References:
      Lilian Besson, Emilie Kaufmann. Multi-Player Bandits Revisited. ALT 2018, arXiv:1711.02317. Section 2 defines the
      models.

    Example:
      >>> SharedArms.from_means([0.1, 0.5, 0.9], n_players=2).n_arms
      3
    """

    source: ClassVar[str] = "the models of Besson & Kaufmann, ALT 2018"
    decision_type: ClassVar[type] = TeamDecision
    units: ClassVar = {"regret": "reward", "collisions": "players", "switches": "players"}
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")
    n_players: int = static(range="[1, inf)", doc="P, number of players")
    means: ArrayLike | None = param(
        None, "[0, 1]", "[K] probabilities; None to draw them in every trial, uniformly from [0, 1]"
    )
    sees_collisions: bool = static(True, BOOL, "whether players observe every collision instead of only lost rewards")

    def __post_init__(self) -> None:
        lists_to_arrays(self, "means")

    @classmethod
    def from_means(cls, means: Any, n_players: int, **fields: Any) -> "SharedArms":
        """Return an environment with given probabilities `[K]`; `fields` are values of other fields.

        Raises:
          InputError: if a probability is outside [0, 1], or if there are more players than arms.
        """
        means = floats("means", means, "(K,)")
        made = cls(n_arms=len(means), n_players=n_players, means=means, **fields)
        validate(made)
        return made

    @classmethod
    def example(cls) -> "SharedArms":
        return cls(n_arms=5, n_players=3)

    def check(self) -> None:
        """Raise InputError if there are more players than arms, or if the number of means is not `n_arms`."""
        if self.n_players > self.n_arms:
            raise InputError(f"SharedArms.n_players must be at most n_arms={self.n_arms}, got {self.n_players}")
        if self.means is not None and np.shape(self.means)[-1:] != (self.n_arms,):
            raise InputError(f"SharedArms.means must have shape [{self.n_arms}], got {np.shape(self.means)}")

    def init(self, key: jax.Array) -> SharedState:
        drawn = rng.uniforms(key, self.n_arms)
        means = drawn if self.means is None else jnp.asarray(self.means, drawn.dtype)
        best = jnp.sum(means[top_items(means, None, self.n_players)])
        return SharedState(means, best, jnp.full(self.n_players, -1, jnp.int32))

    def observe(self, key: jax.Array, t: jax.Array, state: SharedState) -> IndexObs:
        del key, t, state
        return IndexObs.of(self.n_arms)

    def step(
        self, key: jax.Array, t: jax.Array, state: SharedState, obs: IndexObs, decision: TeamDecision
    ) -> tuple[SharedState, PlayerRewards, TeamOutcome]:
        del t, obs
        index = decision.index
        if index.shape != (self.n_players,):
            raise InputError(f"the environment has {self.n_players} players, but the learner has {index.shape[0]}")
        coins = jnp.where(rng.uniforms(key, self.n_arms) < state.means, 1.0, 0.0)
        meets = jnp.sum(index[:, None] == index, axis=1, dtype=jnp.int32) > 1
        is_on = index[:, None] == jnp.arange(self.n_arms, dtype=index.dtype)  # a gather would not be vectorised
        sensed = jnp.sum(jnp.where(is_on, coins, 0.0), axis=1)
        means, collided = jnp.sum(jnp.where(is_on, state.means, 0.0), axis=1), jnp.where(meets, 1.0, 0.0)
        reward = sensed * (1.0 - collided)
        feedback = PlayerRewards(sensed, reward, collided if self.sees_collisions else sensed * collided)
        outcome = TeamOutcome(
            regret=state.best - jnp.sum(means * (1.0 - collided)),
            collisions=jnp.sum(collided),
            switches=jnp.sum(jnp.where((index != state.last) & (state.last >= 0), 1.0, 0.0)),
        )
        return state._replace(last=index.astype(jnp.int32)), feedback, outcome

    def admits(self, state: SharedState, obs: IndexObs, decision: TeamDecision) -> jax.Array:
        """Return True if the indices of all arms are in range; collisions are allowed."""
        del state, obs
        return jnp.all((decision.index >= 0) & (decision.index < self.n_arms))
