"""Run a sweep. Interrupted runs resume; no part is computed twice."""

import contextlib
import dataclasses
import functools
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax

from jaxbandits.analysis.info import RunInfo, TimingInfo
from jaxbandits.analysis.trials import Trials
from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.base.files import LockedError, UnwritableError, first_difference
from jaxbandits.base.forms import JsonObject
from jaxbandits.base.versions import versions
from jaxbandits.engine import driver
from jaxbandits.engine.checkpoint import discard
from jaxbandits.engine.collect import Hindsight, collect_trials
from jaxbandits.engine.identity import plan_spec
from jaxbandits.engine.memory import check_job
from jaxbandits.engine.noise_scales import warn_of_noise_scales
from jaxbandits.engine.options import COUNT, Options
from jaxbandits.engine.plan import Plan
from jaxbandits.engine.progress import Display, is_interactive
from jaxbandits.results.result import Result
from jaxbandits.sweeps.checkpoints import PartStore
from jaxbandits.sweeps.directory import Directory, PartState
from jaxbandits.sweeps.executors import (
    MAX_JOBS,
    ShardTask,
    TaskExecutor,
    check_executor,
    check_same_sweep,
    run_shards,
    without_jax_arrays,
)
from jaxbandits.sweeps.load import SweepResult, load_sweep
from jaxbandits.sweeps.status import format_seconds
from jaxbandits.sweeps.sweep import Part, Sweep, SweepPlan, plan_sweep

_REPORT_S = 60.0  # seconds between lines about the current part if there is no progress bar
_MAX_HINDSIGHT = 10_000  # number of instances whose metrics in hindsight are cached between parts


def run_sweep(  # noqa: PLR0913
    sweep: Sweep | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    shard: tuple[int, int] = (1, 1),
    fail_fast: bool = False,
    retry_failed: bool = False,
    devices: Sequence[Any] | None = None,
    workers: int | None = None,
    save_every: float = 10.0,
    progress: bool = True,
    executor: TaskExecutor | None = None,
    jobs: int | None = None,
) -> SweepResult:
    """Compute the missing parts of a sweep, and return its results.

    If the process is killed, repeating the call resumes the sweep, with bit-for-bit identical results. If a part fails,
    its error is recorded and the other parts are computed. Parts that another process is computing are skipped.

    Args:
      sweep: a `Sweep`, or the path of a sweep file.
      out: directory of the sweep; by default the directory that the sweep file names.
      shard: `(i, n)` with 1 <= i <= n: compute every n-th part, starting with the i-th.
      fail_fast: return after the first part that fails.
      retry_failed: also compute the parts that failed in an earlier call.
      devices: as for `Options`.
      workers: number of threads; by default as for `Options`, but 1 in each job of an executor.
      save_every: seconds between checkpoints.
      progress: show a progress bar on standard error.
      executor: executor that runs the sweep as jobs, one per shard: an executor of `concurrent.futures` (such as a
        `ProcessPoolExecutor` that spawns its processes), Dask, mpi4py or submitit, or any object with a method
        `submit(function, *args)`. All processes need access to the directory and must be able to import the classes of
        algorithms and environments. None: this process computes the parts.
      jobs: number of shards for the executor; by default one for each part, at most 64.

    Returns:
      The results of all finished parts, read on request.

    Raises:
      InputError: if an argument is invalid, if the directory holds another sweep (the message names the difference) or
        cannot be written, if the executor starts processes by fork, or if a job fails.

    Example:
      >>> from jaxbandits import Grid, HeavyTailed, OFUL, Sweep
      >>> env = HeavyTailed(dim=2, n_arms=10)
      >>> todo = Sweep(algorithms=[Grid(OFUL(dim=2), {"ridge": [0.1, 1.0]})], environment=env, horizon=20, seeds=8)
      >>> run_sweep(todo, "runs/ridge", progress=False).final("regret").final().shape  # [point, seed]
      (2, 8)
    """
    shard = _checked_shard(shard)
    ranges.flag("fail_fast", fail_fast)
    ranges.flag("retry_failed", retry_failed)
    options = Options(devices=devices, workers=workers, save_every=save_every, progress=progress)
    if isinstance(sweep, (str, os.PathLike)):
        # Imported here, since the registries run JAX, and `jax.distributed` must be initialised before JAX runs.
        from jaxbandits.sweeps import file as file_lib

        document = file_lib.read(sweep)
        sweep, out = file_lib.make_sweep(document), document.out if out is None else out
    if out is None:
        raise InputError("out must be the directory of the sweep")
    if executor is None:
        if jobs is not None:
            raise InputError("jobs is the number of shards for an executor; pass an executor too, or leave out jobs")
        return run_plan(plan_sweep(sweep, devices), Directory(out), shard, fail_fast, retry_failed, options)
    check_executor(executor)
    if shard != (1, 1) or devices is not None:
        raise InputError(
            "shard and devices cannot be given with an executor, which runs all shards, each on the devices of its "
            "process"
        )
    n = None if jobs is None else ranges.integer("jobs", jobs, COUNT)
    return _run_with(executor, n, without_jax_arrays(sweep), Directory(out), fail_fast, retry_failed, options)


