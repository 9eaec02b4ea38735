"""Round loop: one round of one trial, batches of trials, and the rounds up to the next record points.

    obs                           = environment.observe(observe_key, t, env_state)
    decision                      = algorithm.select(select_key, t, alg_state, obs)
    env_state, feedback, outcome  = environment.step(step_key, t, env_state, obs, decision)
    alg_state                     = algorithm.update(update_key, t, alg_state, obs, decision, feedback)

`init_trial` and `play_round` implement this for one trial. `trace_trial` traces both functions once; `play_rounds` maps
the traced round over a batch of trials and loops over t. All functions are pure; `engine.program` compiles them.

The keys of a trial depend only on the key of the run and on the global seed index of the trial. They do not depend on
the algorithm, so that all algorithms receive the same instances and the same noise.

The trial axis is the last axis of every batched array, including hyperparameters. An operation on vectors `[d]` is then
one loop over `d W` contiguous numbers for W trials. Shared data and batches of one trial have no trial axis.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.base import trees
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import PyTree, shared_leaves
from jaxbandits.engine.carry import Carry, Interaction, Streams
from jaxbandits.engine.late_feedback import update_schedule
from jaxbandits.engine.meters import NO_TOTALS, STRETCH, Meter, Metric, Round, Totals
from jaxbandits.engine.recording import STOPPED, check_metric_names, measure, take_snapshot
from jaxbandits.numerics import rng
from jaxbandits.programs.cached_traces import own_code
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.vmap_last import TracedFunction
from jaxbandits.types import (
    AdviceObs,
    Algorithm,
    ContextObs,
    CountsRounds,
    Environment,
    Feedback,
    IndexObs,
    InitFromObs,
    ItemObs,
    Outcome,
    State,
    Stops,
    check_collisions,
    check_decision,
    narrow,
)


class TrialKeys(NamedTuple):
    """Keys of a trial, or their `key_data` on the host: two for the initial states, and four streams for the rounds."""

    env_init: PyTree
    observe: Any
    step: Any
    alg_init: PyTree
    select: Any
    update: Any

    @property
    def streams(self) -> Streams:
        """Keys for the rounds, as `Streams`."""
        return Streams(observe=self.observe, step=self.step, select=self.select, update=self.update)


def trial_keys(base_key: jax.Array, seed_index: jax.Array) -> TrialKeys:
    """Derive the keys of a trial from the key of the run and the trial's global seed index `[]`."""
    return split_trial_key(jax.random.fold_in(base_key, seed_index))


def split_trial_key(trial_key: jax.Array) -> TrialKeys:
    """Derive the keys of a trial from the key `jax.random.fold_in(base_key, seed_index)`."""
    env_key, alg_key = rng.split(trial_key)
    return TrialKeys(*rng.split(env_key, 3), *rng.split(alg_key, 3))


def init_algorithm(
    key: jax.Array,
    algorithm: Algorithm,
    environment: Any = None,
    observe: Any = None,
    env_state: State = None,
) -> Any:
    """Return the initial state of a learner.

    Args:
      key: the key `TrialKeys.alg_init`.
      algorithm: the algorithm, with the hyperparameters of this trial.
      environment: environment of this trial. This argument and the next two are used only for a learner that implements
        `InitFromObs`.
      observe: stream of the environment's observations.
      env_state: initial state of the environment.
    """
    state = algorithm.init(key)
    if isinstance(algorithm, InitFromObs):
        t = jnp.int32(0)
        state = algorithm.init_from_obs(state, _observe(algorithm, environment, rng.fold_in(observe, t), t, env_state))
    return state


