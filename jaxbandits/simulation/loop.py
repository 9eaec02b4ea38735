"""The loop: one trial's round, a piece of trials side by side, blocks of rounds between record points.

Pure functions. `start_environment` draws the instance of a trial, `start_algorithm` the first state of its learner;
`advance` plays a piece up to each of its record points and returns one row of block values per point. A trial's key
depends on its global seed index only, and its environment streams do not depend on the algorithm: all methods meet the
same instances and the same noise.
"""

from typing import Any, NamedTuple, TypeAlias

import chex
import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.core.errors import InputError
from jaxbandits.core.fusion import once
from jaxbandits.simulation import meters as meters_lib
from jaxbandits.simulation.meters import Meter, Round
from jaxbandits.types import Evaluates, Recommends, narrow


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


Half: TypeAlias = tuple[jax.Array, jax.Array, Any]  # two streams and a state


def start_environment(environment: Any, base_key: jax.Array, seed_index: jax.Array) -> Half:
    """The environment's half of a fresh trial: its streams (observe, step) and its state."""
    for_env, _ = _split_trial(base_key, seed_index)
    init, observe, step = jax.random.split(for_env, 3)
    return observe, step, environment.init(init)


def start_algorithm(algorithm: Any, base_key: jax.Array, seed_index: jax.Array) -> Half:
    """The algorithm's half of a fresh trial: its streams (select, update) and its state."""
    _, for_alg = _split_trial(base_key, seed_index)
    init, select, update = jax.random.split(for_alg, 3)
    return select, update, algorithm.init(init)


def _split_trial(base_key: jax.Array, seed_index: jax.Array) -> tuple[jax.Array, jax.Array]:
    for_env, for_alg = jax.random.split(jax.random.fold_in(base_key, seed_index))
    return for_env, for_alg


def assemble(
    environment_half: tuple[jax.Array, jax.Array, Any], algorithm_half: tuple[jax.Array, jax.Array, Any]
) -> Carry:
    """A fresh trial (or a piece of them) from its halves."""
    observe, step, env = environment_half
    select, update, alg = algorithm_half
    return Carry(Streams(observe, step, select, update), env, alg)


def start_trial(algorithm: Any, environment: Any, base_key: jax.Array, seed_index: jax.Array) -> Carry:
    """A fresh trial."""
    return assemble(
        start_environment(environment, base_key, seed_index), start_algorithm(algorithm, base_key, seed_index)
    )


def play_round(algorithm: Any, environment: Any, t: jax.Array, carry: Carry) -> tuple[Carry, Round]:
    """One round of one trial."""
    key = Streams(*(jax.random.fold_in(stream, t) for stream in carry.streams))
    obs = environment.observe(key.observe, t, carry.env)
    decision = algorithm.select(key.select, t, carry.alg, obs)
    env_state, feedback, outcome = environment.step(key.step, t, carry.env, obs, decision)
    told = once(narrow(feedback, algorithm.feedback))  # else every consumer repeats the draw behind it
    alg_state = algorithm.update(key.update, t, carry.alg, obs, decision, told)
    chex.assert_rank(list(outcome), 0)  # at trace time: outcomes are scalars
    played = Round(t, algorithm, environment, carry.env, carry.alg, alg_state, obs, decision, feedback, outcome)
    return Carry(carry.streams, once(env_state), once(alg_state)), played  # else the next round repeats their making


def measure(meters: tuple[Meter, ...], played: Round) -> dict[str, jax.Array]:
    """The values of one round, keyed `reduce:name`: the outcome's fields, then the extra meters."""
    _distinct([*played.outcome._fields, *(meter.name for meter in meters)])
    values = {f"sum:{name}": value for name, value in played.outcome._asdict().items()}
    values |= {f"{meter.reduce}:{meter.name}": meter.measure(played) for meter in meters}
    return {key: jnp.asarray(value, jnp.zeros(()).dtype) for key, value in values.items()}


def _distinct(names: list[str]) -> None:
    """Checks at trace time that no metric hides another."""
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(f"two metrics have the name {', '.join(map(repr, repeated))}; rename the meter")


def snapshot(environment: Any, algorithm: Any, carry: Carry) -> dict[str, jax.Array]:
    """The environment's own evaluation at a record point, if it has one, and whether the trial is free of NaN."""
    floats = [x for x in jax.tree.leaves((carry.env, carry.alg)) if jnp.issubdtype(x.dtype, jnp.floating)]
    healthy = jnp.ones((), bool)
    for x in floats:
        healthy = healthy & ~jnp.isnan(x).any()
    values = {"healthy": healthy.astype(jnp.zeros(()).dtype)}
    if isinstance(environment, Evaluates):
        recommendation = algorithm.recommend(carry.alg) if isinstance(algorithm, Recommends) else None
        values |= environment.at_record(carry.env, recommendation)
    return {f"snapshot:{name}": value for name, value in values.items()}


def advance(
    meters: tuple[Meter, ...], algorithm: Any, environment: Any, carry: Carry, t0: jax.Array, stops: jax.Array
) -> tuple[Carry, dict[str, jax.Array]]:
    """Plays rounds `t0 <= t < stops[-1]` of a piece and reports at every stop.

    The rounds are outside and the trials inside, so that `t` is one scalar for all trials: a schedule on `t` stays a
    branch where a counter in the state would become a select.

    Args:
      meters: extra meters (static).
      algorithm: hyperparameters, leaves `[W, ...]`.
      environment: leaves `[W, ...]`.
      carry: the trials, leaves `[W, ...]`.
      t0: rounds already played.
      stops: `[C]` non-decreasing record points, in rounds; a repeated stop is an empty block.

    Returns:
      The trials afterwards, and per `reduce:name` a `[C, W]` array: block values since the previous stop.
    """
    streams = carry.streams

    def one_round(t, algorithm, environment, carry):
        carry, played = play_round(algorithm, environment, t, carry)
        return (carry.env, carry.alg), measure(meters, played)

    def all_trials(t, states):
        carry = Carry(streams, *states)  # streams are constants of the loop
        return jax.vmap(one_round, in_axes=(None, 0, 0, 0))(t, algorithm, environment, carry)

    def body(t, loop_state):
        states, totals = loop_state
        states, values = all_trials(t, states)
        return states, {k: meters_lib.add(k, totals[k], v) for k, v in values.items()}

    values_shape = jax.eval_shape(all_trials, t0, (carry.env, carry.alg))[1]

    def block(block_state, stop):
        t, states = block_state
        zeros = {k: meters_lib.zero(k, like) for k, like in values_shape.items()}
        states, totals = lax.fori_loop(t, stop, body, (states, zeros))
        at_stop = jax.vmap(snapshot)(environment, algorithm, Carry(streams, *states))
        _distinct([key.partition(":")[2] for key in (*totals, *at_stop)])
        return (jnp.maximum(t, stop), states), totals | at_stop

    (_, states), rows = lax.scan(block, (t0, (carry.env, carry.alg)), stops)
    return Carry(streams, *states), rows
