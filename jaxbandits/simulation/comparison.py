"""Run several algorithms once on paired seeds, and collect the result."""

import contextlib
import time
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.analysis.info import RunInfo
from jaxbandits.analysis.trials import in_order
from jaxbandits.base.callers import user_stacklevel
from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.base.versions import versions
from jaxbandits.engine import driver
from jaxbandits.engine.checkpoint import Store
from jaxbandits.engine.collect import Hindsight, collect_trials, join_points, metric_shapes
from jaxbandits.engine.identity import job_spec, plan_spec
from jaxbandits.engine.jobs import Algorithms, LabelJobs, PerLabel, make_jobs
from jaxbandits.engine.noise_scales import warn_of_noise_scales
from jaxbandits.engine.options import Options
from jaxbandits.engine.plan import Plan, RecordPoints
from jaxbandits.engine.program import Device, TraceCache, traces_of_call
from jaxbandits.engine.progress import Display
from jaxbandits.results.result import Result
from jaxbandits.types import Environment

_LARGEST_COUNT = 2**24  # in float32, 2^24 + 1 is 2^24


class Part(NamedTuple):
    """Place of a call of `run_comparison` among the calls that make a run."""

    is_first: bool = True  # only the first call warns and checks the metric
    brief: bool = False  # as `engine.progress.Display.brief`
    compares: bool = False  # whether the values of a scalar metric decide on the next calls
    of_first_label: bool = False  # whether the default metric is the first one of the first label, not of the result


def run_comparison(
    algorithms: Algorithms,
    environment: PerLabel[Environment],
    horizon: PerLabel[int],
    seeds: PerLabel[int],
    record_points: PerLabel[RecordPoints],
    options: Options,
    *,
    metric: str | None = None,
    part: Part = Part(),  # noqa: B008 (immutable)
) -> Result:
    """Run every label once and return the `Result`; the arguments are those of `compare`.

    Args:
      algorithms: as for `compare`.
      environment: one value, or a mapping from labels to values.
      horizon: one value, or a mapping from labels to values.
      seeds: one value, or a mapping from labels to values.
      record_points: one value, or a mapping from labels to values.
      options: settings of the run.
      metric: if `part.compares`, the name of the scalar metric; None: the first metric (`part.of_first_label`).
      part: the place of this call in a run of several calls. The first call warns of assumed noise scales that are too
        large (`warn_of_noise_scales`), and of horizons beyond 2^24 in float32.

    Raises:
      InputError: if an argument is invalid, or in the first call if a label lacks the metric or it is a vector, unless
        only a run can determine the metrics.
    """
    devices = list(options.devices) if options.devices is not None else jax.local_devices()
    traces = traces_of_call()
    label_jobs = make_jobs(algorithms, environment, horizon, seeds, record_points, options, devices[0], traces)
    if part.is_first:
        warn_of_noise_scales(label_jobs)
        _warn_of_counters(label_jobs)
    if part.is_first and part.compares:
        _check_metric(metric, part.of_first_label, label_jobs, devices[0], traces)
    plan = Plan(tuple(job for label in label_jobs for _, job in label.jobs), options.seed)
    begin = time.time()
    with contextlib.ExitStack() as stack:
        store = None
        if options.checkpoint is not None:
            spec = plan_spec(plan, devices, traces, options.identity)
            store = stack.enter_context(Store(options.checkpoint, plan, spec))
        output = driver.run(
            plan,
            devices=devices,
            traces=traces,
            workers=options.workers,
            seconds_per_call=options.seconds_per_call,
            save_every=options.save_every,
            store=store,
            display=Display(options.progress, options.title, brief=part.brief),
        )
    outputs = iter(zip(output.block_values, output.timing, strict=True))
    hindsight: Hindsight = {}
    trials = {}
    for label in label_jobs:
        spec = job_spec(label, plan.base_seed, devices, traces, options.identity)
        parts = [(positions, collect_trials(job, *next(outputs), hindsight, spec)) for positions, job in label.jobs]
        trials[label.label] = join_points(parts, label.label)
    info = RunInfo(
        versions=versions(),
        devices=output.devices,
        workers=output.workers,
        wall_s=output.wall_s,
        started_unix_s=begin,
        base_seed=plan.base_seed,
    )
    return Result(trials, info)


def _check_metric(
    metric: str | None, of_first_label: bool, label_jobs: Sequence[LabelJobs], device: Device, traces: TraceCache
) -> None:
    """Check that all labels have a scalar metric of this name, unless only a run can determine this."""
    if metric is not None and not isinstance(metric, str):
        raise InputError(f"metric must be the name of a metric, got {format_value(metric)}")
    found: list[tuple[str, dict[str, tuple[int, ...]]]] = []  # label and shapes of its metrics
    for label in label_jobs:
        for _, job in label.jobs:
            shapes = metric_shapes(job, driver.trace_job(job, device, traces).block_values)
            if shapes is None:
                return
            found.append((label.label, shapes))
    known = in_order(name for _, shapes in found for name in in_order(shapes))
    if not known:
        raise InputError("the learners cannot be compared, because the run has no metrics")
    if metric is not None and metric not in known:
        raise unknown_name("metric", metric, known)
    usual = in_order(found[0][1])[:1] if of_first_label else known
    chosen = (usual or known)[0] if metric is None else metric
    for label, shapes in found:
        if chosen not in shapes:  # it could not be compared with the others, and would play no further seeds
            shared = [name for name in known if all(of.get(name) == () for _, of in found)]
            raise InputError(
                f"{label} has no metric {chosen!r}, by which the learners are compared"
                + (f": choose one of {', '.join(shared)}" if shared else "")
            )
        if shapes.get(chosen):
            scalars = ", ".join(name for name, shape in shapes.items() if not shape)
            raise InputError(
                f"metric {chosen!r} of {label} is a vector of shape {shapes[chosen]}, but a scalar metric is needed"
                + (f": choose one of {scalars}" if metric is None else "")
            )


def _warn_of_counters(label_jobs: Sequence[LabelJobs]) -> None:
    """Warn of horizons beyond which counters in float32 stop growing."""
    longest = max(label.whole.horizon for label in label_jobs)
    if longest > _LARGEST_COUNT and jnp.result_type(float) == jnp.float32:
        warnings.warn(
            f"a horizon of {longest:,} rounds exceeds 2^24, at which counts of learners and environments stop growing "
            'in float32: compute in float64, after jax.config.update("jax_enable_x64", True)',
            stacklevel=user_stacklevel(),
        )
