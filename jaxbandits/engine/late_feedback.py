"""Choose when a learner receives the feedback of a round: at the end of the round, later, or after a batch of rounds.

`update_schedule` chooses one of four schedules, each of which has two methods:

    init_buffer(first_interaction)                           zeros in place of the rounds whose feedback is delayed
    update(algorithm, carry, interaction, t, learner_time)   the learner's state and the buffer after round t
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.base import trees
from jaxbandits.base.errors import InputError
from jaxbandits.base.round_order import out_of_order
from jaxbandits.engine.carry import Carry, Interaction
from jaxbandits.numerics import rng
from jaxbandits.programs.cached_traces import own_code
from jaxbandits.tracing import batching
from jaxbandits.tracing.barrier import materialize
from jaxbandits.types import (
    AdviceObs,
    Algorithm,
    Batches,
    ContextObs,
    Delays,
    DelaysAtRandom,
    Environment,
    FixedArmObs,
    Obs,
    State,
)

_Buffer: TypeAlias = Any  # `Interaction` of the rounds whose feedback is delayed, leaves `[rounds, ...]`; () if none is


class AtOnce(NamedTuple):
    """Schedule that updates the learner at the end of every round with the feedback of that round."""

    def init_buffer(self, first_interaction: Callable[[], Interaction]) -> _Buffer:
        return ()

    def update(
        self, algorithm: Algorithm, carry: Carry, interaction: Interaction, t: jax.Array, learner_time: jax.Array
    ) -> tuple[Any, _Buffer]:
        key = _fold_in(carry.streams.update, t)
        return algorithm.update(key, learner_time, carry.alg_state, *interaction), carry.delay_buffer


class Late(NamedTuple):
    """Schedule that updates the learner at the end of round t with the feedback of round `t - delay`."""

    delay: int

    def init_buffer(self, first_interaction: Callable[[], Interaction]) -> _Buffer:
        return _zeros(self.delay, first_interaction)

    def update(
        self, algorithm: Algorithm, carry: Carry, interaction: Interaction, t: jax.Array, learner_time: jax.Array
    ) -> tuple[Any, _Buffer]:
        key, state = _fold_in(carry.streams.update, t), carry.alg_state
        index = lax.rem(t, jnp.asarray(self.delay, t.dtype))
        # Read before write: otherwise XLA copies the whole buffer in every round.
        past, buffer = materialize((_row(carry.delay_buffer, index), carry.delay_buffer))
        buffer = _write(buffer, interaction, index)
        past = _with_fixed_arms(past, interaction)
        state = batching.cond(  # a branch at run time and not a select, since t is the same for all trials
            t >= self.delay, lambda: algorithm.update(key, t - self.delay, state, *past), lambda: state
        )
        return state, buffer


class InBatches(NamedTuple):
    """Schedule that updates the learner once for each round of a batch, in order, `delay` rounds after its end."""

    delay: int
    batch: int  # rounds

    @property
    def rounds(self) -> int:
        """Number of rounds in the buffer."""
        return self.delay + self.batch

    def init_buffer(self, first_interaction: Callable[[], Interaction]) -> _Buffer:
        return _zeros(self.rounds, first_interaction)

    def update(
        self, algorithm: Algorithm, carry: Carry, interaction: Interaction, t: jax.Array, learner_time: jax.Array
    ) -> tuple[Any, _Buffer]:
        rounds, state = jnp.asarray(self.rounds, t.dtype), carry.alg_state
        buffer = _write(carry.delay_buffer, interaction, lax.rem(t, rounds))
        first = t - (self.rounds - 1)  # first round of a batch that ended `delay` rounds ago

        def apply_row(i: jax.Array, state: State) -> Any:
            past = first + i.astype(t.dtype)
            row = _with_fixed_arms(_row(buffer, lax.rem(past, rounds)), interaction)
            return algorithm.update(rng.fold_in(carry.streams.update, past), past, state, *row)

        state = batching.cond(  # a branch at run time and not a select, since t is the same for all trials
            (first >= 0) & (lax.rem(first, jnp.asarray(self.batch, t.dtype)) == 0),
            lambda: batching.fori_loop(0, self.batch, apply_row, state),
            lambda: state,
        )
        return state, buffer


class QueueBuffer(NamedTuple):
    """Interactions whose feedback has not been used; that of round t is at position t mod S, of S positions."""

    rows: Interaction  # leaves [S, ...]
    due: jax.Array  # [S] int32, 1 + the round at whose end the feedback arrives; 0 once it has been used


class Queue(NamedTuple):
    """Schedule that updates the learner at most once per round, with the feedback that arrived first.

    Among feedback that arrived in the same round, the feedback of the earliest round is used.

    Let random delays be at most b rounds, in addition to the fixed `delay`. Consider the rounds that were played at
    least `delay` rounds ago. After any round, at most b of them have unused feedback: each round adds one to this
    number, and the update subtracts one, unless no feedback is waiting; in that case only the last b of these rounds
    can lack their feedback. Feedback is therefore used at most b rounds after it arrives, and a buffer of S = delay + 2
    b + 1 positions suffices.
    """

    delay: int
    bound: int
    draw_delay: Callable[[jax.Array], jax.Array]

    @property
    def rounds(self) -> int:
        """Number of rounds in the buffer, S."""
        return self.delay + 2 * self.bound + 1

    def init_buffer(self, first_interaction: Callable[[], Interaction]) -> _Buffer:
        return QueueBuffer(_zeros(self.rounds, first_interaction), jnp.zeros(self.rounds, jnp.int32))

    def update(
        self, algorithm: Algorithm, carry: Carry, interaction: Interaction, t: jax.Array, learner_time: jax.Array
    ) -> tuple[Any, _Buffer]:
        key, state, places = _fold_in(carry.streams.update, t), carry.alg_state, jnp.arange(self.rounds, dtype=t.dtype)
        lag = self.delay + self.draw_delay(_fold_in(carry.streams.step, t))
        present = lax.rem(t, jnp.asarray(self.rounds, t.dtype))
        rows = _write(carry.delay_buffer.rows, interaction, present)  # the same position for all trials
        due = jnp.where(places == present, (t + lag + 1).astype(jnp.int32), carry.delay_buffer.due)
        # Number of rounds since each interaction was played.
        age = lax.rem(present - places + self.rounds, jnp.asarray(self.rounds, t.dtype))
        waited = jnp.where(due > 0, t + 1 - due, -1)
        longest = jnp.max(waited)
        is_due = longest >= 0
        first = jnp.argmax(jnp.where(waited == longest, age, -1)).astype(t.dtype)  # the oldest of those that came first
        past = _with_fixed_arms(_row(rows, first), interaction)
        played = t - jnp.sum(jnp.where(places == first, age, 0), dtype=t.dtype)
        with out_of_order(type(algorithm).__name__):
            updated = algorithm.update(key, played, state, *past)
        due = jnp.where(is_due & (places == first), 0, due)
        return trees.where(is_due, updated, state), QueueBuffer(rows, due)


def update_schedule(algorithm: Algorithm, environment: Environment) -> AtOnce | Late | InBatches | Queue:
    """Return the schedule that follows from `feedback_delay`, `feedback_batch` and `delay_bound` of the environment.

    Raises:
      InputError: if feedback is delayed and the learner needs it immediately, or if the environment has both batches
        and random delays.
    """
    delay = environment.feedback_delay if isinstance(environment, Delays) else 0
    batch = environment.feedback_batch if isinstance(environment, Batches) else 1
    queue = None
    if isinstance(environment, DelaysAtRandom) and environment.delay_bound:
        queue = Queue(delay, environment.delay_bound, environment.draw_delay)
    if (delay or batch > 1 or queue) and getattr(algorithm, "needs_immediate_feedback", False):
        late = f"has a delay of {delay}" if delay else f"arrives in batches of {batch}"
        if queue:
            late = f"has a delay of up to {delay + queue.bound}"
        raise InputError(
            f"{type(algorithm).__name__} needs the feedback of a round before the next round, but the feedback "
            f"of {type(environment).__name__} {late}"
        )
    if queue and batch > 1:
        raise InputError(f"{type(environment).__name__} has batches and random delays, which cannot be combined")
    if queue or batch > 1:
        return queue or InBatches(delay, batch)
    return Late(delay) if delay else AtOnce()


def check_immediate_feedback(algorithm: Algorithm, environment: Environment, name: str) -> None:
    """Check that a round updates the learner with its own decision and feedback, as some meters assume.

    Raises:
      InputError: if feedback is delayed or batched; the message begins with `name`, the name of the meter.
    """
    if not isinstance(update_schedule(algorithm, environment), AtOnce):
        raise InputError(
            f"{name} compares the states before and after a round with the decision and the feedback of this round, "
            f"but {type(environment).__name__} delays the feedback: measure it without delays and batches"
        )


def _fold_in(stream: jax.Array, t: jax.Array) -> jax.Array:
    with own_code():
        return rng.fold_in(stream, t)


def _zeros(rounds: int, first_interaction: Callable[[], Interaction]) -> _Buffer:
    shapes = jax.eval_shape(lambda: _without_fixed_arms(first_interaction()))
    return jax.tree.map(lambda x: jnp.zeros((rounds, *x.shape), x.dtype), shapes)


def _row(buffer: _Buffer, index: jax.Array) -> Interaction:
    return jax.tree.map(lambda x: lax.dynamic_index_in_dim(x, index, 0, keepdims=False), buffer)


def _write(buffer: _Buffer, interaction: Interaction, index: jax.Array) -> _Buffer:
    """Write the interaction of the current round into the buffer."""
    return jax.tree.map(
        lambda x, new: lax.dynamic_update_index_in_dim(x, jnp.asarray(new, x.dtype), index, 0),
        buffer,
        _without_fixed_arms(interaction),
    )


def _with_fixed_arms(past: Interaction, present: Interaction) -> Interaction:
    """Give an earlier round the arms of the current round, if they never change within a trial."""
    if not _has_fixed_arms(present.obs):
        return past
    return past._replace(obs=past.obs._replace(arms=present.obs.arms))


def _without_fixed_arms(interaction: Interaction) -> Interaction:
    """Remove arms that never change within a trial; `_with_fixed_arms` restores them from the current round."""
    if not _has_fixed_arms(interaction.obs):
        return interaction
    return interaction._replace(obs=interaction.obs._replace(arms=()))


def _has_fixed_arms(obs: Obs) -> bool:
    return isinstance(obs, FixedArmObs) or (isinstance(obs, (ContextObs, AdviceObs)) and obs.arms.ndim == 1)
