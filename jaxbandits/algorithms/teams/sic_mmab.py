"""SIC-MMAB: players communicate by deliberate collisions (Boursier & Perchet, NeurIPS 2019, Algorithm 1).

    fixation        T_0 = ceil(K e log T) rounds   play arms drawn uniformly at random until a round without a
                                                   collision, then stay on the arm k (numbered from 0) of that
                                                   round, the seat
    estimation      2 K rounds                     stay on arm k for 2 k rounds, then hop to the next arm every round; a
                                                   player collides M - 1 times in total, and j times before it hops
    exploration p   2^p K_p rounds                 hop over the active arms, 2^p plays of each
    communication p M (M - 1) K_p (p + 1) rounds   player i sends its sums of rewards of phase p to player l, arm by arm
                                                   and bit by bit, least significant bit first: to send 1 it moves to
                                                   the arm of player l and so collides with l, to send 0 it stays;
                                                   all other players stay
    decision p      B = sqrt(2 log T / n)          arms that are certainly worse than M others are dropped; arms that
                                                   are certainly better than K_p - M others are assigned to players,
                                                   in the order of the ranks

The player of rank j (counted from 0) stays on the j-th active arm while players communicate. Arm a is certainly worse
than arm b if $m_a + B <= m_b - B$, where m is the mean reward of an arm over the $n$ plays of all players. $M$ is the
number of players without an assigned arm, and $K_p$ is the number of active arms. A player with an assigned arm plays
it forever. The other players continue with exploration phase p + 1. Notation: K is the field `n_arms`, P is
`n_players`, T is `horizon`, e is `fixation`, and the factor 2 in B is `width`. The cost per round is $O(P K^2)$.
"""

import math
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import log_rounds
from jaxbandits.algorithms.teams.team_policy import decide, draw_arm_of, require_arms_for_all
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.base.ranges import BOOL
from jaxbandits.numerics import bernoulli, rng
from jaxbandits.types import ArmObs, PlayerRewards, TeamDecision

FIXATION, ESTIMATION, EXPLORATION, COMMUNICATION, EXPLOITATION = range(5)
_BOUNDS = ("hoeffding", "kl")


class SICState(NamedTuple):
    """State of one player; the state of a team has a leading axis P."""

    stage: jax.Array  # [] int32, one of the five stages
    step: jax.Array  # [] int32, number of rounds since the start of the stage
    arm: jax.Array  # [] int32, arm of the next round
    seat: jax.Array  # [] int32, seat: the arm found in the fixation stage; -1 before that
    rank: jax.Array  # [] int32, rank j
    players: jax.Array  # [] int32, number M of players without an assigned arm
    phase: jax.Array  # [] int32, number p of the phase
    active: jax.Array  # [K] bool, active arms
    own: jax.Array  # [K]  sums of the player's rewards in the phase
    total: jax.Array  # [K]  sums of the rewards of all players, without those of the player's exploration in progress
    count: jax.Array  # []  n, number of plays of each active arm by all players