def _observe(algorithm: Algorithm, environment: Environment, key: jax.Array, t: jax.Array, state: State) -> Any:
    """Return the observation of a round.

    Raises:
      InputError: if the learner reads features of arms, a context or advice that the observation lacks.
    """
    with own_code(environment):
        obs = environment.observe(key, t, state)
    if getattr(algorithm, "reads_context", False):
        seen, is_shown = "a context", isinstance(obs, ContextObs)
    elif getattr(algorithm, "reads_advice", False):
        seen, is_shown = "advice of experts", isinstance(obs, AdviceObs)
    else:
        seen, is_shown = "features of arms", not isinstance(obs, (IndexObs, ItemObs, ContextObs, AdviceObs))
        is_shown |= not getattr(algorithm, "reads_features", hasattr(algorithm, "dim"))
    if not is_shown:
        by_number = isinstance(obs, (IndexObs, ItemObs, AdviceObs))
        family = "contextual" if isinstance(obs, ContextObs) else "armed" if by_number else "linear"
        raise InputError(
            f"{type(algorithm).__name__} needs {seen}, which {type(environment).__name__} does not provide: "
            f"use a learner of jaxbandits.{family}"
        )
    return obs


def init_environment(key: jax.Array, environment: Environment) -> Any:
    """Return the initial state of the environment, whose instance is drawn with the key `TrialKeys.env_init`."""
    with own_code(environment):
        return environment.init(key)


def init_carry(
    keys: TrialKeys, env_state: State, alg_state: State, totals: Totals = NO_TOTALS, delay_buffer: PyTree = ()
) -> Carry:
    """Combine the initial states of environment and learner into a carry, for one trial or a batch.

    Args:
      keys: keys of the trial.
      env_state: initial state of the environment.
      alg_state: initial state of the learner.
      totals: totals before the first round; by default there are no metrics.
      delay_buffer: zeros in place of delayed feedback.
    """
    return Carry(keys.streams, env_state, alg_state, totals, delay_buffer)


def init_trial(base_key: jax.Array, algorithm: Algorithm, environment: Environment, seed_index: jax.Array) -> Carry:
    """Return the carry of a trial before its first round, without totals of metrics.

    Args:
      base_key: key of the run.
      algorithm: the algorithm, with the hyperparameters of this trial.
      environment: the environment, with the fields of this trial.
      seed_index: `[]` global seed index of the trial.
    """
    keys = trial_keys(base_key, seed_index)
    env_state = environment.init(keys.env_init)
    alg_state = init_algorithm(keys.alg_init, algorithm, environment, keys.observe, env_state)
    carry = init_carry(keys, env_state, alg_state)
    return carry._replace(delay_buffer=_init_delay_buffer(algorithm, environment, carry))


def play_round(algorithm: Algorithm, environment: Environment, t: jax.Array, carry: Carry) -> tuple[Carry, Round]:
    """Play one round of one trial.

    Args:
      algorithm: the algorithm, with the hyperparameters of this trial.
      environment: the environment, with the fields of this trial.
      t: `[]` int32, number of rounds finished before this one.
      carry: the trial before the round.

    Returns:
      The carry after the round, with unchanged totals, and the round in the form that meters receive.
    """
    is_counting = isinstance(environment, CountsRounds)
    learner_time = environment.learner_time(t, carry.env_state) if is_counting else t
    (env_state, feedback, outcome), interaction = _interact(algorithm, environment, t, learner_time, carry)
    schedule = update_schedule(algorithm, environment)
    alg_state, delay_buffer = schedule.update(algorithm, carry, interaction, t, learner_time)
    old, new = (carry.env_state, carry.alg_state), (env_state, alg_state)
    for keep in (_keep_learner, _keep_both):
        new = keep(algorithm, environment, t, interaction, old, new)
    env_state, alg_state = new
    played = Round(
        t=t,
        algorithm=algorithm,
        environment=environment,
        env_state=carry.env_state,
        state=carry.alg_state,
        next_state=alg_state,
        obs=interaction.obs,
        decision=interaction.decision,
        feedback=feedback,
        outcome=outcome,
    )
    # Without barriers XLA recomputes the new states in every consumer of the next round.
    carry = carry._replace(env_state=barrier(env_state), alg_state=barrier(alg_state), delay_buffer=delay_buffer)
    return carry, played


_States = tuple[Any, Any]  # states of the environment and of the learner


def _keep_learner(
    algorithm: Algorithm, environment: Environment, t: jax.Array, interaction: Interaction, old: _States, new: _States
) -> _States:
    """Restore the previous state of the learner after a round that its environment does not count."""
    if not isinstance(environment, CountsRounds):
        return new
    is_counted = environment.is_counted(t, old[0], interaction.obs, interaction.decision)
    return new[0], trees.where(is_counted, new[1], old[1])


