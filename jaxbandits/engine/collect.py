"""Convert the block values of a job to `Trials`: sum them in float64, and add hindsight and derived metrics."""

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jaxbandits.analysis.info import TimingInfo
from jaxbandits.analysis.trials import Trials
from jaxbandits.base.errors import InputError
from jaxbandits.base.forms import JsonObject
from jaxbandits.engine.driver import Timing
from jaxbandits.engine.meters import Metric
from jaxbandits.engine.options import WIDTH_UNIT
from jaxbandits.engine.plan import Job
from jaxbandits.engine.program import rebuild_instances
from jaxbandits.engine.recording import HEALTHY, INADMISSIBLE, RESERVED
from jaxbandits.tracing.settings import own_settings
from jaxbandits.types import Derives, InHindsight, RebuildsInstance

Hindsight = dict[tuple[Any, ...], dict[str, np.ndarray]]  # metrics by instance, shared by all jobs of a run


@own_settings()
def collect_trials(
    job: Job, block_values: dict[Metric, np.ndarray], timing: Timing, hindsight: Hindsight, spec: JsonObject
) -> Trials:
    """Return the `Trials` of a job.

    Args:
      job: the job that was run.
      block_values: array `[trials, M, ...]` of each metric.
      timing: cost of the job.
      hindsight: metrics of `in_hindsight` by instance, shared by all jobs of a run; those of new instances are added.
      spec: specification of the job.

    Raises:
      InputError: if a method of the environment returns invalid metrics.
    """
    shape = (len(job.points), job.n_seeds)
    block_values = dict(block_values)
    healthy = block_values.pop(HEALTHY).all(axis=1).reshape(shape)
    inadmissible = block_values.pop(INADMISSIBLE, np.zeros((job.n_trials, 1), np.int32))
    values, indicators = {}, []
    for metric in sorted(block_values, key=lambda metric: metric.rank):
        per_trial = metric.accumulate(block_values[metric])
        values[metric.name] = per_trial.reshape(*shape, *per_trial.shape[1:])
        if block_values[metric].dtype == bool:  # only snapshots can be bools
            indicators.append(metric.name)
    _add_metrics(job, values, "in_hindsight", _in_hindsight(job, values, hindsight))
    derived = _call_host(job, "derive", job.environment.derive, values) if isinstance(job.environment, Derives) else {}
    measured = list(values)
    _add_metrics(job, values, "derive", derived)
    values = {name: values[name] for name in (*derived, *measured)}  # derived metrics come first
    axes = dict(getattr(job.environment, "axes", {})) | {meter.name: meter.axes for meter in job.meters if meter.axes}
    units = dict(getattr(job.environment, "units", {})) | {meter.name: meter.unit for meter in job.meters if meter.unit}
    return Trials(
        values=values,
        points=job.points,
        seeds=job.seeds,
        record_points=np.asarray(job.record_points, np.int64),
        healthy=healthy,
        inadmissible=inadmissible.astype(np.int64).sum(axis=1).reshape(shape),
        axes={name: tuple(axes[name]) for name in values if axes.get(name)},
        units={name: units[name] for name in values if name in units},
        timing=TimingInfo(
            compile_s=timing.compile_s,
            run_s=timing.run_s,
            rounds=timing.rounds,
            ns_per_round=list(timing.ns_per_round),
        ),
        spec=spec,
        may_be_missing=tuple(name for name in getattr(job.environment, "may_be_missing", ()) if name in values),
        indicators=tuple(indicators),
    )


def metric_shapes(job: Job, block_values: dict[Metric, Any]) -> dict[str, tuple[int, ...]] | None:
    """Return the shapes, by name, of the metrics that the `Trials` of a job will have; () is that of a scalar.

    The metrics are in the order of the `Trials`. None if only a run can determine them.

    Args:
      job: the job to run.
      block_values: shapes of the values that the job reports at a record point.
    """
    measured = sorted(block_values.keys() - {HEALTHY, INADMISSIBLE}, key=lambda metric: metric.rank)
    shapes = {metric.name: block_values[metric].shape for metric in measured}
    if isinstance(job.environment, InHindsight):
        return None
    if not isinstance(job.environment, Derives):
        return shapes
    values = {name: np.zeros((1, 1, len(job.record_points), *shape)) for name, shape in shapes.items()}
    try:
        with np.errstate(all="ignore"):
            derived = _call_host(job, "derive", job.environment.derive, values)
            return {name: x.shape[3:] for name, x in derived.items()} | shapes
    except Exception:  # a user's `derive` may fail on zeros
        return None


