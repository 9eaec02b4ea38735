"""Musical Chairs: explore uniformly, estimate the number of players, take a seat (Rosenski et al., ICML 2016).

    t <= T_0   play a uniformly random arm
    N          = round(log((T_0 - C) / T_0) / log(1 - 1 / K)) + 1,   C the player's collisions in T_0 rounds
    t > T_0    draw from the N arms with the largest means until a round without a collision, then keep that arm

Each of the P players, who do not know P, follows this rule with its own observations. Notation: $T_0$ is the field
`learning_rounds` and K is `n_arms`; the paper writes N* for the estimate N. The cost per round is $O(P K^2)$.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.teams.team_policy import decide, draw_arm_of, order_arms, require_arms_for_all
from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.numerics import rng
from jaxbandits.types import ArmObs, PlayerRewards, TeamDecision


class ChairsState(NamedTuple):
    """State of all players; the leading axis P is that of the players."""

    count: jax.Array  # [P, K]  number of learning rounds without a collision, per arm
    total: jax.Array  # [P, K]  sums of the rewards of these rounds
    collisions: jax.Array  # [P]  C, number of collisions in the learning rounds
    arm: jax.Array  # [P] int32, arms of the next round
    seated: jax.Array  # [P] bool, True if the player keeps its arm forever
    best: jax.Array  # [P, K] bool, the N best arms; all arms while the player learns


@pytree
class MusicalChairs:
    """Team of players who explore uniformly for a fixed number of rounds and then settle on different arms.

    The players do not use `n_players`, which is the number of players that are simulated. They must observe every
    collision without delay. They draw from arms that were available in the last round; a player whose arm is
    unavailable plays the first available arm.

    Guarantee:
      If $T_0$ is set as in `theory` and the means are in [0, 1] with a gap of at least `gap` between the P-th and the
      (P + 1)-th largest, then with probability at least $1 - 1 / T$ the regret after any number of rounds is at most
      $T_0 P + 2 exp(2) P$ (Theorem 1).

    Deviations:
      * [reconstructed] $T_0$ of `theory` is taken from the code of Boursier and Perchet's paper, with failure
        probability 1 / T in all three terms.
      * [ours] N is at least 1 and at most K, and it is K if every learning round was a collision. In the formula of N
        and among the N best, only the arms count that are available in the last learning round. Arms without a reward
        have mean 0. Ties between means go to the first arms, so that players with equal estimates agree on the best
        arms.

    References:
      Jonathan Rosenski, Ohad Shamir, Liran Szlak. Multi-Player Bandits: A Musical Chairs Approach. ICML 2016,
      arXiv:1512.02866, Algorithm 1, Theorem 1.
      Etienne Boursier, Vianney Perchet. SIC-MMAB: Synchronisation Involves Communication in Multiplayer Multi-Armed
      Bandits. NeurIPS 2019: code of the comparison.
    """

    source: ClassVar[str] = "Rosenski, Shamir & Szlak, ICML 2016, Algorithm 1"
    feedback: ClassVar[type] = PlayerRewards
    environments: ClassVar[tuple[str, ...]] = ("teams/shared_arms",)
    needs_immediate_feedback: ClassVar[bool] = True
    needs_collisions: ClassVar[bool] = True
    n_arms: int = static(range="[2, inf)", doc="K, number of arms")
    n_players: int = static(range="[1, inf)", doc="P, number of players, which the players do not know")
    learning_rounds: ArrayLike = param(range="[1, inf)", doc="T_0, number of rounds of uniform play; rounded up")

    @classmethod
    def theory(
        cls, *, n_arms: int, n_players: int, horizon: ArrayLike, gap: ArrayLike, **changes: FieldValue
    ) -> "MusicalChairs":
        """Use T_0 = max(K log(2 K^2 T) / 2, 16 K log(4 K^2 T) / gap^2, 50 K^2 log(2 T)), rounded up.

        Args:
          n_arms: K, number of arms.
          n_players: P, number of players.
          horizon: T, number of rounds.
          gap: lower bound on the difference between the P-th and the (P + 1)-th largest mean.
          **changes: other fields.
        """
        horizon = ranges.numbers("horizon", horizon, "[1, 1e18]")
        gap = ranges.numbers("gap", gap, "[1e-9, 1]")
        squared = float(ranges.integer("n_arms", n_arms, "[2, inf)")) ** 2
        counting = n_arms * np.log(2.0 * squared * horizon) / 2.0
        ranking = 16.0 * n_arms * np.log(4.0 * squared * horizon) / np.square(gap)
        rounds = np.ceil(np.maximum(np.maximum(counting, ranking), 50.0 * squared * np.log(2.0 * horizon)))
        return cls(**{"n_arms": n_arms, "n_players": n_players, "learning_rounds": rounds} | changes)

    @classmethod
    def example(cls) -> "MusicalChairs":
        return cls(n_arms=5, n_players=3, learning_rounds=15.0)

    def check(self) -> None:
        """Raise InputError for more players than arms."""
        require_arms_for_all(self)

    def init(self, key: jax.Array) -> ChairsState:
        shape = (self.n_players, self.n_arms)
        return ChairsState(
            count=jnp.zeros(shape),
            total=jnp.zeros(shape),
            collisions=jnp.zeros(self.n_players),
            arm=rng.randints(key, self.n_arms, self.n_players),
            seated=jnp.zeros(self.n_players, bool),
            best=jnp.ones(shape, bool),
        )

    def select(self, key: jax.Array, t: jax.Array, state: ChairsState, obs: ArmObs) -> TeamDecision:
        del key, t
        return decide(obs, self.n_arms, state.arm)

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: ChairsState,
        obs: ArmObs,
        decision: TeamDecision,
        feedback: PlayerRewards,
    ) -> ChairsState:
        available = None if obs.mask is None else jnp.asarray(obs.mask)
        learns, is_last = t < self.learning_rounds, t + 1 >= self.learning_rounds

        def after(choice: jax.Array, player: ChairsState, arm: jax.Array, received: PlayerRewards) -> ChairsState:
            alone = received.collided == 0.0
            here = (jnp.arange(self.n_arms, dtype=arm.dtype) == arm) & learns & alone
            count = player.count + jnp.where(here, 1.0, 0.0)
            total = player.total + jnp.where(here, received.reward, 0.0)
            collisions = player.collisions + jnp.where(learns & ~alone, 1.0, 0.0)
            mean = total / jnp.maximum(count, 1.0)
            if available is not None:
                mean = jnp.where(available, mean, jnp.finfo(mean.dtype).min)
            found = order_arms(-jnp.arange(self.n_arms), mean)
            n_players = self.count_players(count, collisions, available)
            best = jnp.where(learns & is_last, found < n_players, player.best)
            seated = player.seated | (alone & ~learns)
            seats = best
            if available is not None:
                seats = jnp.where(jnp.any(best & available), best & available, best)
                # The first available arm, which a seated player plays while its own is unavailable, may be taken.
                arm = jnp.where(player.seated & ~available[player.arm], player.arm, arm)
            arm = jnp.where(seated, arm, draw_arm_of(choice, seats))
            return ChairsState(count, total, collisions, arm, seated, best)

        draws = rng.uniforms(key, self.n_players)  # one draw for all players, since a key per player would be slow
        return jax.vmap(after)(draws, state, decision.index, feedback)

    def count_players(self, count: jax.Array, collisions: jax.Array, available: jax.Array | None = None) -> jax.Array:
        """Return one player's estimate `[]` of the number of players.

        Args:
          count: `[K]` number of rounds without a collision, per arm.
          collisions: `[]` number of collisions.
          available: `[K]` mask of the available arms, whose number replaces K in the formula; None: all arms.
        """
        alone = jnp.sum(count)
        share = alone / jnp.maximum(alone + collisions, 1.0)
        log_miss = np.log1p(-1.0 / self.n_arms)
        if available is not None:
            log_miss = jnp.log1p(-1.0 / jnp.maximum(jnp.sum(available), 2.0))
        estimate = jnp.round(jnp.log(share) / log_miss + 1.0)
        return jnp.clip(estimate, 1.0, self.n_arms)