def _keep_both(
    algorithm: Algorithm, environment: Environment, t: jax.Array, interaction: Interaction, old: _States, new: _States
) -> _States:
    """Restore both previous states if the learner had stopped before the round."""
    return trees.where(algorithm.stopped(old[1]), old, new) if isinstance(algorithm, Stops) else new


def _interact(
    algorithm: Any, environment: Environment, t: jax.Array, learner_time: jax.Array, carry: Carry
) -> tuple[tuple[State, Feedback, Outcome], Interaction]:
    """Observe, select and step; return the results of `environment.step` and the learner's interaction."""
    with own_code():
        observe_key, step_key, select_key, _ = (rng.fold_in(stream, t) for stream in carry.streams)
    obs = _observe(algorithm, environment, observe_key, t, carry.env_state)
    decision = algorithm.select(select_key, learner_time, carry.alg_state, obs)
    check_decision(algorithm, environment, decision)
    check_collisions(algorithm, environment)
    with own_code(environment):
        env_state, feedback, outcome = environment.step(step_key, t, carry.env_state, obs, decision)
    # Without a barrier, XLA recomputes the random draw of the feedback in every consumer.
    return (env_state, feedback, outcome), Interaction(obs, decision, barrier(narrow(feedback, algorithm.feedback)))


def _init_delay_buffer(algorithm: Algorithm, environment: Environment, carry: Carry) -> PyTree:
    """Return zeros `[rounds, ...]` for the interactions whose feedback is delayed; () if no feedback is delayed."""

    def first_interaction(carry: Carry) -> Interaction:
        t = jnp.int32(0)
        return _interact(algorithm, environment, t, t, carry)[1]

    return update_schedule(algorithm, environment).init_buffer(functools.partial(first_interaction, carry))


def vmap_trials(
    function: TracedFunction, width: int, shared: Sequence[Any], *batched: PyTree, n_invariant: int = 0
) -> Any:
    """Call a function of one trial on a batch; the trial axis is the last axis, and is absent if the width is 1.

    Args:
      function: `function(*shared, *batched)` of one trial.
      width: W, number of trials.
      shared: arguments without a trial axis.
      *batched: arguments with a trial axis, leaves `[..., W]`; leaves of shared fields have no trial axis.
      n_invariant: number of leading arguments in `batched` that the enclosing loop never changes.
    """
    n_shared = len(jax.tree.leaves(shared))
    invariant = [False] * n_shared
    for k, argument in enumerate(batched):
        invariant += [k < n_invariant] * len(jax.tree.leaves(argument))
    if width == 1:
        return function(*shared, *batched, invariant=invariant)
    is_batched = [False] * n_shared + [not is_shared for is_shared in shared_leaves(batched)]
    return function.vmap(width, is_batched, *shared, *batched, invariant=invariant)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class TracedTrial:
    """Traced functions of one trial, with the shapes of the carry and of the values reported at record points.

    The programs of a job are made from these traces, whatever their width.
    """

    init_environment: TracedFunction  # (key, environment) -> state
    init_algorithm: TracedFunction  # (key, algorithm, environment, observe, env_state) -> state
    play_round: TracedFunction  # (t, algorithm, environment, carry) -> next carry without streams and totals, metrics
    snapshot: TracedFunction  # (environment, algorithm, env_state, alg_state) -> metrics at a record point
    carry: Carry  # shapes
    block_values: dict[Metric, Any]  # shapes of the values reported at a record point
    interaction: list[Any]  # shapes of the arrays that environment and learner exchange in a round
    is_foreign: bool = False  # True if it contains code from outside this package and JAX

    @property
    def functions(self) -> tuple[TracedFunction, ...]:
        """All traced functions."""
        return self.init_environment, self.init_algorithm, self.play_round, self.snapshot

    @property
    def has_effects(self) -> bool:
        """True if the code has side effects, such as `jax.debug.print`."""
        return any(function.jaxpr.effects for function in self.functions)


