"""The loop: one trial's round, a piece of trials side by side, blocks of rounds between record points.

Pure functions. `start_environment` draws the instance of a trial, `start_algorithm` the first state of its learner;
`advance` plays a piece and returns a row of block values at each record point it reaches. A trial's key depends on its
global seed index only, and its environment streams do not depend on the algorithm: all methods meet the same instances
and the same noise.

The trial axis is the last one of everything that has one, hyperparameters included: an operation on vectors `[d]` is
then one loop over `d W` contiguous numbers. Shared data have no trial axis, and one trial alone is not mapped at all.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.base import trees
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import shared_leaves
from jaxbandits.numerics import rng
from jaxbandits.results import trials
from jaxbandits.simulation import meters as meters_lib
from jaxbandits.simulation.meters import Meter, Round
from jaxbandits.tracing import batching
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.vmap_last import TracedFunction
from jaxbandits.types import Admits, CountsRounds, Delays, Evaluates, FixedArmObs, InitFromObs, Recommends, narrow


class Streams(NamedTuple):
    """One key per consumer; round t uses `fold_in(stream, t)`, which XLA drops where nobody draws from it."""

    observe: jax.Array
    step: jax.Array
    select: jax.Array
    update: jax.Array


class Carry(NamedTuple):
    """Everything a trial is between two rounds."""

    streams: Streams
    env: Any
    alg: Any
    totals: dict[str, jax.Array]  # by `reduce:name`: of the block since the last record point
    waiting: Any = ()  # `Told` of the rounds whose feedback is late, leaves `[delay, ...]`; nothing where none is


class Told(NamedTuple):
    """What a learner is told of a round."""

    obs: Any
    decision: Any
    feedback: Any


Half: TypeAlias = tuple[jax.Array, jax.Array, Any]  # two streams and a state


def start_environment(environment: Any, base_key: jax.Array, seed_index: jax.Array) -> Half:
    """The environment's half of a fresh trial: its streams (observe, step) and its state."""
    for_env, _ = _split_trial(base_key, seed_index)
    init, observe, step = rng.split(for_env, 3)
    return observe, step, environment.init(init)


def start_algorithm(algorithm: Any, base_key: jax.Array, seed_index: jax.Array, *met: Any) -> Half:
    """The algorithm's half of a fresh trial: its streams (select, update) and its state.

    Args:
      algorithm: hyperparameters of one trial.
      base_key: of the run.
      seed_index: of the trial.
      *met: the environment and its half, if the algorithm `InitFromObs`; other learners start without.
    """
    _, for_alg = _split_trial(base_key, seed_index)
    init, select, update = rng.split(for_alg, 3)
    state = algorithm.init(init)
    if isinstance(algorithm, InitFromObs):
        environment, (observe, _, env_state) = met
        t = jnp.int32(0)
        state = algorithm.init_from_obs(state, environment.observe(rng.fold_in(observe, t), t, env_state))
    return select, update, state


def _split_trial(base_key: jax.Array, seed_index: jax.Array) -> tuple[jax.Array, jax.Array]:
    for_env, for_alg = rng.split(jax.random.fold_in(base_key, seed_index))
    return for_env, for_alg


def assemble(environment_half: Half, algorithm_half: Half, totals: dict[str, jax.Array], waiting: Any = ()) -> Carry:
    """A fresh trial (or a piece of them) from its halves, empty totals, and zeros where feedback will wait."""
    observe, step, env = environment_half
    select, update, alg = algorithm_half
    return Carry(Streams(observe, step, select, update), env, alg, totals, waiting)


def start_trial(algorithm: Any, environment: Any, base_key: jax.Array, seed_index: jax.Array) -> Carry:
    """A fresh trial, of which nothing is measured yet."""
    half = start_environment(environment, base_key, seed_index)
    carry = assemble(half, start_algorithm(algorithm, base_key, seed_index, environment, half), {})
    return carry._replace(waiting=_waiting(algorithm, environment, carry))


