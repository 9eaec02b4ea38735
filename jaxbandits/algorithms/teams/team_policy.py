"""Abstract team of M players without communication: each player has its own copy of an index policy and a moving rule.

    U_k   index of arm k in a player's policy; arms that the player has not played rank above all others, and arms that
          were not available in the last round rank below all others
    best  the M arms with the largest U_k; each player breaks ties by its own random draws

A concrete subclass defines the moving rule of one player. The state of the team has a leading axis M over players.
"""

import abc
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import param, pytree, static
from jaxbandits.estimation.arms import check_count
from jaxbandits.numerics import first_axis, rng
from jaxbandits.types import ArmDecision, ArmObs, PlayerRewards, Reward, TeamDecision

_UNPLAYED = 0.5  # the index of an arm that a player has not played is this fraction of the largest float


class Draws(NamedTuple):
    """Random numbers of one player in a round, uniform on [0, 1)."""

    ties: jax.Array  # [K]  break ties between equal indices
    choice: jax.Array  # []  draws an arm or a rank


class PlayerState(NamedTuple):
    """State of one player; the state of a team has a leading axis M."""

    pulls: Pulls  # counts and sums of the rewards that the player observed
    index: jax.Array  # [K]  U_k of the next round
    arm: jax.Array  # [] int32, arm of the next round
    note: jax.Array  # [] int32, state of the moving rule: 1 if the player is fixed (MCTopM), or the rank (RhoRand)


