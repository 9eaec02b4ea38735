"""Metrics of a round and metrics of a record point; names and values are checked during tracing."""

from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.analysis import trials
from jaxbandits.base.errors import InputError
from jaxbandits.engine.meters import Meter, Metric, Round
from jaxbandits.types import Admits, Algorithm, Environment, Evaluates, Recommends, State, Stops

INADMISSIBLE = Metric("sum", "inadmissible")  # number of rounds with an inadmissible decision
HEALTHY = Metric("snapshot", "healthy")  # False if a state holds a NaN
STOPPING_TIME = Metric("sum", "stopping_time")  # rounds played by a learner that `Stops`
STOPPED = Metric("snapshot", "stopped")  # True if a learner that `Stops` has stopped
RESERVED = (INADMISSIBLE.name, HEALTHY.name, *trials.RESERVED)  # no metric may have these names


def measure(meters: tuple[Meter, ...], played: Round) -> dict[Metric, jax.Array]:
    """Return the metrics of one round: the fields of the outcome, the meters, and the count of inadmissible decisions.

    In the rounds after a learner has stopped, the terms of all sums are 0.

    Raises:
      InputError: during tracing, if a value is neither a real number nor an array, if two metrics have one name, or if
        `admits` returns several bools.
    """
    if not hasattr(played.outcome, "_asdict"):
        raise InputError(f"an outcome must be a NamedTuple of numbers or arrays, got {type(played.outcome).__name__}")
    outcome = played.outcome._asdict()
    values = {Metric("sum", name): _number(f"outcome {name!r}", value) for name, value in outcome.items()}
    for meter in meters:
        values[meter.metric] = _number(f"meter {meter.name!r}", _call(meter, played))
    _check_names([*outcome, *(meter.name for meter in meters)])
    if isinstance(played.environment, Admits):
        is_admissible = jnp.asarray(played.environment.admits(played.env_state, played.obs, played.decision), bool)
        if is_admissible.ndim:
            name, shape = type(played.environment).__name__, is_admissible.shape
            raise InputError(f"{name}.admits must return one bool for a decision, got an array of shape {shape}")
        values[INADMISSIBLE] = jnp.asarray(~is_admissible, jnp.int32)
    if isinstance(played.algorithm, Stops):
        _check_names([*(metric.name for metric in values if metric != INADMISSIBLE), STOPPING_TIME.name])
        plays = ~played.algorithm.stopped(played.state)
        values = {m: jnp.where(plays, x, 0).astype(x.dtype) if m.reduction == "sum" else x for m, x in values.items()}
        values[STOPPING_TIME] = plays.astype(jnp.result_type(float))
    return values


def take_snapshot(
    environment: Environment, algorithm: Algorithm | None, env_state: State, alg_state: State
) -> dict[Metric, jax.Array]:
    """Return the metrics of a record point: those of `at_record`, `healthy`, and `stopped` if the learner can stop.

    Raises:
      InputError: during tracing, if a value is neither a real number nor an array, or if two metrics have one name.
    """
    inexact = [x for x in jax.tree.leaves((env_state, alg_state)) if jnp.issubdtype(x.dtype, jnp.inexact)]
    is_healthy = jnp.ones((), bool)
    for x in inexact:
        is_healthy = is_healthy & ~jnp.isnan(x).any()
    values = {}
    if isinstance(environment, Evaluates):
        recommendation = algorithm.recommend(alg_state) if isinstance(algorithm, Recommends) else None
        at_record = environment.at_record(env_state, recommendation)
        if not isinstance(at_record, dict):
            raise InputError(
                f"at_record must return a dict from names to numbers or arrays, got {type(at_record).__name__}"
            )
        _check_names(list(at_record))
        values = {Metric("snapshot", name): _snapshot(f"metric {name!r}", x) for name, x in at_record.items()}
    if isinstance(algorithm, Stops):
        values[STOPPED] = _snapshot("stopped", algorithm.stopped(alg_state))
    return values | {HEALTHY: is_healthy}


def check_metric_names(metrics: Iterable[Metric]) -> None:
    """Check that all metrics of a trial have different names.

    Raises:
      InputError: if a name occurs twice; the message names it.
    """
    _check_names([metric.name for metric in metrics if metric not in (INADMISSIBLE, HEALTHY)])


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        if name in RESERVED:
            raise InputError(
                f"a metric cannot be called {name!r}, because results reserve this name; choose another name"
            )
        if list(names).count(name) > 1:
            raise InputError(f"two metrics have the name {name!r}; rename the meter")


def _call(meter: Meter, played: Round) -> Any:
    try:
        return meter.measure(played)
    except Exception as error:
        message = " ".join(str(error).split())[:300]
        raise InputError(f"meter {meter.name!r} cannot be measured: {type(error).__name__}: {message}") from error


def _snapshot(source: str, value: object) -> jax.Array:
    """Return a value of a record point: bools, which mark an indicator (`Trials.indicators`), or floats."""
    number = _number(source, value)
    return jnp.asarray(value) if jnp.asarray(value).dtype == bool else number


def _number(source: str, value: object) -> jax.Array:
    try:
        array = jnp.asarray(value)
        if jnp.issubdtype(array.dtype, jnp.complexfloating) or not array.size:
            raise TypeError
        return array.astype(jnp.result_type(float))
    except Exception:  # TypeError, ValueError, and errors of JAX for values of another transformation
        raise InputError(f"{source} must be a real number or an array, got {type(value).__name__}") from None