def _waiting(algorithm: Any, environment: Any, carry: Carry) -> Any:
    """Zeros where feedback will wait."""
    delay = _delay(algorithm, environment)
    if not delay:
        return ()
    waits = jax.eval_shape(lambda carry: _kept(_meet(algorithm, environment, jnp.int32(0), carry)[1]), carry)
    return jax.tree.map(lambda x: jnp.zeros((delay, *x.shape), x.dtype), waits)


def play_round(algorithm: Any, environment: Any, t: jax.Array, carry: Carry) -> tuple[Carry, Round]:
    """One round of one trial; its totals stay as they are."""
    clock = environment.learner_time(t, carry.env) if isinstance(environment, CountsRounds) else t
    stepped, told = _meet(algorithm, environment, t, carry, clock)
    env_state, feedback, outcome = stepped
    key, delay, waiting = rng.fold_in(carry.streams.update, t), _delay(algorithm, environment), carry.waiting
    if delay:
        then, waiting = _exchanged(told, waiting, t, delay)
        # a branch, for t is the same for all trials; the update is that of the round that the feedback belongs to
        alg_state = batching.cond(
            t >= delay, lambda: algorithm.update(key, t - delay, carry.alg, *then), lambda: carry.alg
        )
    else:
        alg_state = algorithm.update(key, clock, carry.alg, *told)
    if isinstance(environment, CountsRounds):
        counts = environment.is_counted(t, carry.env, told.obs, told.decision)
        alg_state = trees.where(counts, alg_state, carry.alg)
    played = Round(
        t, algorithm, environment, carry.env, carry.alg, alg_state, told.obs, told.decision, feedback, outcome
    )
    # once: else the next round repeats the making of these states
    return carry._replace(env=barrier(env_state), alg=barrier(alg_state), waiting=waiting), played


def _meet(algorithm: Any, environment: Any, t: jax.Array, carry: Carry, clock: Any = None) -> tuple[Any, Told]:
    """What the environment returns of a round, and what the learner may be told of it."""
    clock = t if clock is None else clock
    observe, step, select, _ = (rng.fold_in(stream, t) for stream in carry.streams)
    obs = environment.observe(observe, t, carry.env)
    decision = algorithm.select(select, clock, carry.alg, obs)
    stepped = environment.step(step, t, carry.env, obs, decision)
    told = barrier(narrow(stepped[1], algorithm.feedback))  # else every consumer repeats the draw behind it
    return stepped, Told(obs, decision, told)


def _delay(algorithm: Any, environment: Any) -> int:
    """Rounds by which feedback is late.

    Raises:
      InputError: where it is late for a learner that cannot wait.
    """
    delay = environment.feedback_delay if isinstance(environment, Delays) else 0
    if delay and getattr(algorithm, "needs_immediate_feedback", False):
        raise InputError(
            f"{type(algorithm).__name__} needs the feedback of a round before the next one, and here it is {delay} late"
        )
    return delay


def _kept(told: Told) -> Told:
    """Without arms that never change: they need not be kept."""
    fixed = isinstance(told.obs, FixedArmObs)
    return told._replace(obs=told.obs._replace(arms=())) if fixed else told


def _exchanged(told: Told, waiting: Told, t: jax.Array, delay: int) -> tuple[Told, Told]:
    """What has waited for `delay` rounds, and what waits now."""
    slot = lax.rem(t, jnp.asarray(delay, t.dtype))
    then = jax.tree.map(lambda kept: lax.dynamic_index_in_dim(kept, slot, 0, keepdims=False), waiting)
    # read before it is written: else XLA copies all that waits in every round
    then, waiting = barrier((then, waiting))
    waiting = jax.tree.map(
        lambda kept, x: lax.dynamic_update_index_in_dim(kept, jnp.asarray(x, kept.dtype), slot, 0), waiting, _kept(told)
    )
    if isinstance(told.obs, FixedArmObs):
        then = then._replace(obs=then.obs._replace(arms=told.obs.arms))
    return then, waiting


