"""From raw rows to trials: sums over blocks in float64, comparators in hindsight, derived metrics, units and axes."""

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.results.trials import Trials
from jaxbandits.simulation import loop
from jaxbandits.simulation import meters as meters_lib
from jaxbandits.simulation.driver import Timing
from jaxbandits.simulation.options import WIDTH_UNIT
from jaxbandits.simulation.plan import Job
from jaxbandits.simulation.program import recall
from jaxbandits.types import Derives, InHindsight, RebuildsInstance

Hindsight = dict[tuple[Any, ...], dict[str, np.ndarray]]  # per instance; one dictionary serves all jobs of a run


def trials_of(job: Job, rows: dict[str, np.ndarray], timing: Timing, known: Hindsight, spec: dict[str, Any]) -> Trials:
    """The trials of a job.

    Args:
      job: what was run.
      rows: by `reduce:name` `[trials, M, ...]` block values.
      timing: what it cost.
      known: comparators of the instances met so far; receives those of new ones.
      spec: what the result says it is.
    """
    shape = (len(job.points), job.n_seeds)
    rows = dict(rows)
    healthy = rows.pop(loop.HEALTHY).all(axis=1).reshape(shape)
    inadmissible = (
        rows.pop(loop.INADMISSIBLE, np.zeros((job.n_trials, 1), np.int32)).astype(np.int64).sum(axis=1).reshape(shape)
    )
    values = {}
    for key in sorted(rows, key=meters_lib.order):  # "reduce:name"
        per_trial = meters_lib.over_blocks(key, rows[key])
        values[key.partition(":")[2]] = per_trial.reshape(*shape, *per_trial.shape[1:])
    _add(job, values, "in_hindsight", _in_hindsight(job, values, known))
    derived = _asked(job, "derive", job.environment.derive, values) if isinstance(job.environment, Derives) else {}
    measured = list(values)
    _add(job, values, "derive", derived)
    values = {name: values[name] for name in (*derived, *measured)}  # derived ones first
    axes = dict(getattr(job.environment, "axes", {})) | {meter.name: meter.axes for meter in job.meters if meter.axes}
    units = dict(getattr(job.environment, "units", {})) | {meter.name: meter.unit for meter in job.meters if meter.unit}
    return Trials(
        values=values,
        points=job.points,
        seeds=job.seeds,
        record_points=np.asarray(job.record_points, np.int64),
        healthy=healthy,
        inadmissible=inadmissible,
        axes={name: tuple(axes[name]) for name in values if axes.get(name)},
        units={name: units[name] for name in values if name in units},
        timing=dataclasses.asdict(timing) | {"ns_per_round": list(timing.ns_per_round)},
        spec=spec,
    )


def metrics_of(job: Job, row: dict[str, Any]) -> list[str] | None:
    """Names of the metrics that `trials_of` will find; None where only a run tells them.

    Args:
      job: what is to be run.
      row: shapes of what a record point of it reports, by `reduce:name`.
    """
    shapes = {key.partition(":")[2]: x.shape for key, x in row.items() if key not in (loop.HEALTHY, loop.INADMISSIBLE)}
    if isinstance(job.environment, InHindsight):
        return None
    if not isinstance(job.environment, Derives):
        return list(shapes)
    values = {name: np.zeros((1, 1, len(job.record_points), *shape)) for name, shape in shapes.items()}
    try:
        with np.errstate(all="ignore"):
            return [*_asked(job, "derive", job.environment.derive, values), *shapes]
    except Exception:  # a user's: of zeros it may make nothing
        return None