def trace_trial(meters: tuple[Meter, ...], algorithm: Any, environment: Environment, key: Any, t: Any) -> TracedTrial:
    """Trace the functions of one trial for the shapes of the given algorithm, environment, key and round.

    Raises:
      InputError: if metrics have invalid names or values, or if the environment and the algorithm do not fit together.
    """
    interaction: list[Any] = []

    def measured_round(
        t: jax.Array, algorithm: Any, environment: Environment, carry: Carry
    ) -> tuple[Carry, dict[Metric, Any]]:
        carry, played = play_round(algorithm, environment, t, carry)
        exchanged = jax.tree.leaves((played.obs, played.decision, narrow(played.feedback, algorithm.feedback)))
        arrays = [x for x in exchanged if isinstance(x, (jax.Array, np.ndarray))]
        interaction.extend(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arrays)
        return carry._replace(streams=None), measure(meters, played)

    # `partial` makes new functions, so that entries of JAX's caches are freed with them.
    traced_env_init = TracedFunction.trace(functools.partial(init_environment), key, environment)
    env_state = traced_env_init.out
    visible = (environment, key, env_state) if isinstance(algorithm, InitFromObs) else ()
    traced_alg_init = TracedFunction.trace(functools.partial(init_algorithm), key, algorithm, *visible)
    carry = init_carry(TrialKeys(*[key] * len(TrialKeys._fields)), env_state, traced_alg_init.out)
    delay_buffer = jax.eval_shape(functools.partial(_init_delay_buffer), algorithm, environment, carry)
    carry = carry._replace(delay_buffer=delay_buffer)
    traced_round = TracedFunction.trace(measured_round, t, algorithm, environment, carry)
    states = (carry.env_state, carry.alg_state)
    traced_snapshot = TracedFunction.trace(functools.partial(take_snapshot), environment, algorithm, *states)
    totals = traced_round.out[1]
    check_metric_names([*totals, *traced_snapshot.out])
    return TracedTrial(
        init_environment=traced_env_init,
        init_algorithm=traced_alg_init,
        play_round=traced_round,
        snapshot=traced_snapshot,
        carry=carry._replace(totals=jax.eval_shape(functools.partial(Totals.init, totals))),
        block_values=totals | traced_snapshot.out,
        interaction=interaction,
    )