INADMISSIBLE = "sum:inadmissible"  # rounds whose decision was inadmissible
HEALTHY = "snapshot:healthy"  # whether the states hold no NaN


def measure(meters: tuple[Meter, ...], played: Round) -> dict[str, jax.Array]:
    """The values of one round, keyed `reduce:name`: the outcome's fields, the extra meters, inadmissible decisions.

    Raises:
      InputError: at trace time, for what is no number or array and for metrics of one name.
    """
    if not hasattr(played.outcome, "_asdict"):
        raise InputError(f"an outcome must be a NamedTuple of numbers or arrays, got {type(played.outcome).__name__}")
    values = {f"sum:{name}": _number(f"outcome {name!r}", v) for name, v in played.outcome._asdict().items()}
    for meter in meters:
        values[f"{meter.reduce}:{meter.name}"] = _number(f"meter {meter.name!r}", _measured(meter, played))
    distinct([*played.outcome._fields, *(meter.name for meter in meters)])
    if isinstance(played.environment, Admits):
        admitted = played.environment.admits(played.env_state, played.obs, played.decision)
        values[INADMISSIBLE] = jnp.asarray(~jnp.asarray(admitted, bool), jnp.int32)
    return values


def _measured(meter: Meter, played: Round) -> Any:
    try:
        return meter.measure(played)
    except Exception as error:
        what = " ".join(str(error).split())[:300]
        raise InputError(f"meter {meter.name!r} cannot be measured: {type(error).__name__}: {what}") from error


def _number(what: str, value: Any) -> jax.Array:
    try:
        array = jnp.asarray(value)
        if jnp.issubdtype(array.dtype, jnp.complexfloating) or not array.size:
            raise TypeError
        return array.astype(jnp.result_type(float))
    except Exception:  # TypeError, ValueError, and what JAX says of values of another transformation
        raise InputError(f"{what} must be a real number or an array, got {type(value).__name__}") from None


RESERVED = (*(key.partition(":")[2] for key in (INADMISSIBLE, HEALTHY)), *trials.RESERVED)


def distinct(names: Sequence[str]) -> None:
    """Checks at trace time that no metric hides another, or what the loop itself reports."""
    for name in names:
        if name in RESERVED:
            raise InputError(f"no metric may be called {name!r}: every result has it; choose another name")
        if list(names).count(name) > 1:
            raise InputError(f"two metrics have the name {name!r}; rename the meter")


def snapshot(environment: Any, algorithm: Any, env_state: Any, alg_state: Any) -> dict[str, jax.Array]:
    """The environment's own evaluation at a record point, if it has one, and whether the trial is free of NaN."""
    floats = [x for x in jax.tree.leaves((env_state, alg_state)) if jnp.issubdtype(x.dtype, jnp.floating)]
    healthy = jnp.ones((), bool)
    for x in floats:
        healthy = healthy & ~jnp.isnan(x).any()
    values = {}
    if isinstance(environment, Evaluates):
        recommendation = algorithm.recommend(alg_state) if isinstance(algorithm, Recommends) else None
        at_record = environment.at_record(env_state, recommendation)
        if not isinstance(at_record, dict):
            raise InputError(f"at_record must return name to number or array, got {type(at_record).__name__}")
        distinct(list(at_record))
        values = {f"snapshot:{name}": _number(f"metric {name!r}", value) for name, value in at_record.items()}
    return values | {HEALTHY: healthy}