def joined(parts: Sequence[tuple[Sequence[int], Trials]], label: str) -> Trials:
    """One set of trials from those of several programs (a grid over static fields).

    Args:
      parts: positions of the points in the whole grid, and their trials.
      label: what an error names.

    Raises:
      InputError: when their metrics or shapes differ.
    """
    if len(parts) == 1:
        return parts[0][1]
    first = parts[0][1]
    for _, trials in parts[1:]:
        if {name: x.shape[3:] for name, x in trials.values.items()} != {
            name: x.shape[3:] for name, x in first.values.items()
        }:
            raise InputError(
                f"{label}: metrics or their shapes differ between {first.points[0]} and {trials.points[0]}; "
                "give these points labels of their own (compare)"
            )
    order = np.argsort(np.concatenate([np.asarray(positions) for positions, _ in parts]))

    def together(arrays: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate(arrays)[order]

    everything = [trials for _, trials in parts]
    timings = [trials.timing for trials in everything]
    points = [point for trials in everything for point in trials.points]
    return dataclasses.replace(
        first,
        values={name: together([trials.values[name] for trials in everything]) for name in first.values},
        points=tuple(points[i] for i in order),
        healthy=together([trials.healthy for trials in everything]),
        inadmissible=together([trials.inadmissible for trials in everything]),
        timing={name: sum((timing[name] for timing in timings[1:]), start=timings[0][name]) for name in timings[0]},
    )


def _in_hindsight(job: Job, values: dict[str, np.ndarray], known: Hindsight) -> dict[str, np.ndarray]:
    """`[H, S, M, ...]` of what the environment computes from whole runs, once per instance."""
    if not isinstance(job.environment, InHindsight):
        return {}
    missing = [name for name in job.environment.hindsight_needs if name not in values]
    if missing:
        raise InputError(f"{job.label}: in_hindsight needs the metrics {', '.join(missing)}, which are not recorded")
    keys: list[tuple[Any, ...] | None] = []
    unknown: dict[tuple[Any, ...], tuple[int, dict[str, np.ndarray]]] = {}  # point, and what was recorded
    for h in range(len(job.points)):
        leaves, structure = jax.tree.flatten(job.trial(h)[1])
        identity = (structure, _digest([*leaves, job.record_points]))
        for s in range(job.n_seeds):
            recorded = {name: values[name][h, s] for name in job.environment.hindsight_needs}
            if not all(np.isfinite(array).all() for array in recorded.values()):
                keys.append(None)  # a failed trial: no solver is asked about it
                continue
            keys.append(key := (*identity, _digest(list(recorded.values()))))
            if key not in known:
                unknown.setdefault(key, (h, recorded))
    for key, (h, recorded) in zip(unknown, _recalled(job, list(unknown.values())), strict=True):
        known[key] = _asked(job, "in_hindsight", job.trial(h)[1].in_hindsight, recorded, job.record_points)
    found = [None if key is None else known[key] for key in keys]
    example = next((x for x in found if x is not None), {})
    for metrics in found:
        if metrics is not None and {k: x.shape for k, x in metrics.items()} != {k: x.shape for k, x in example.items()}:
            raise InputError(f"{job.label}: in_hindsight returns metrics of other names or shapes from trial to trial")
    return {
        name: np.stack([np.full(like.shape, np.nan) if x is None else x[name] for x in found]).reshape(
            len(job.points), job.n_seeds, *like.shape
        )
        for name, like in example.items()
    }


def _recalled(job: Job, instances: list[tuple[int, dict[str, np.ndarray]]]) -> list[tuple[int, dict[str, np.ndarray]]]:
    """Points and records of instances, with what the environment knows of each from these, if it `RebuildsInstance`."""
    if not isinstance(job.environment, RebuildsInstance) or not instances:
        return instances
    points = [h for h, _ in instances]
    recorded = {name: np.stack([record[name] for _, record in instances], -1) for name in instances[0][1]}
    recalled = recall(job.batched[1], points, recorded, WIDTH_UNIT)
    return [(h, record | {name: x[..., i] for name, x in recalled.items()}) for i, (h, record) in enumerate(instances)]


def _asked(job: Job, method: str, function: Any, *arguments: Any) -> dict[str, np.ndarray]:
    """What a host method of an environment returns, as float64 arrays."""
    found = function(*arguments)
    if not isinstance(found, dict):
        raise InputError(f"{job.label}: {method} must return name to array, got {type(found).__name__}")
    return {name: np.asarray(array, np.float64) for name, array in found.items()}


def _add(job: Job, values: dict[str, np.ndarray], method: str, more: dict[str, np.ndarray]) -> None:
    """Puts what a host method returned among the metrics."""
    shape = (len(job.points), job.n_seeds, len(job.record_points))
    for name, array in more.items():
        if name in values or name in loop.RESERVED:
            raise InputError(f"{job.label}: {method} hides another metric: {name!r}")
        if array.shape[:3] != shape:
            raise InputError(f"{job.label}: {method} must return arrays {shape}, got {array.shape} for {name!r}")
    values.update(more)


def _digest(arrays: Sequence[Any]) -> str:
    sha = hashlib.sha256()
    for array in map(np.asarray, arrays):
        sha.update(f"{array.dtype} {array.shape} ".encode())
        sha.update(np.ascontiguousarray(array))
    return sha.hexdigest()