def _run_with(
    executor: TaskExecutor,
    jobs: int | None,
    sweep: Sweep,
    directory: Directory,
    fail_fast: bool,
    retry_failed: bool,
    options: Options,
) -> SweepResult:
    plan = plan_sweep(sweep)
    directory.begin(make_manifest(plan), lambda saved, new: _check_same(directory, plan, saved, new))
    n = min(len(plan.parts), MAX_JOBS if jobs is None else jobs)
    tasks = [
        ShardTask(
            sweep=sweep,
            out=str(directory.path.resolve()),
            shard=(i, n),
            fail_fast=fail_fast,
            retry_failed=retry_failed,
            workers=1 if options.workers is None else options.workers,
            save_every=options.save_every,
            x64=jax.config.jax_enable_x64,
            spec=plan.spec,
        )
        for i in range(1, n + 1)
    ]
    run_shards(executor, run_shard, tasks, options.progress)
    return load_sweep(directory.path)


def run_shard(task: ShardTask) -> None:
    """Compute a shard in a process of an executor.

    Raises:
      InputError: as for `run_sweep`.
    """
    with _precision(task.x64):
        options = Options(workers=task.workers, save_every=task.save_every, progress=False)
        plan = plan_sweep(task.sweep)
        check_same_sweep(task.spec, plan.spec)
        run_plan(plan, Directory(task.out), task.shard, task.fail_fast, task.retry_failed, options)


@contextlib.contextmanager
def _precision(x64: bool) -> Iterator[None]:
    """Set the precision within a `with` block, for this thread; before JAX 0.8 for all threads."""
    before, enable = jax.config.jax_enable_x64, getattr(jax, "enable_x64", None)
    if before == x64:
        yield
    elif enable is not None:
        with enable(x64):
            yield
    else:
        jax.config.update("jax_enable_x64", x64)
        try:
            yield
        finally:
            jax.config.update("jax_enable_x64", before)


def run_plan(
    plan: SweepPlan,
    directory: Directory,
    shard: tuple[int, int],
    fail_fast: bool,
    retry_failed: bool,
    options: Options,
) -> SweepResult:
    """Compute the parts of a checked sweep that a directory lacks; the arguments are those of `run_sweep`."""
    _check_memory(plan, options)
    warn_of_noise_scales(plan.label_jobs)
    manifest = make_manifest(plan)
    directory.begin(manifest, lambda saved, new: _check_same(directory, plan, saved, new))
    todo = plan.parts[shard[0] - 1 :: shard[1]]
    runner = _PartRunner(plan, directory, manifest, retry_failed, options, len(todo))
    for _ in range(2):  # a part that is locked by another process may be free later
        running = []
        for number, part in enumerate(todo, start=1 + runner.n_parts - len(todo)):
            if runner.finish(part, number) is PartState.RUNNING:
                running.append(part)
            if runner.has_failed and fail_fast:
                return load_sweep(directory.path)
        todo = running
    return load_sweep(directory.path)


def _check_memory(plan: SweepPlan, options: Options) -> None:
    """Raise an error before anything is written if the largest part of a job does not fit into memory."""
    workers = driver.default_workers(plan.devices) if options.workers is None else options.workers
    largest: dict[str, Part] = {}  # keyed by the number of the job, with which the names of its parts begin
    for part in plan.parts:
        key = part.name.partition("-")[0]
        if key not in largest or part.job.n_trials > largest[key].job.n_trials:
            largest[key] = part
    for part in largest.values():
        trial = driver.trace_job(part.job, plan.devices[0], plan.traces)
        check_job(part.job, trial, plan.devices[0], workers)