def mapped(function: Callable[..., Any], width: int, shared: Sequence[Any], *batched: Any) -> Any:
    """`function(*shared, *batched)` over the trial axis, which is last; of one trial, which has no such axis, itself.

    Args:
      function: what one trial does, or its record.
      width: number of trials.
      shared: arguments without a trial axis.
      *batched: arguments with one; shared fields in them have none.
    """
    if width == 1:
        return function(*shared, *batched)
    args = (*shared, *batched)
    with_axis = [False] * len(jax.tree.leaves(shared)) + [not common for common in shared_leaves(batched)]
    if not isinstance(function, TracedFunction):
        leaves, structure = jax.tree.flatten(args)
        of_one = [
            jax.ShapeDtypeStruct(x.shape[:-1] if has_it else jnp.shape(x), x.dtype)
            for x, has_it in zip(leaves, with_axis, strict=True)
        ]
        function = TracedFunction.trace(function, *jax.tree.unflatten(structure, of_one))
    return function.vmap(width, with_axis, *args)


@dataclasses.dataclass(frozen=True, eq=False)
class Trial:
    """What one trial does, traced once, and the shapes of what it carries and reports.

    All programs of a job, whatever their width, are made of these records.
    """

    start_environment: TracedFunction  # of (base_key, environment, seed_index)
    start_algorithm: TracedFunction  # of (base_key, algorithm, seed_index, *met)
    round: TracedFunction  # of (t, algorithm, environment, carry) to the next (env, alg, waiting) and its values
    snapshot: TracedFunction
    carry: Carry
    row: dict[str, Any]  # what a record point reports
    passed: Any  # observation, decision, and of the feedback what the learner is told


def trace(meters: tuple[Meter, ...], algorithm: Any, environment: Any, base_key: Any, seed_index: Any) -> Trial:
    """Traces one trial, from the shapes of its arguments; here wrong names and values of metrics come to light."""
    passed: list[Any] = []

    # Functions of their own: what JAX remembers of them goes when they go.
    def first_environment(base_key: Any, environment: Any, seed_index: Any) -> Half:
        return start_environment(environment, base_key, seed_index)

    def first_algorithm(base_key: Any, algorithm: Any, seed_index: Any, *met: Any) -> Half:
        return start_algorithm(algorithm, base_key, seed_index, *met)

    def one_round(t: jax.Array, algorithm: Any, environment: Any, carry: Carry) -> tuple[Any, dict[str, jax.Array]]:
        carry, played = play_round(algorithm, environment, t, carry)
        told = jax.tree.leaves((played.obs, played.decision, narrow(played.feedback, algorithm.feedback)))
        arrays = [x for x in told if isinstance(x, (jax.Array, np.ndarray))]
        passed.extend(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arrays)
        return (carry.env, carry.alg, carry.waiting), measure(meters, played)

    environment_starts = TracedFunction.trace(first_environment, base_key, environment, seed_index)
    met = (environment, environment_starts.out) if isinstance(algorithm, InitFromObs) else ()
    algorithm_starts = TracedFunction.trace(first_algorithm, base_key, algorithm, seed_index, *met)
    carry = assemble(environment_starts.out, algorithm_starts.out, {})
    carry = carry._replace(waiting=jax.eval_shape(functools.partial(_waiting), algorithm, environment, carry))
    round_ = TracedFunction.trace(one_round, seed_index, algorithm, environment, carry)  # t is a number like a seed
    at_record = TracedFunction.trace(functools.partial(snapshot), environment, algorithm, carry.env, carry.alg)
    totals = round_.out[1]
    distinct([name for key in (*totals, *at_record.out) if (name := key.partition(":")[2]) not in RESERVED])
    return Trial(
        environment_starts, algorithm_starts, round_, at_record, carry._replace(totals=totals), totals | at_record.out,
        passed,
    )  # fmt: skip


