"""Sweeps and their parts. A part is one result file, with the trials of some points and seeds of one program."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.base import ranges
from jaxbandits.base.digests import digest
from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.base.forms import JsonObject
from jaxbandits.engine.collect import metric_shapes
from jaxbandits.engine.driver import trace_job
from jaxbandits.engine.identity import describe_points, job_spec, plan_spec, result_host_code
from jaxbandits.engine.jobs import LabelJobs, make_jobs
from jaxbandits.engine.meters import Meter
from jaxbandits.engine.options import COUNT, Options
from jaxbandits.engine.plan import Job, Plan
from jaxbandits.engine.program import TraceCache
from jaxbandits.engine.width import bytes_of

_MAX_PART_TRIALS = 4096  # default largest number of trials in a part
_MAX_PART_BYTES = 2**28  # default largest number of bytes of the values of one part
PRECISIONS = ("float32", "float64")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sweep:
    """Declaration of a sweep: the arguments of `compare` that determine the numbers, and the size of result files.

    Attributes:
      algorithms: mapping from labels to algorithms or `Grid`s, or a list of them.
      environment: one environment, or a mapping from labels to environments.
      horizon: rounds per trial; one value, or a mapping from labels to values.
      seeds: trials per point; one value, or a mapping from labels to values.
      record_points: as for `simulate`; one value, or a mapping from labels to values.
      meters: extra `Meter`s.
      metrics: names of the metrics in the results; all by default.
      seed: base seed.
      first_seed: global index of the first trial.
      width: trials in a batch, 1 or a multiple of 16; the default follows from the size of a trial.
      part_trials: largest number of trials in one result file; by default 4,096, or fewer if their values would take
        more than 256 MiB.
      identity: as for `Options`.
      precision: `"float32"` or `"float64"`, which must be the precision of the process; None: the precision of the
        process.
      source: path of the sweep file, for messages.
      file: the content of the sweep file, so that a message can name a key that has changed.
    """

    algorithms: Mapping[str, Any] | Sequence[Any]
    environment: Any
    horizon: int | Mapping[str, int]
    seeds: int | Mapping[str, int]
    record_points: Any = 100
    meters: Sequence[Meter] = ()
    metrics: Sequence[str] | None = None
    seed: int = 0
    first_seed: int = 0
    width: int | None = None
    part_trials: int | None = None
    identity: str | None = None
    precision: str | None = None
    source: str = ""
    file: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Part:
    """Part of a sweep: some of the trials of one program, which have their own result file."""

    name: str  # contains a digest of everything that determines the numbers of the part
    label: str
    job: Job
    positions: tuple[int, ...]  # positions of its points in the grid of the label

    @property
    def rounds(self) -> int:
        """Number of rounds, summed over trials, without padding."""
        return self.job.n_trials * self.job.horizon


@dataclasses.dataclass(frozen=True)
class SweepPlan:
    """Sweep whose entries have been checked, with its parts."""

    sweep: Sweep
    devices: list[Any]
    traces: TraceCache
    label_jobs: list[LabelJobs]
    jobs: list[Job]  # one per program
    parts: list[Part]
    spec: JsonObject  # everything that determines the numbers of the sweep

    def spec_of(self, part: Part) -> JsonObject:
        """Return the specification in the result of a part, which is that of the label, so that parts can be merged."""
        return self.label_spec(next(label for label in self.label_jobs if label.label == part.label))

    def label_spec(self, label: LabelJobs) -> JsonObject:
        """Return the specification in the results of a label."""
        return job_spec(label, self.sweep.seed, self.devices, self.traces, self.sweep.identity)


def plan_sweep(sweep: Sweep, devices: Sequence[Any] | None = None) -> SweepPlan:
    """Check a sweep, divide it into parts, and return the plan.

    Raises:
      InputError: if an entry is invalid; the message names the file.
    """
    if not isinstance(sweep, Sweep):
        raise InputError(f"a sweep must be a Sweep or the path of a sweep file, got {format_value(sweep)}")
    try:
        return _plan(sweep, devices)
    except InputError as error:
        if not sweep.source or not isinstance(sweep.source, str) or str(error).startswith(f"{sweep.source}: "):
            raise
        raise InputError(f"{sweep.source}: {error}") from None


def _plan(sweep: Sweep, devices: Sequence[Any] | None) -> SweepPlan:
    precision = str(jnp.result_type(float))
    if sweep.precision is not None and (not isinstance(sweep.precision, str) or sweep.precision not in PRECISIONS):
        raise InputError(f"precision must be one of {', '.join(PRECISIONS)}, got {format_value(sweep.precision)}")
    if sweep.precision not in (None, precision):
        wants_x64 = sweep.precision == "float64"
        raise InputError(
            f"precision is {sweep.precision}, but this process computes in {precision}: "
            f'jax.config.update("jax_enable_x64", {wants_x64}) before the sweep is run'
        )
    if sweep.metrics is not None and (
        not isinstance(sweep.metrics, (list, tuple))
        or not sweep.metrics
        or not all(isinstance(metric, str) for metric in sweep.metrics)
    ):
        raise InputError(f"metrics must be a list of names, got {format_value(sweep.metrics)}")
    if not isinstance(sweep.source, str):
        raise InputError(f"source must be text, got {format_value(sweep.source)}")
    if not isinstance(sweep.file, Mapping):
        raise InputError(f"file must be the content of a sweep file, got {format_value(sweep.file)}")
    options = Options(
        meters=sweep.meters,
        seed=sweep.seed,
        first_seed=sweep.first_seed,
        width=sweep.width,
        devices=devices,
        identity=sweep.identity,
    )
    devices = list(devices) if devices is not None else jax.local_devices()
    traces = TraceCache()
    label_jobs = make_jobs(
        sweep.algorithms,
        sweep.environment,
        sweep.horizon,
        sweep.seeds,
        sweep.record_points,
        options,
        devices[0],
        traces,
    )
    jobs = [job for label in label_jobs for _, job in label.jobs]
    _check_metrics(sweep.metrics or (), jobs, traces)
    spec = plan_spec(Plan(tuple(jobs), options.seed), devices, traces, options.identity)
    if sweep.identity is None and (found := [text for job in jobs for text in result_host_code(job)]):
        spec["host code"] = sorted({*spec.get("host code", ()), *found})
    spec |= {
        "labels": [label.label for label in label_jobs],
        "metrics": None if sweep.metrics is None else list(sweep.metrics),
    }
    spec |= {"parts": [_part_trials(sweep, job, traces) for job in jobs]}
    spec = json.loads(json.dumps(spec))  # as it will be read back, with lists for tuples
    parts = []
    number = 0
    for label in label_jobs:
        for positions, job in label.jobs:
            parts += _divide(label.label, positions, job, spec, number)
            number += 1
    return SweepPlan(sweep, devices, traces, label_jobs, jobs, parts, spec)


def _check_metrics(metrics: Sequence[str], jobs: Sequence[Job], traces: TraceCache) -> None:
    """Check the names of metrics before anything is computed, unless they are known only after a run."""
    for job in jobs if metrics else ():
        shapes = metric_shapes(job, trace_job(job, traces=traces).block_values)
        missing = [] if shapes is None else [metric for metric in metrics if metric not in shapes]
        if shapes is not None and missing:
            raise InputError(f"metrics: {unknown_name('metric', missing[0], shapes)}")


def _part_trials(sweep: Sweep, job: Job, traces: TraceCache) -> int:
    if sweep.part_trials is not None:
        return ranges.integer("part_trials", sweep.part_trials, COUNT)
    return max(job.width, min(_MAX_PART_TRIALS, _MAX_PART_BYTES // result_bytes(job, traces)))


def result_bytes(job: Job, traces: TraceCache | None = None) -> int:
    """Return the number of bytes of the values of one trial, in float64."""
    block_values = trace_job(job, traces=traces).block_values
    return 8 * len(job.record_points) * sum(x.size for x in block_values.values())


def carry_bytes(job: Job) -> int:
    """Return the number of bytes of the state of one trial."""
    return bytes_of(trace_job(job).carry)


def _divide(label: str, positions: Sequence[int], job: Job, spec: JsonObject, number: int) -> list[Part]:
    """Divide a job into rectangles of points times seeds: whole points if their seeds fit into one part.

    Args:
      label: label of the job.
      positions: positions of the points of the job in the grid of the label.
      job: the job to divide.
      spec: spec of the sweep.
      number: index of the job in the sweep.
    """
    part_trials = spec["parts"][number]
    n_points, n_seeds = max(1, part_trials // job.n_seeds), min(part_trials, job.n_seeds)
    common = {key: value for key, value in spec.items() if key not in ("jobs", "labels", "parts")} | {"label": label}
    parts = []
    for h in range(0, len(job.points), n_points):
        for s in range(0, job.n_seeds, n_seeds):
            points = job.points[h : h + n_points]
            first, count = job.first_seed + s, min(n_seeds, job.n_seeds - s)
            part_job = dataclasses.replace(job, points=points, first_seed=first, n_seeds=count)
            described = {**common, "points": describe_points(points), "first_seed": first, "seeds": count}
            name = digest(described)[:16]
            part_positions = tuple(positions[h : h + n_points])
            parts.append(Part(f"{number:03d}-{len(parts):05d}-{name}", label, part_job, part_positions))
    return parts