@pytree
class SICMMAB:
    """Team whose players exchange sums of rewards bit by bit, where a deliberate collision encodes a 1.

    The players do not use `n_players`, which is the number of players that are simulated. They must observe collisions
    and the rewards of their arms without delay. A player whose arm is unavailable plays the first available arm; the
    protocol needs all arms in every round, since otherwise players misread each other, and the regret may be linear.

    Guarantee:
      For Bernoulli arms with means $mu_1 >= mu_2 >= ...$, observed collisions and a known horizon, the expected regret
      is $O(sum_{k > P} log T / (mu_P - mu_k) + P K log T + P^3 K log(log T / (mu_P - mu_{P+1})^2)^2)$; the first term
      is that of a centralised team (Theorem 1).

    Deviations:
      * [printed] With `skips_short_phases` the first phase is $p = ceil(log2 M) + 1$, as in the authors' code, since
        communication after short phases costs more than it saves. The paper, and `theory`, start with $p = 1$.
      * [printed] With `bounds="kl"`, $m + B$ is the KL-UCB index at level $log t / n$, and $m - B$ lies at the same
        distance below m, as in the code of the table in Besson's thesis.
      * [ours] Rewards are clipped to [0, 1]. A sum is rounded down before it is sent, and all players, including the
        sender, use the rounded sum.
      * [ours] A player without a seat after $T_0$ rounds takes its last arm as its seat, and M and j are clipped to
        valid values. This matters only if the fixation stage has failed.

    References:
      Etienne Boursier, Vianney Perchet. SIC-MMAB: Synchronisation Involves Communication in Multiplayer Multi-Armed
      Bandits. NeurIPS 2019, arXiv:1809.08151, Algorithm 1, Theorem 1.
      Lilian Besson. Multi-Players Bandit Algorithms for Internet of Things Networks. PhD thesis, CentraleSupelec, 2019,
      Chapter 5: the comparison, by SMPyBandits.
    """

    source: ClassVar[str] = "Boursier & Perchet, NeurIPS 2019, Algorithm 1"
    feedback: ClassVar[type] = PlayerRewards
    environments: ClassVar[tuple[str, ...]] = ("teams/shared_arms",)
    needs_immediate_feedback: ClassVar[bool] = True
    needs_collisions: ClassVar[bool] = True
    n_arms: int = static(range="[2, inf)", doc="K, number of arms")
    n_players: int = static(range="[1, inf)", doc="P, number of players, which the players do not know")
    horizon: ArrayLike = param(range="[2, 1e9]", doc="T, number of rounds, in T_0 and B")
    fixation: ArrayLike = param(math.e, "(0, inf)", "e, the ratio T_0 / (K log T)")
    width: ArrayLike = param(2.0, "(0, inf)", "factor of log T / n under the root in B")
    bounds: str = static(
        "hoeffding", doc='confidence bounds: "hoeffding", or "kl" (Bernoulli divergences at level log t / n)'
    )
    skips_short_phases: bool = static(False, BOOL, "True: the first phase is p = ceil(log2 M) + 1; False: p = 1")

    @classmethod
    def theory(cls, *, n_arms: int, n_players: int, horizon: ArrayLike, **changes: Any) -> "SICMMAB":
        """Use the constants of Theorem 1 (the default)."""
        return cls(**{"n_arms": n_arms, "n_players": n_players, "horizon": horizon} | changes)

    @classmethod
    def practical(cls, *, n_arms: int, n_players: int, horizon: ArrayLike, **changes: Any) -> "SICMMAB":
        """Use `skips_short_phases=True`, as in the experiments of the authors."""
        return cls.theory(n_arms=n_arms, n_players=n_players, horizon=horizon, **{"skips_short_phases": True} | changes)

    @classmethod
    def example(cls) -> "SICMMAB":
        return cls.practical(n_arms=5, n_players=3, horizon=2000.0)

    def check(self) -> None:
        """Raise InputError for more players than arms, or for unknown bounds."""
        require_arms_for_all(self)
        if self.bounds not in _BOUNDS:
            raise InputError(f'SICMMAB.bounds must be "hoeffding" or "kl", got {format_value(self.bounds)}')

    def init(self, key: jax.Array) -> SICState:
        rows, whole = self.n_players, jnp.int32
        return SICState(
            stage=jnp.full(rows, FIXATION, whole),
            step=jnp.zeros(rows, whole),
            arm=rng.randints(key, self.n_arms, rows),
            seat=jnp.full(rows, -1, whole),
            rank=jnp.zeros(rows, whole),
            players=jnp.ones(rows, whole),
            phase=jnp.ones(rows, whole),
            active=jnp.ones((rows, self.n_arms), bool),
            own=jnp.zeros((rows, self.n_arms)),
            total=jnp.zeros((rows, self.n_arms)),
            count=jnp.zeros(rows),
        )

    def select(self, key: jax.Array, t: jax.Array, state: SICState, obs: ArmObs) -> TeamDecision:
        del key, t
        return decide(obs, self.n_arms, state.arm)

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: SICState,
        obs: ArmObs,
        decision: TeamDecision,
        feedback: PlayerRewards,
    ) -> SICState:
        del obs

        def after(choice: jax.Array, player: SICState, arm: jax.Array, received: PlayerRewards) -> SICState:
            player = self._learn(player, arm, received)
            player = self._advance(t, player, arm)
            return player._replace(arm=self._next_arm(choice, player, arm))

        draws = rng.uniforms(key, self.n_players)  # one draw for all players, since a key per player would be slow
        return jax.vmap(after)(draws, state, decision.index, feedback)

    def _learn(self, player: SICState, arm: jax.Array, received: PlayerRewards) -> SICState:
        """Return the state of a player after the observations of a round, without a change of stage."""
        stage, step, collides = player.stage, player.step, received.collided > 0.0
        takes_seat = (stage == FIXATION) & (player.seat < 0) & ~collides
        is_met = (stage == ESTIMATION) & collides
        here = jnp.arange(self.n_arms, dtype=arm.dtype) == arm
        reward = jnp.where(here & (stage == EXPLORATION), jnp.clip(received.sensed, 0.0, 1.0), 0.0)
        # A collision means that another player sends a bit 1 of its sum.
        sender, _, message, bit = _place_in_protocol(player)
        is_bit = (stage == COMMUNICATION) & collides & (sender != player.rank)
        about = jnp.arange(self.n_arms, dtype=jnp.int32) == _active_arm(player, message)
        value = jnp.left_shift(jnp.int32(1), bit).astype(reward.dtype)
        return player._replace(
            step=step + 1,
            seat=jnp.where(takes_seat, arm, player.seat),
            rank=player.rank + jnp.where(is_met & (step < 2 * player.seat), 1, 0),
            players=player.players + jnp.where(is_met, 1, 0),
            own=player.own + reward,
            total=player.total + jnp.where(about & is_bit, value, 0.0),
        )

    def _advance(self, t: jax.Array, player: SICState, arm: jax.Array) -> SICState:
        """Return the state of a player, moved to the start of the next stage if its stage is over."""
        stage, step, n_active = player.stage, player.step, _active_count(player)
        log_horizon = jnp.log(jnp.asarray(self.horizon, player.count.dtype))
        is_seated = (stage == FIXATION) & (step >= jnp.ceil(self.fixation * self.n_arms * log_horizon))
        is_counted = (stage == ESTIMATION) & (step >= 2 * self.n_arms)
        is_explored = (stage == EXPLORATION) & (step >= jnp.left_shift(n_active, player.phase))
        talks = is_explored & (player.players > 1)
        is_told = (stage == COMMUNICATION) & (step >= player.players * _turn_length(player))
        decides = (is_explored & ~talks) | is_told

        players = jnp.where(is_counted, jnp.minimum(player.players, self.n_arms), player.players)
        rank = jnp.where(is_counted, jnp.minimum(player.rank, players - 1), player.rank)
        phase = jnp.where(is_counted & self.skips_short_phases, 1 + _ceil_log2(players, self.n_arms), player.phase)

        # All players must hold the same sums, which are whole numbers as sent; otherwise their decisions may differ.
        # Rewards are therefore not added one by one, with a rounding error each, to the sums of all players.
        sent = jnp.floor(player.own)
        total = player.total + jnp.where(is_explored, jnp.where(talks, sent, player.own), 0.0)
        player = player._replace(total=total)

        count = player.count + jnp.where(decides, jnp.left_shift(players, phase), 0).astype(player.count.dtype)
        accepted, rejected = self._decide(t, player, count, log_horizon)
        accepted, rejected = accepted & decides, rejected & decides
        n_accepted = jnp.sum(accepted, dtype=jnp.int32)
        exploits = decides & (rank < n_accepted)
        assigned = jnp.sum(jnp.cumsum(accepted, dtype=jnp.int32) <= rank, dtype=jnp.int32)
        goes_on = decides & ~exploits

        following = jnp.where(is_seated, ESTIMATION, stage)
        following = jnp.where(is_counted | goes_on, EXPLORATION, following)
        following = jnp.where(talks, COMMUNICATION, jnp.where(exploits, EXPLOITATION, following)).astype(jnp.int32)
        return player._replace(
            stage=following,
            step=jnp.where(following == stage, jnp.where(goes_on, 0, step), 0),
            arm=jnp.where(exploits, assigned, arm),
            seat=jnp.where(is_seated & (player.seat < 0), arm, player.seat),
            rank=jnp.where(goes_on, rank - n_accepted, rank),
            players=players - n_accepted,
            phase=jnp.where(goes_on, phase + 1, phase),
            active=player.active & ~accepted & ~rejected,
            own=jnp.where(goes_on, 0.0, jnp.where(talks, sent, player.own)),
            count=count,
        )

    def _decide(
        self, t: jax.Array, player: SICState, count: jax.Array, log_horizon: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Return masks `[K]` of the arms that one player assigns and of the arms that it drops."""
        n = jnp.maximum(count, 1.0)
        mean = player.total / n
        if self.bounds == "kl":
            mean = jnp.clip(mean, 0.0, 1.0)
            half = bernoulli.upper(mean, log_rounds(t + 1) / n) - mean
        else:
            half = jnp.sqrt(self.width * log_horizon / n)
        low, high = jnp.where(player.active, mean - half, -jnp.inf), jnp.where(player.active, mean + half, jnp.inf)
        better = jnp.sum(low >= high[:, None], axis=1, dtype=jnp.int32)  # number of certainly better arms, for each arm
        worse = jnp.sum(high <= low[:, None], axis=1, dtype=jnp.int32)
        accepted = player.active & (worse >= _active_count(player) - player.players)
        return accepted, player.active & (better >= player.players) & ~accepted

    def _next_arm(self, choice: jax.Array, player: SICState, arm: jax.Array) -> jax.Array:
        """Return the arm of a player for the round whose stage and step the state holds."""
        stage, step, seat = player.stage, player.step, player.seat
        drawn = draw_arm_of(choice, jnp.ones(self.n_arms, bool))
        hops = jnp.where(step < 2 * seat, seat, (step + 1 - seat) % self.n_arms)
        explored = _active_arm(player, (player.rank + 1 + step) % jnp.maximum(_active_count(player), 1))
        sender, receiver, message, bit = _place_in_protocol(player)
        sum_sent = jnp.sum(jnp.where(jnp.arange(self.n_arms) == _active_arm(player, message), player.own, 0.0))
        is_one = (jnp.right_shift(jnp.floor(sum_sent).astype(jnp.int32), bit) & 1) == 1
        goes = (sender == player.rank) & is_one
        place = jnp.where(goes, receiver + jnp.where(receiver >= player.rank, 1, 0), player.rank)
        following = jnp.where(stage == FIXATION, jnp.where(seat < 0, drawn, seat), player.arm)
        following = jnp.where(stage == ESTIMATION, hops, following)
        following = jnp.where(stage == EXPLORATION, explored, following)
        return jnp.where(stage == COMMUNICATION, _active_arm(player, place), following).astype(arm.dtype)


def _active_count(player: SICState) -> jax.Array:
    """Return K_p `[]`, the number of active arms."""
    return jnp.sum(player.active, dtype=jnp.int32)


def _active_arm(player: SICState, place: jax.Array) -> jax.Array:
    """Return the active arm `[]` at a position (from 0) in the list of active arms."""
    before = jnp.sum(jnp.cumsum(player.active, dtype=jnp.int32) <= place, dtype=jnp.int32)
    return jnp.minimum(before, player.active.shape[-1] - 1)


def _turn_length(player: SICState) -> jax.Array:
    """Return the number of rounds `[]` in which one player sends its sums to all others."""
    return (player.players - 1) * _active_count(player) * (player.phase + 1)


def _place_in_protocol(player: SICState) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Return sender, receiver (numbered without the sender), position of the arm and bit, for the current round."""
    bits, n_active = player.phase + 1, jnp.maximum(_active_count(player), 1)
    turn = jnp.maximum(_turn_length(player), 1)
    within = player.step % turn
    return player.step // turn, within // (bits * n_active), (within // bits) % n_active, within % bits


def _ceil_log2(value: jax.Array, most: int) -> jax.Array:
    """Return ceil(log2 value) `[]` int32 for an integer from 1 to `most`."""
    powers = jnp.left_shift(jnp.int32(1), jnp.arange(most.bit_length(), dtype=jnp.int32))
    return jnp.sum(powers < value, dtype=jnp.int32)
