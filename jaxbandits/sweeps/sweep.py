"""Sweeps and their parts: rectangles of trials of one program, the unit of files, locks, shards and retries."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.base import ranges
from jaxbandits.base.digests import digest
from jaxbandits.base.errors import InputError, shown, unknown_name
from jaxbandits.simulation import collect, driver, identity
from jaxbandits.simulation.jobs import LabelJobs, make_jobs
from jaxbandits.simulation.meters import Meter
from jaxbandits.simulation.options import COUNT, Options
from jaxbandits.simulation.plan import Job, Plan
from jaxbandits.simulation.width import bytes_of

_PART_TRIALS = 4096
_PART_BYTES = 2**28  # of the values of one part
PRECISIONS = ("float32", "float64")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sweep:
    """Declaration of a sweep: the arguments of `compare` that determine numbers, and the size of its files.

    Attributes:
      algorithms: label to algorithm or `Grid`, or a list.
      environment: one environment, or label to environment.
      horizon: rounds per trial; one value or label to value.
      seeds: trials per point; one value or label to value.
      record_points: as for `simulate`; one value or label to value.
      meters: extra `Meter`s.
      metrics: names of the metrics that are kept; all by default.
      seed: base seed.
      first_seed: global index of the first trial.
      width: trials side by side, 1 or a multiple of 32; by default from what one trial holds.
      part_trials: most trials in one result file; by default 4096, fewer where they would take more than 256 MB.
      precision: `"float32"` or `"float64"`, which the process must have; by default whatever it has.
      source: name of the file that it was read from, for messages.
      file: the content of that file, so that a message can name the field in it that has changed.
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
    precision: str | None = None
    source: str = ""
    file: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Part:
    """A slice of one program's trials."""

    name: str  # with a digest of everything that determines its numbers
    label: str
    job: Job
    positions: tuple[int, ...]  # of its points among those of the label

    @property
    def rounds(self) -> int:
        """Trial-rounds, padding not counted."""
        return self.job.n_trials * self.job.horizon


@dataclasses.dataclass(frozen=True)
class Planned:
    """A checked sweep on some devices."""

    sweep: Sweep
    devices: list[Any]
    labelled: list[LabelJobs]
    jobs: list[Job]  # one per program
    parts: list[Part]
    spec: dict[str, Any]  # everything that determines its numbers

    def described(self, part: Part) -> dict[str, Any]:
        """The specification in the result of a part: that of its label, so that parts can be merged."""
        whole = next(run.whole for run in self.labelled if run.label == part.label)
        return identity.job_spec(whole, self.sweep.seed, self.devices)


def plan(sweep: Sweep, devices: Sequence[Any] | None = None) -> Planned:
    """Checks a sweep and cuts it into parts.

    Raises:
      InputError: bad input, in one line that names the file it is in.
    """
    if not isinstance(sweep, Sweep):
        raise InputError(f"a sweep must be a Sweep or the path of a sweep file, got {shown(sweep)}")
    try:
        return _plan(sweep, devices)
    except InputError as error:
        if not sweep.source or str(error).startswith(f"{sweep.source}: "):
            raise
        raise InputError(f"{sweep.source}: {error}") from None


def _plan(sweep: Sweep, devices: Sequence[Any] | None) -> Planned:
    precision = str(jnp.result_type(float))
    if sweep.precision is not None and sweep.precision not in PRECISIONS:
        raise InputError(f"precision must be one of {', '.join(PRECISIONS)}, got {shown(sweep.precision)}")
    if sweep.precision not in (None, precision):
        on = sweep.precision == "float64"
        raise InputError(
            f"precision is {sweep.precision}, but this process computes in {precision}: "
            f'jax.config.update("jax_enable_x64", {on}) before'
        )
    if sweep.metrics is not None and (
        not isinstance(sweep.metrics, (list, tuple))
        or not sweep.metrics
        or not all(isinstance(metric, str) for metric in sweep.metrics)
    ):
        raise InputError(f"metrics must be a list of names, got {shown(sweep.metrics)}")
    chosen = Options(
        meters=sweep.meters, seed=sweep.seed, first_seed=sweep.first_seed, width=sweep.width, devices=devices
    )
    used = list(devices) if devices is not None else jax.local_devices()
    labelled = make_jobs(
        sweep.algorithms, sweep.environment, sweep.horizon, sweep.seeds, sweep.record_points, chosen, used[0]
    )
    jobs = [job for run in labelled for _, job in run.jobs]
    _check_metrics(sweep.metrics or (), jobs)
    spec = identity.plan_spec(Plan(tuple(jobs), chosen.seed), used)
    spec |= {
        "labels": [run.label for run in labelled],
        "metrics": None if sweep.metrics is None else list(sweep.metrics),
    }
    spec |= {"parts": [_part_trials(sweep, job) for job in jobs]}
    spec = json.loads(json.dumps(spec))  # as it reads back
    parts = []
    number = 0
    for run in labelled:
        for positions, job in run.jobs:
            parts += _parts(run.label, positions, job, spec, number)
            number += 1
    return Planned(sweep, used, labelled, jobs, parts, spec)


def _check_metrics(wanted: Sequence[str], jobs: Sequence[Job]) -> None:
    """Before anything is computed, where names do not come from whole runs."""
    for job in jobs if wanted else ():
        known = collect.metric_names(job, driver.trace_job(job).block_values)
        missing = [] if known is None else [metric for metric in wanted if metric not in known]
        if known is not None and missing:
            raise InputError(f"metrics: {unknown_name('metric', missing[0], known)}")


def _part_trials(sweep: Sweep, job: Job) -> int:
    if sweep.part_trials is not None:
        return ranges.integer("part_trials", sweep.part_trials, COUNT)
    return max(job.width, min(_PART_TRIALS, _PART_BYTES // result_bytes(job)))


def result_bytes(job: Job) -> int:
    """Bytes of what one trial reports, in float64."""
    block_values = driver.trace_job(job).block_values
    return 8 * len(job.record_points) * sum(x.size for x in block_values.values())


def carry_bytes(job: Job) -> int:
    """Bytes of what one trial holds while it runs."""
    return bytes_of(driver.trace_job(job).carry)


def _parts(label: str, positions: Sequence[int], job: Job, spec: dict[str, Any], number: int) -> list[Part]:
    """Rectangles of points times seeds: whole points where their seeds fit into one part."""
    trials = spec["parts"][number]
    n_points, n_seeds = max(1, trials // job.n_seeds), min(trials, job.n_seeds)
    same = {key: value for key, value in spec.items() if key not in ("jobs", "labels", "parts")} | {"label": label}
    parts = []
    for h in range(0, len(job.points), n_points):
        for s in range(0, job.n_seeds, n_seeds):
            points = job.points[h : h + n_points]
            first, count = job.first_seed + s, min(n_seeds, job.n_seeds - s)
            piece = dataclasses.replace(job, points=points, first_seed=first, n_seeds=count)
            rows = [list(point.items()) for point in points]
            name = digest({**same, "points": rows, "first_seed": first, "seeds": count})[:16]
            at = tuple(positions[h : h + n_points])
            parts.append(Part(f"{number:03d}-{len(parts):05d}-{name}", label, piece, at))
    return parts