def advance(
    trial: Trial,
    width: int,
    algorithm: Any,
    environment: Any,
    carry: Carry,
    t0: jax.Array,
    end: jax.Array,
    stops: jax.Array,
) -> tuple[Carry, dict[str, jax.Array]]:
    """Plays rounds `t0 <= t < end` of a piece and reports at every stop on the way.

    The rounds are outside and the trials inside, so that `t` is one scalar for all trials: a schedule on `t` stays a
    branch where a counter in the state would become a select. A call may end anywhere: what was measured since the
    last stop is part of the carry, so that no result depends on how the rounds are cut into calls.

    Args:
      trial: what one does (static).
      width: W trials (static); 1 has no trial axis.
      algorithm: hyperparameters, leaves `[..., W]`, shared ones without `W`.
      environment: the same.
      carry: the trials, leaves `[..., W]`.
      t0: rounds already played.
      end: rounds played afterwards.
      stops: `[C]` increasing record points after `t0`, in rounds; of those after `end` the rows mean nothing.

    Returns:
      The trials afterwards, and per `reduce:name` an array `[C, ..., W]`: values of the block that ends at each stop.
    """
    body = _round_of_a_piece(trial, width, algorithm, environment, carry.streams)

    def report(states: States) -> dict[str, jax.Array]:
        return mapped(trial.snapshot, width, (), environment, algorithm, *states[:2])

    absent = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(report, carry[1:]))

    def block(loop_state: Any) -> Any:
        i, t, states, rows = loop_state
        stop = stops[jnp.minimum(i, len(stops) - 1)]
        until = jnp.where(i < len(stops), jnp.minimum(stop, end), end)
        states = lax.fori_loop(t, until, body, states)
        reached = (i < len(stops)) & (until == stop)  # one scalar for all trials: a real branch
        totals = states[2]
        row = totals | lax.cond(reached, report, lambda _: absent, states)
        rows = {key: lax.dynamic_update_index_in_dim(rows[key], x, i, 0) for key, x in row.items()}
        fresh = {key: jnp.where(reached, meters_lib.zero(key, x), x) for key, x in totals.items()}
        return i + reached, until, (*states[:2], fresh, states[3]), rows

    rows = {key: jnp.zeros((len(stops), *x.shape), x.dtype) for key, x in (carry.totals | absent).items()}
    begin = (jnp.int32(0), t0, carry[1:], rows)
    _, _, states, rows = lax.while_loop(lambda loop_state: loop_state[1] < end, block, begin)
    return Carry(carry.streams, *states), rows


def play_block(
    trial: Trial, width: int, rounds: int, algorithm: Any, environment: Any, carry: Carry, t: jax.Array
) -> tuple[Carry, jax.Array]:
    """Plays `rounds` (static) rounds of a piece from round `t` on: `advance` where a loop must have a known length.

    Returns:
      The trials afterwards, and how many rounds they have played.
    """
    body = _round_of_a_piece(trial, width, algorithm, environment, carry.streams)
    last = lax.fori_loop(0, rounds, lambda i, states: body(t + i.astype(t.dtype), states), carry[1:])
    return Carry(carry.streams, *last), t + rounds


def report_block(
    trial: Trial, width: int, algorithm: Any, environment: Any, carry: Carry
) -> tuple[Carry, dict[str, jax.Array]]:
    """A record point of a piece: the trials, with nothing measured yet, and the values of the block that ends here."""
    row = carry.totals | mapped(trial.snapshot, width, (), environment, algorithm, carry.env, carry.alg)
    fresh = {key: meters_lib.zero(key, x) for key, x in carry.totals.items()}
    return carry._replace(totals=fresh), row


States: TypeAlias = tuple[Any, Any, dict[str, jax.Array], Any]  # a carry without its streams


def _round_of_a_piece(
    trial: Trial, width: int, algorithm: Any, environment: Any, streams: Streams
) -> Callable[[jax.Array, States], States]:
    """A round of all trials and what it adds to their totals; the streams are constants of the loop."""

    def body(t: jax.Array, states: States) -> States:
        env, alg, totals, waiting = states
        carry = Carry(streams, env, alg, {}, waiting)
        (env, alg, waiting), values = mapped(trial.round, width, (t,), algorithm, environment, carry)
        totals = {key: meters_lib.add(key, totals[key], value) for key, value in values.items()}
        return env, alg, totals, waiting

    return body