def join_points(parts: Sequence[tuple[Sequence[int], Trials]], label: str) -> Trials:
    """Join the trials of a grid over static fields, for which several programs were compiled.

    Args:
      parts: for each program, the positions of its points in the whole grid, and their trials.
      label: label for error messages.

    Raises:
      InputError: if metrics or their shapes differ between programs.
    """
    if len(parts) == 1:
        return parts[0][1]
    all_trials = [trials for _, trials in parts]
    first = all_trials[0]
    for trials in all_trials[1:]:
        if {name: x.shape[3:] for name, x in trials.values.items()} != {
            name: x.shape[3:] for name, x in first.values.items()
        }:
            raise InputError(
                f"{label}: metrics or their shapes differ between {first.points[0]} and {trials.points[0]}; run "
                "these points under different labels (compare)"
            )
    order = np.argsort(np.concatenate([np.asarray(positions) for positions, _ in parts]))

    def join(arrays: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate(arrays)[order]

    timings = [trials.timing for trials in all_trials]
    points = [point for trials in all_trials for point in trials.points]
    return dataclasses.replace(
        first,
        values={name: join([trials.values[name] for trials in all_trials]) for name in first.values},
        points=tuple(points[i] for i in order),
        healthy=join([trials.healthy for trials in all_trials]),
        inadmissible=join([trials.inadmissible for trials in all_trials]),
        timing={name: sum((timing[name] for timing in timings[1:]), start=timings[0][name]) for name in timings[0]},
    )


def _in_hindsight(job: Job, values: dict[str, np.ndarray], hindsight: Hindsight) -> dict[str, np.ndarray]:
    """Return metrics `[H, S, M, ...]` by name that the environment computes from whole runs, once per instance."""
    if not isinstance(job.environment, InHindsight):
        return {}
    missing = [name for name in job.environment.hindsight_needs if name not in values]
    if missing:
        raise InputError(f"{job.label}: in_hindsight needs the metrics {', '.join(missing)}, which are not recorded")
    keys: list[tuple[Any, ...] | None] = []  # key of the instance of each trial; None for a failed trial
    new: dict[tuple[Any, ...], tuple[int, dict[str, np.ndarray]]] = {}  # position of the point, recorded metrics
    for h in range(len(job.points)):
        leaves, structure = jax.tree.flatten(job.at_point(h)[1])
        environment_key = (structure, _digest([*leaves, job.record_points]))
        for s in range(job.n_seeds):
            recorded = {name: values[name][h, s] for name in job.environment.hindsight_needs}
            if not all(np.isfinite(array).all() for array in recorded.values()):
                keys.append(None)
                continue
            keys.append(key := (*environment_key, _digest(list(recorded.values()))))
            if key not in hindsight:
                new.setdefault(key, (h, recorded))
    for key, (h, recorded) in zip(new, _with_rebuilt_instances(job, list(new.values())), strict=True):
        in_hindsight = job.at_point(h)[1].in_hindsight
        hindsight[key] = _call_host(job, "in_hindsight", in_hindsight, recorded, job.record_points)
    found = [None if key is None else hindsight[key] for key in keys]
    example = next((metrics for metrics in found if metrics is not None), {})
    shapes = {name: x.shape for name, x in example.items()}
    for metrics in found:
        if metrics is not None and {name: x.shape for name, x in metrics.items()} != shapes:
            raise InputError(
                f"{job.label}: in_hindsight must return metrics with the same names and shapes in every trial"
            )
    return {
        name: np.stack([np.full(shape, np.nan) if metrics is None else metrics[name] for metrics in found]).reshape(
            len(job.points), job.n_seeds, *shape
        )
        for name, shape in shapes.items()
    }


def _with_rebuilt_instances(
    job: Job, instances: list[tuple[int, dict[str, np.ndarray]]]
) -> list[tuple[int, dict[str, np.ndarray]]]:
    """Add the results of the environment's `rebuild_instance`, if it has this method, to the metrics of instances."""
    if not isinstance(job.environment, RebuildsInstance) or not instances:
        return instances
    points = [h for h, _ in instances]
    stacked = {name: np.stack([recorded[name] for _, recorded in instances], -1) for name in instances[0][1]}
    rebuilt = rebuild_instances(job.stack[1], points, stacked, WIDTH_UNIT)
    return [
        (h, recorded | {name: x[..., i] for name, x in rebuilt.items()}) for i, (h, recorded) in enumerate(instances)
    ]


def _call_host(job: Job, method: str, function: Any, *arguments: Any) -> dict[str, np.ndarray]:
    """Call a host method of an environment and return its results as float64 arrays.

    The arrays that it receives are read-only, since they are the metrics of the result.
    """
    try:
        found = function(*map(_read_only, arguments))
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise InputError(
            f"{job.label}: {method} changes a read-only array, such as one that it receives: change a copy of it"
        ) from error
    if not isinstance(found, dict):
        raise InputError(f"{job.label}: {method} must return a dict from names to arrays, got {type(found).__name__}")
    return {name: np.array(array, np.float64) for name, array in found.items()}


def _read_only(argument: Any) -> Any:
    """Return a read-only view of an array, or a dict of such views."""
    if isinstance(argument, dict):
        return {name: _read_only(array) for name, array in argument.items()}
    view = np.asarray(argument).view()
    view.flags.writeable = False
    return view


def _add_metrics(job: Job, values: dict[str, np.ndarray], method: str, more: dict[str, np.ndarray]) -> None:
    """Check the metrics that a host method returned, and add them to `values`."""
    shape = (len(job.points), job.n_seeds, len(job.record_points))
    for name, array in more.items():
        if name in values or name in RESERVED:
            raise InputError(f"{job.label}: {method} returns a metric {name!r}, but that name is already in use")
        if array.shape[:3] != shape:
            raise InputError(
                f"{job.label}: {method} must return arrays whose shape begins with {shape}, got {array.shape} for "
                f"{name!r}"
            )
    values.update(more)


def _digest(arrays: Sequence[Any]) -> str:
    sha = hashlib.sha256()
    for array in map(np.asarray, arrays):
        sha.update(f"{array.dtype} {array.shape} ".encode())
        sha.update(np.ascontiguousarray(array))
    return sha.hexdigest()