def play_rounds(
    trial: TracedTrial,
    width: int,
    algorithm: Algorithm,
    environment: Environment,
    carry: Carry,
    t: jax.Array,
    end: jax.Array,
    record_points: jax.Array,
) -> tuple[Carry, dict[Metric, jax.Array]]:
    """Play a batch of trials up to round `end`, and report their metrics at every record point up to `end`.

    The loop over rounds is the outer loop and the batch is inside it, so that t is one scalar for all trials. A branch
    on t then remains a branch, whereas a branch on a counter in the state would become a select. A call may end at any
    round: totals since the last record point are part of the carry, so no result depends on the division of rounds into
    calls.

    Args:
      trial: traced functions of one trial (static).
      width: W, number of trials (static); with 1 there is no trial axis.
      algorithm: hyperparameters with leaves `[..., W]`; shared leaves have no trial axis.
      environment: fields of the environment, with the same axes.
      carry: the trials after t rounds, leaves `[..., W]`.
      t: `[]` int32, number of rounds already played.
      end: `[]` int32, number of rounds played when the call ends.
      record_points: `[C]` increasing record points after `t`.

    Returns:
      The trials after the call, and for each metric an array `[C, ..., W]` of values of the blocks of rounds that end
      at the record points. Entries of record points after `end` are undefined.
    """
    n_points, streams = len(record_points), carry.streams
    body_fun = _round_body(trial, width, algorithm, environment, streams)

    def snapshot(carry: Carry) -> dict[Metric, jax.Array]:
        return vmap_trials(trial.snapshot, width, (), environment, algorithm, carry.env_state, carry.alg_state)

    # A trial that has stopped adds nothing to sums, so the loop ends when all trials of the batch have stopped.
    may_skip = STOPPED in trial.block_values and all(metric.reduction == "sum" for metric in carry.totals.recent)

    def is_over(carry: Carry) -> jax.Array:
        return jnp.all(snapshot(carry)[STOPPED] > 0.0)

    def play_stretch(loop_carry: PyTree) -> PyTree:
        """Play up to the next record point, multiple of `STRETCH` or end, whichever comes first."""
        i, t, carry, block_values = loop_carry
        record_point = record_points[jnp.minimum(i, n_points - 1)]
        stretch_end = end_of_stretch(t, end)
        stretch_end = jnp.where(i < n_points, jnp.minimum(record_point, stretch_end), stretch_end)
        played_to = jnp.where(is_over(carry), t, stretch_end) if may_skip else stretch_end
        carry = lax.fori_loop(t, played_to, body_fun, carry)
        is_recorded = (i < n_points) & (stretch_end == record_point)  # one scalar for all trials: `cond` is a branch
        folded = carry.totals.fold()
        values = folded.values() | lax.cond(is_recorded, snapshot, lambda _: no_snapshot, carry)
        block_values = {k: lax.dynamic_update_index_in_dim(block_values[k], x, i, 0) for k, x in values.items()}
        totals = trees.where(stretch_end % STRETCH == 0, folded, carry.totals)
        totals = trees.where(is_recorded, Totals.init(carry.totals.recent), totals)
        return i + is_recorded, stretch_end, carry._replace(totals=totals), block_values

    carry = carry._replace(streams=None)  # streams are constants of the loop, not part of its carry
    no_snapshot = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(snapshot, carry))
    block_values = {k: jnp.zeros((n_points, *x.shape), x.dtype) for k, x in (carry.totals.recent | no_snapshot).items()}
    init_val = (jnp.int32(0), t, carry, block_values)
    _, _, carry, block_values = lax.while_loop(lambda loop_carry: loop_carry[1] < end, play_stretch, init_val)
    return carry._replace(streams=streams), block_values


def end_of_stretch(t: jax.Array, end: jax.Array) -> jax.Array:
    """Return the next multiple of `STRETCH` after t, but at most `end`; `[]` int32, like both arguments."""
    return t + jnp.minimum(end - t, STRETCH - t % STRETCH)  # the multiple itself may exceed int32


def play_block(
    trial: TracedTrial,
    width: int,
    rounds: int,
    algorithm: Algorithm,
    environment: Environment,
    carry: Carry,
    t: jax.Array,
) -> tuple[Carry, jax.Array]:
    """Play a fixed number of rounds of a batch, for devices that need loops of known length.

    `rounds` is the number of rounds (static); the other arguments are those of `play_rounds`. The results are the
    carry, with folded totals, and the number of rounds that its trials have played.
    """
    body_fun = _round_body(trial, width, algorithm, environment, carry.streams)
    last = lax.fori_loop(0, rounds, lambda i, c: body_fun(t + i.astype(t.dtype), c), carry._replace(streams=None))
    return last._replace(streams=carry.streams, totals=last.totals.fold()), t + rounds


def record_block(
    trial: TracedTrial, width: int, algorithm: Algorithm, environment: Environment, carry: Carry
) -> tuple[Carry, dict[Metric, jax.Array]]:
    """Report a batch at a record point between calls of `play_block`; return the carry and the block values."""
    states = (carry.env_state, carry.alg_state)
    values = carry.totals.values() | vmap_trials(trial.snapshot, width, (), environment, algorithm, *states)
    return carry._replace(totals=Totals.init(carry.totals.recent)), values


def _round_body(
    trial: TracedTrial, width: int, algorithm: Algorithm, environment: Environment, streams: Streams
) -> Callable[[jax.Array, Carry], Carry]:
    """Return the body of a loop over rounds: it plays round t of a batch and adds its metrics to the totals.

    The streams are constants of the loop, and None in the carry of the body.
    """

    def body_fun(t: jax.Array, carry: Carry) -> Carry:
        before = carry._replace(streams=streams, totals=NO_TOTALS)
        after, metrics = vmap_trials(trial.play_round, width, (t,), algorithm, environment, before, n_invariant=2)
        return after._replace(totals=carry.totals.add(metrics))

    return body_fun