def make_manifest(plan: SweepPlan) -> JsonObject:
    """Return the manifest of a sweep."""
    labels = {
        label.label: {
            "points": [dict(point) for point in label.whole.points],
            "seeds": label.whole.n_seeds,
            "digest": plan.label_spec(label)["digest"],
        }
        for label in plan.label_jobs
    }
    parts = [
        {
            "name": part.name,
            "label": part.label,
            "positions": list(part.positions),
            "first_seed": part.job.first_seed,
            "seeds": part.job.n_seeds,
            "trials": part.job.n_trials,
            "rounds": part.rounds,
            "width": part.job.width,
        }
        for part in plan.parts
    ]
    info = {"versions": versions(), "base_seed": plan.sweep.seed}
    return {"file": plan.sweep.file, "spec": plan.spec, "info": info, "labels": labels, "parts": parts}


def _check_same(directory: Directory, plan: SweepPlan, saved: JsonObject, new: JsonObject) -> None:
    """Raise an error if two manifests differ, or if their code has no identity."""
    _check_spec(directory, plan, saved, new)
    directory.check_identified(new)


def _check_spec(directory: Directory, plan: SweepPlan, saved: JsonObject, new: JsonObject) -> None:
    """Raise an error if two manifests differ; it names the key of the sweep file if the files differ."""
    if saved.get("spec") == new["spec"]:
        return
    contents = saved.get("file"), json.loads(json.dumps(new["file"], default=str))
    is_in_file = all(contents) and contents[0] != contents[1]
    difference = first_difference(*(contents if is_in_file else (saved.get("spec"), new["spec"])))
    source = f"{plan.sweep.source}: " if is_in_file else ""
    raise InputError(
        f"{source}{directory.path} holds another sweep: {difference[:300]}; pass the same settings to resume it, or "
        "choose another directory"
    )