@pytree
class TeamPolicy(abc.ABC):
    """Abstract team of players with index policies; the arm of the next round is drawn in `update`.

    Feedback must not be delayed. A player whose arm is unavailable plays the first available arm, without claiming it.
    """

    feedback: ClassVar[type] = PlayerRewards
    environments: ClassVar[tuple[str, ...]] = ("teams/shared_arms",)
    needs_immediate_feedback: ClassVar[bool] = True
    policy: Any = param(
        doc="deterministic index policy of jaxbandits.armed that keeps counts and sums of rewards, such as KLUCB"
    )
    n_players: int = static(range="[1, inf)", doc="M, number of players, which the players know")

    @abc.abstractmethod
    def move(
        self, draws: Draws, state: PlayerState, index: jax.Array, collided: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Return the next arm of one player, and its note for the next round.

        Args:
          draws: random numbers of this player.
          state: the player's state in the round just played.
          index: `[K]` indices for the next round.
          collided: `[]` 1 if the player observed a collision, else 0.
        """

    def first_notes(self, key: jax.Array) -> jax.Array:
        """Return the initial notes `[M]` of the players (`PlayerState.note`)."""
        del key
        return jnp.zeros(self.n_players, jnp.int32)

    def learning_signal(self, feedback: PlayerRewards) -> jax.Array:
        """Return the reward with which the policy of one player is updated."""
        return feedback.sensed

    def check(self) -> None:
        """Raise InputError for an unsuitable policy (`require_index_policy`), or for more players than arms."""
        require_index_policy(self)
        require_arms_for_all(self)

    @property
    def n_arms(self) -> int:
        """Number K of arms."""
        return self.policy.n_arms

    def init(self, key: jax.Array) -> PlayerState:
        policy_key, arm_key, note_key = jax.random.split(key, 3)
        return PlayerState(
            pulls=jax.tree.map(lambda x: jnp.broadcast_to(x, (self.n_players, *x.shape)), self.policy.init(policy_key)),
            index=jnp.full((self.n_players, self.n_arms), _highest(jnp.result_type(float))),
            arm=rng.randints(arm_key, self.n_arms, self.n_players),
            note=self.first_notes(note_key),
        )

    def select(self, key: jax.Array, t: jax.Array, state: PlayerState, obs: ArmObs) -> TeamDecision:
        del key, t
        return decide(obs, self.n_arms, state.arm)

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: PlayerState,
        obs: ArmObs,
        decision: TeamDecision,
        feedback: PlayerRewards,
    ) -> PlayerState:
        def after(draws: Draws, own: PlayerState, arm: jax.Array, sensed: PlayerRewards) -> PlayerState:
            played = ArmDecision(arm, arm)  # the policy reads no features
            pulls = self.policy.update(key, t, own.pulls, obs, played, Reward(self.learning_signal(sensed)))
            index = index_of(self.policy, t + 1, pulls)
            highest = _highest(index.dtype)
            index = jnp.where(pulls.count < self.policy.first_pulls, highest, index)
            if obs.mask is not None:  # otherwise players would claim an arm that is never available
                index = jnp.where(obs.mask, index, -highest)
                arm = jnp.where(jnp.asarray(obs.mask)[own.arm], arm, own.arm)  # the arm that it left, not the stand-in
            arm, note = self.move(draws, own._replace(arm=arm), index, sensed.collided)
            return PlayerState(pulls, index, arm, note)

        tie_key, choice_key = jax.random.split(key)  # one draw for all players, since a key per player would be slow
        ties = rng.uniforms(tie_key, self.n_players * self.n_arms).reshape(self.n_players, self.n_arms)
        draws = Draws(ties, rng.uniforms(choice_key, self.n_players))
        return jax.vmap(after)(draws, state, decision.index, feedback)


def _highest(dtype: Any) -> float:
    """Return the index of arms without plays, which is above every index."""
    return _UNPLAYED * float(jnp.finfo(dtype).max)


def require_index_policy(team: Any) -> None:
    """Raise InputError if the policy of a team is randomised, or if its state holds more than counts and sums."""
    policy = team.policy
    suits = isinstance(policy, IndexPolicy) and type(policy).select is IndexPolicy.select  # no draws in `select`
    suits = suits and isinstance(jax.eval_shape(policy.init, jax.random.key(0)), Pulls)
    if suits:
        try:
            one = jax.tree.map(lambda x: jax.ShapeDtypeStruct((), jnp.result_type(float)), policy)  # one sweep point
            jax.eval_shape(lambda p: index_of(p, jnp.int32(1), p.init(jax.random.key(0))), one)
        except Exception:  # a draw without a key may raise any exception
            suits = False
    if not suits:
        raise InputError(
            f"{type(team).__name__}.policy must be a deterministic index policy of jaxbandits.armed that keeps "
            f"counts and sums of rewards, such as KLUCB or UCB1, got {format_value(policy)}"
        )


def require_arms_for_all(team: Any) -> None:
    """Raise InputError for a team with more players than arms."""
    if team.n_players > team.n_arms:
        name = type(team).__name__
        raise InputError(f"{name}.n_players must be at most n_arms={team.n_arms}, got {team.n_players}")


def decide(obs: ArmObs, n_arms: int, arms: jax.Array) -> TeamDecision:
    """Return the decision for the arms chosen by the players; the first available arm replaces unavailable arms.

    Raises:
      InputError: if the observation does not have K = `n_arms` arms.
    """
    check_count(obs.arms, n_arms)
    if obs.mask is None:
        return TeamDecision(arms)
    return TeamDecision(jnp.where(obs.mask[arms], arms, first_axis.argmax(jnp.where(obs.mask, 1.0, 0.0))))


def index_of(policy: IndexPolicy, t: jax.Array, pulls: Pulls) -> jax.Array:
    """Return the indices `[K]` of a deterministic policy in round t >= 0."""
    no_key: Any = None
    return policy.index(no_key, t, pulls)


def order_arms(ties: jax.Array, index: jax.Array) -> jax.Array:
    """Return the ranks `[K]` (int32, from 0) of the arms in decreasing order of the index, then of `ties`."""
    is_before = (index > index[:, None]) | ((index == index[:, None]) & (ties > ties[:, None]))
    return jnp.sum(is_before, axis=1, dtype=jnp.int32)


def draw_arm_of(choice: jax.Array, arms: jax.Array) -> jax.Array:
    """Return an arm drawn uniformly from a nonempty mask `[K]`, by means of a uniform random number `choice`."""
    member = jnp.where(arms, 1, 0).astype(jnp.int32)
    count = jnp.sum(member, dtype=jnp.int32)
    place = jnp.minimum((choice * count).astype(jnp.int32), count - 1)  # from 0, among the arms of the mask
    return jnp.sum(jnp.cumsum(member, dtype=jnp.int32) <= place, dtype=jnp.int32)


def draw_from_best(draws: Draws, state: PlayerState, index: jax.Array, n_players: int) -> tuple[jax.Array, jax.Array]:
    """Return whether a player's arm is among the M best arms, and a new arm drawn from them (Besson & Kaufmann, 2018).

    If the player's arm is among the M best arms, the new arm is drawn uniformly from them. Otherwise it is drawn from
    those of the M best arms whose index in the last round was at most that of the player's arm, or from all M best arms
    if there are none.

    Args:
      draws: random numbers of this player.
      state: the player's state in the round just played.
      index: `[K]` indices for the next round.
      n_players: M, number of players.
    """
    best = order_arms(draws.ties, index) < n_players
    mine = jnp.arange(index.shape[-1]) == state.arm
    is_in = jnp.any(best & mine)
    narrow = best & (state.index <= jnp.sum(jnp.where(mine, state.index, 0.0)))
    narrow = jnp.where(jnp.any(narrow), narrow, best)
    return is_in, draw_arm_of(draws.choice, jnp.where(is_in, best, narrow))