class _PartRunner:
    """State of one call of `run_plan`, which computes the parts one after the other."""

    def __init__(
        self,
        plan: SweepPlan,
        directory: Directory,
        manifest: JsonObject,
        retry_failed: bool,
        options: Options,
        n_parts: int,
    ):
        self.plan, self.directory, self.options, self.n_parts = plan, directory, options, n_parts
        self.unconfirmed: JsonObject | None = manifest  # None once `_confirm` has found it in the directory
        self.to_compute = {PartState.MISSING, PartState.DAMAGED} | ({PartState.FAILED} if retry_failed else set())
        self.has_failed = False  # True once a part has failed in this call
        self.hindsight: Hindsight = {}

    def finish(self, part: Part, number: int) -> PartState:
        """Compute a part unless it is DONE or FAILED; return its state (RUNNING if another process computes it)."""
        name, directory = part.name, self.directory
        if directory.verify_state(name) not in self.to_compute and not directory.working_path(name).exists():
            return directory.read_state(name)
        try:
            with directory.lock(name) as working:
                self._confirm(name)
                state = directory.verify_state(name)  # read again, since another process may have computed the part
                if state is PartState.DAMAGED:
                    print(
                        f"jaxbandits: {directory.result_path(name)} is damaged; it is computed again", file=sys.stderr
                    )
                if state in self.to_compute:
                    state = self._compute(part, number, working)
                self._clean_up(name, working)
                return state
        except LockedError:
            return PartState.RUNNING

    def _confirm(self, name: str) -> None:
        """Raise an error if another process has begun another sweep since this one was begun.

        A sweep may replace the manifest of another that has computed nothing, but not after a part has been locked.
        """
        if self.unconfirmed is None:
            return
        try:
            _check_spec(self.directory, self.plan, self.directory.read_present_manifest(), self.unconfirmed)
        except InputError:
            self.directory.clean_up(name)
            raise
        self.unconfirmed = None

    def _compute(self, part: Part, number: int, working: Path) -> PartState:
        name, begin = part.name, time.perf_counter()
        self.directory.clear_failure(name)
        try:
            trials, timing = self._simulate(part, number, working / "checkpoint")
        except UnwritableError:
            raise
        except Exception as error:  # an error of this part; the others may succeed
            text = " ".join(f"{error if isinstance(error, InputError) else repr(error)}".split())[:500]
            self.directory.write_failure(name, text)
            print(f"jaxbandits: part {name} failed: {text}", file=sys.stderr)
            self.has_failed = True
            return PartState.FAILED
        try:
            trials = self._select_metrics(trials)
        except InputError:
            self._clean_up(name, working)  # so that the directory is usable after the error is corrected
            raise
        info = RunInfo(versions=versions(), base_seed=self.plan.sweep.seed)
        Result({part.label: trials}, info).save(self.directory.result_path(name))
        details = {
            "trials": part.job.n_trials,
            "failed_trials": _count_failed(trials),
            "inadmissible_trials": int((trials.inadmissible > 0).sum()),
            "wall_s": time.perf_counter() - begin,
            "timing": timing,
        }
        self.directory.write_record(name, details)
        return PartState.DONE

    def _clean_up(self, name: str, working: Path) -> None:
        discard(working / "checkpoint")
        self.directory.clean_up(name)

    def _simulate(self, part: Part, number: int, directory: Path) -> tuple[Trials, TimingInfo]:
        """Return the trials of a part without their timing, which differs from run to run, and the timing."""
        devices, options = self.plan.devices, self.options
        plan = Plan((part.job,), self.plan.sweep.seed)
        with PartStore(
            directory, plan, plan_spec(plan, devices, self.plan.traces, self.plan.sweep.identity), options.save_every
        ) as store:
            title = f"part {number} of {self.n_parts}"
            share = functools.partial(self._share, part)
            with _printing_minutes(title, share, options.progress and not is_interactive()):
                output = driver.run(
                    plan,
                    devices=devices,
                    traces=self.plan.traces,
                    workers=options.workers,
                    save_every=options.save_every,
                    store=store,
                    display=Display(options.progress, title, stages=False),
                )
        if len(self.hindsight) > _MAX_HINDSIGHT:
            self.hindsight.clear()
        spec = self.plan.spec_of(part)
        trials = collect_trials(part.job, output.block_values[0], output.timing[0], self.hindsight, spec)
        return dataclasses.replace(trials, timing=TimingInfo()), trials.timing

    def _share(self, part: Part) -> float:
        """Return the share of a part's rounds in its checkpoint."""
        return min(1.0, self.directory.count_rounds(part.name, part.job.width) / part.rounds)

    def _select_metrics(self, trials: Trials) -> Trials:
        metrics = self.plan.sweep.metrics
        if metrics is None:
            return trials
        for metric in metrics:
            if metric not in trials.values:
                source = f"{self.plan.sweep.source}: " if self.plan.sweep.source else ""
                raise InputError(f"{source}metrics: {unknown_name('metric', metric, trials.values)}")
        selected = {
            field: {name: getattr(trials, field)[name] for name in metrics if name in getattr(trials, field)}
            for field in ("values", "axes", "units")
        }
        return dataclasses.replace(trials, **selected)


@contextlib.contextmanager
def _printing_minutes(title: str, share: Callable[[], float], enabled: bool) -> Iterator[None]:
    """Print one line per minute on standard error while a part is computed; used if there is no progress bar."""
    begin, before, is_done = time.perf_counter(), share() if enabled else 0.0, threading.Event()

    def report() -> None:
        while not is_done.wait(_REPORT_S):
            print(_minute(title, time.perf_counter() - begin, before, share()), file=sys.stderr, flush=True)

    thread = threading.Thread(target=report, daemon=True)
    if enabled:
        thread.start()
    try:
        yield
    finally:
        is_done.set()
        if enabled:
            thread.join()


def _minute(title: str, seconds: float, before: float, now: float) -> str:
    """Return a line on a part: time since its beginning, share that is saved, and estimate of the remaining time."""
    text = f"{title}: computing for {format_seconds(seconds)}"
    if now <= before:
        return text
    return f"{text}, {100.0 * now:.3g} % saved, about {format_seconds(seconds * (1.0 - now) / (now - before))} left"


def _count_failed(trials: Trials) -> int:
    failed = ~trials.healthy
    for metric in trials.values:
        failed = failed | trials.failures(metric)
    return int(failed.sum())


def _checked_shard(shard: object) -> tuple[int, int]:
    if not isinstance(shard, (list, tuple)) or len(shard) != 2:
        raise InputError(f"shard must be (i, n) with 1 <= i <= n, got {format_value(shard)}")
    n = ranges.integer("the number of shards", shard[1], COUNT)
    return ranges.integer("shard", shard[0], f"[1, {n}]"), n
