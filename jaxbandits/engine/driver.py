"""Driver of a run: worker threads play the batches of a plan, with progress, checkpoints and interrupts.

By default there is one worker per core on a CPU (XLA releases the GIL while it computes), or one per accelerator. A
worker takes a batch from a queue and plays it from its start or its checkpoint to the horizon, in calls of about
`seconds_per_call`; the number of rounds of a call follows from the measured rate. Progress is shown and interrupts are
handled between calls.
"""

import collections
import contextlib
import contextvars
import dataclasses
import os
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import PyTree, shared_leaves
from jaxbandits.engine.checkpoint import BatchCheckpoint, Store
from jaxbandits.engine.loop import TracedTrial
from jaxbandits.engine.memory import check_job, check_plan
from jaxbandits.engine.meters import Metric
from jaxbandits.engine.plan import Batch, Job, Plan
from jaxbandits.engine.program import PreparedProgram, Program, TraceCache, to_host
from jaxbandits.engine.progress import Display, ProgressBar
from jaxbandits.engine.trial_keys import base_key
from jaxbandits.programs.compilation import Device, wrap_key_data
from jaxbandits.tracing import target
from jaxbandits.tracing.settings import own_settings, settings_for_threads
from jaxbandits.types import Algorithm, Environment

_RECORD_CAPACITIES = (16, 128, 1024)  # only a few sizes, so that runs with different record points can share programs
_MAX_RECORD_BYTES = 2**26  # largest size of the block values that one call returns
_REFRESH_SECONDS = 0.5  # interval between updates of the progress bar during compilation


@dataclasses.dataclass(frozen=True)
class Timing:
    """Cost of one job. `run_s` is summed over workers, so that rounds / run_s is a rate per worker."""

    compile_s: float
    run_s: float
    rounds: int  # trial-rounds computed in this run, without padding and without resumed rounds
    # For each batch: nanoseconds of a worker per round and slot (padding included), including interrupted earlier runs.
    ns_per_round: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class Output:
    """Raw results of a run."""

    block_values: list[dict[Metric, np.ndarray]]  # per job: array [trials, M, ...] of each metric
    timing: list[Timing]
    wall_s: float
    devices: tuple[str, ...]
    workers: int


class _StoppedError(Exception):
    """Error in a worker after another worker has failed or the user has interrupted the run."""


@own_settings()
def run(
    plan: Plan,
    *,
    devices: Sequence[Device] | None = None,
    traces: TraceCache | None = None,
    workers: int | None = None,
    seconds_per_call: float = 0.2,
    save_every: float = 10.0,
    store: Store | None = None,
    display: Display = Display(),  # noqa: B008 (immutable)
) -> Output:
    """Compute every batch of a plan, and return the raw results.

    Args:
      plan: the plan to run.
      devices: JAX devices; None: all devices of the default backend.
      traces: cached traces made before this call; None: no traces.
      workers: number of threads; None: one per available core on a CPU, one per device otherwise.
      seconds_per_call: intended duration of a call of compiled code.
      save_every: seconds between checkpoints of an unfinished batch.
      store: checkpoint directory, already locked; None: no checkpoints.
      display: settings of the progress output on standard error.

    Raises:
      InputError: if a program cannot be compiled, or if the memory does not suffice.
    """
    check_plan(plan)
    devices = list(devices) if devices is not None else jax.local_devices()
    if workers is None:
        workers = default_workers(devices)
    workers = max(1, min(workers, len(plan.batches)))
    enabled, title, stages, brief = display
    bar = ProgressBar(plan.total_rounds, "rounds", title, enabled, scale=True, stages=stages, brief=brief)
    return _Run(plan, devices, traces or TraceCache(), workers, seconds_per_call, save_every, store, bar).run()


def default_workers(devices: Sequence[Device]) -> int:
    """Return the number of threads: one per core if the only device is the CPU, else one per device."""
    is_cpu = len(devices) == 1 and not target.is_accelerator(devices[0].platform)
    return available_cores() if is_cpu else len(devices)


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def record_capacity(job: Job, block_values: dict[Metric, Any]) -> int:
    """Return the number of record points that one call can report.

    It is at least 1 and suffices for all record points of the job, unless they are more than 1,024 or the values of a
    batch at these points exceed 64 MiB.

    Args:
      job: the job.
      block_values: shapes of the values that a trial reports at a record point.
    """
    bytes_of_point = job.width * sum(x.size * x.dtype.itemsize for x in block_values.values())
    enough = next((n for n in _RECORD_CAPACITIES if n >= len(job.record_points)), _RECORD_CAPACITIES[-1])
    return max(1, min(enough, _MAX_RECORD_BYTES // bytes_of_point))


class _Run:
    """One run of a plan: the mutable state that its workers share."""

    def __init__(
        self,
        plan: Plan,
        devices: list[Device],
        traces: TraceCache,
        workers: int,
        seconds_per_call: float,
        save_every: float,
        store: Store | None,
        bar: ProgressBar,
    ):
        self.plan, self.devices, self.workers, self.store, self.bar = plan, devices, workers, store, bar
        self.traces, self.seconds_per_call, self.save_every = traces, seconds_per_call, save_every
        self.base_key = base_key(plan.base_seed)
        self.stop = threading.Event()
        self.lock = threading.Lock()
        # Number of batches that workers are playing, by label.
        self.running: collections.Counter[str] = collections.Counter()
        # One entry per job:
        self.compile_s = [0.0] * len(plan.jobs)
        self.run_s = [0.0] * len(plan.jobs)
        self.rounds = [0] * len(plan.jobs)
        self.ns_per_round: list[list[float]] = [[] for _ in plan.jobs]
        self.block_values: list[dict[Metric, np.ndarray]] = [{} for _ in plan.jobs]
        # One entry per job and device:
        self.programs: dict[tuple[int, Device], Program] = {}
        self.shared: dict[tuple[int, Device], list[Any]] = {}  # shared leaves on the device
        # Points `[W]` of the latest batch, and its algorithm and environment on the device.
        self.latest: dict[tuple[int, Device], tuple[np.ndarray, tuple[Any, Any]]] = {}

    def run(self) -> Output:
        begin = time.perf_counter()
        batches: queue.SimpleQueue[Batch] = queue.SimpleQueue()
        for batch in self.plan.batches:
            batches.put(batch)
        enter_settings = settings_for_threads()
        pool = ThreadPoolExecutor(self.workers, "jaxbandits", initializer=enter_settings)
        with self.bar:
            futures, is_compiling, is_interrupted = [], True, False
            try:
                if self.store and self.store.resumes:
                    self.bar.print_note(f"resuming from {self.store.directory}")
                n = len(self.plan.jobs)
                self.bar.begin_stage(
                    f"compiling {n} program{'s' * (n > 1)} (or loading {'them' if n > 1 else 'it'} from the cache)"
                )
                for job in self.plan.jobs:  # traced in this thread, since the code may depend on the user's thread
                    trace_job(job, self.devices[0], self.traces)
                # Compile several jobs at a time, each with the context variables of this thread, since tracing runs
                # code of the user.
                futures = [pool.submit(contextvars.copy_context().run, self._compile, j) for j in range(n)]
                self._wait_for_programs(futures)
                is_compiling = False
                self.bar.begin_stage(f"simulating {', '.join(dict.fromkeys(job.label for job in self.plan.jobs))}")
                futures = [
                    pool.submit(self._work, batches, self.devices[i % len(self.devices)]) for i in range(self.workers)
                ]
                for future in futures:
                    future.result()
            except BaseException as error:
                self.stop.set()  # the other workers finish their call, save, and stop
                for future in futures:
                    future.cancel()
                if is_compiling and isinstance(error, KeyboardInterrupt):
                    is_interrupted = True  # XLA cannot be interrupted, and there is nothing to save
                    raise
                failures = [f.exception() for f in futures if not f.cancelled()]  # this waits for all workers
                first = next((e for e in failures if e is not None and not isinstance(e, _StoppedError)), None)
                if first is not None:
                    raise first from None
                raise
            finally:
                pool.shutdown(wait=not is_interrupted)
        per_job = zip(self.compile_s, self.run_s, self.rounds, map(tuple, self.ns_per_round), strict=True)
        return Output(
            block_values=self.block_values,
            timing=[Timing(*costs) for costs in per_job],
            wall_s=time.perf_counter() - begin,
            devices=tuple(f"{d.platform}:{d.device_kind}" for d in self.devices),
            workers=self.workers,
        )

    def _compile(self, index: int) -> None:
        """Compile the program of a job for every device that will run it."""
        job = self.plan.jobs[index]
        for device in self.devices[: self.workers]:
            if self.stop.is_set():
                raise _StoppedError
            check_job(job, trace_job(job, device, self.traces), device, self.workers)
            self.programs[index, device] = program = compile_job(job, device, self.traces)
            self.compile_s[index] += program.compile_s

    def _wait_for_programs(self, futures: Sequence[Future[None]]) -> None:
        """Wait for compilations, while the bar shows their number and the elapsed time."""
        pending, n = set(futures), len(futures)
        while pending:
            done, pending = wait(pending, timeout=_REFRESH_SECONDS, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
            if pending:
                n_done = sum(future.done() for future in futures)
                self.bar.describe(f"compiling, {n_done} of {n} programs done")
                self.bar.refresh()

    def _work(self, batches: "queue.SimpleQueue[Batch]", device: Device) -> None:
        """Play batches on a device until none is left."""
        try:
            while not self.stop.is_set():
                try:
                    batch = batches.get_nowait()
                except queue.Empty:
                    return
                label = self.plan.jobs[batch.job].label
                self._count_running(label, +1)
                block_values = self._play(batch, device)
                self._count_running(label, -1)
                self._collect(batch, block_values)
        except BaseException:
            self.stop.set()
            raise

    def _count_running(self, label: str, change: int) -> None:
        """Count a batch of a label that started (+1) or ended (-1), and show the running labels."""
        with self.lock:
            self.running[label] += change
            if labels := ", ".join(label for label, count in self.running.items() if count):
                self.bar.describe(labels)

    def _collect(self, batch: Batch, block_values: dict[Metric, np.ndarray]) -> None:
        """Copy the values `[M, ..., W]` of a finished batch into the output, without padding."""
        job, of_job = self.plan.jobs[batch.job], self.block_values[batch.job]
        with self.lock:
            for metric, values in block_values.items():
                if metric not in of_job:
                    of_job[metric] = np.empty((job.n_trials, *values.shape[:-1]), values.dtype)
                of_job[metric][batch.first : batch.first + batch.count] = np.moveaxis(values, -1, 0)[: batch.count]

    def _play(self, batch: Batch, device: Device) -> dict[Metric, np.ndarray]:
        """Play a batch from its start or its checkpoint to the horizon; return block values `[M, ..., W]`."""
        job, program = self.plan.jobs[batch.job], self.programs[batch.job, device]
        saved = self.store.load(batch, program.carry_shape) if self.store else None
        t, block_values = (saved.rounds, saved.block_values) if saved else (0, {})
        self._report(batch, 0.0, t, computed=False)
        seconds = saved.seconds if saved else 0.0  # seconds of this batch, including earlier runs
        if t == job.horizon:
            self._time(batch, seconds)
            return block_values
        block_values = {metric: _with_room(values, len(job.record_points)) for metric, values in block_values.items()}
        algorithm, environment, seed_index = self._arguments(batch, device)
        begin = time.perf_counter()
        if saved:
            carry = jax.device_put(saved.carry, device)
        else:
            carry = program.start(algorithm, environment, self.base_key, seed_index)
            jax.block_until_ready(carry)  # so that the time of the first call includes only its rounds
        last_save, previous = time.perf_counter(), None
        while t < job.horizon:
            if self.stop.is_set():
                self._save(batch, t, block_values, carry, seconds)
                raise _StoppedError
            called = time.perf_counter()
            rounds = program.rate.rounds_in(self.seconds_per_call, previous)
            carry, end = play_call(program, job, algorithm, environment, carry, t, rounds, block_values)
            now = time.perf_counter()
            program.rate.update(now - called, end - t, self.seconds_per_call)
            seconds += now - begin
            self._report(batch, now - begin, end - t, computed=True)
            previous, t, begin = end - t, end, now
            if self.store and t < job.horizon and now - last_save >= self.save_every:
                self._save(batch, t, block_values, carry, seconds)
                last_save = begin = time.perf_counter()
        self._save(batch, t, block_values, None, seconds)
        self._time(batch, seconds)
        return block_values

    def _arguments(self, batch: Batch, device: Device) -> tuple[PyTree, PyTree, PyTree]:
        """Return algorithm, environment and seed indices of a batch.

        Hyperparameters are transferred to the device only if they differ from those of the previous batch, and shared
        data only once. Seed indices stay on the host, since a separate transfer would block.
        """
        job, where = self.plan.jobs[batch.job], (batch.job, device)
        points, seed_index = job.slots(batch.first, batch.count)
        with self.lock:
            latest = self.latest.get(where)
        if latest is not None and np.array_equal(latest[0], points):
            return *latest[1], seed_index
        pair = job.at_points(points)
        leaves, structure = jax.tree.flatten(pair)
        is_shared = shared_leaves(pair)
        with self.lock:
            if where not in self.shared:
                data = [leaf for leaf, shared in zip(leaves, is_shared, strict=True) if shared]
                self.shared[where] = jax.device_put(data, device)
            shared_data = iter(self.shared[where])
        of_batch = [leaf for leaf, shared in zip(leaves, is_shared, strict=True) if not shared]
        transferred = iter(jax.device_put(of_batch, device))
        leaves = [next(shared_data) if shared else next(transferred) for shared in is_shared]
        pair = jax.tree.unflatten(structure, leaves)
        with self.lock:
            self.latest[where] = points, pair
        return *pair, seed_index

    def _report(self, batch: Batch, seconds: float, rounds: int, computed: bool) -> None:
        with self.lock:
            self.run_s[batch.job] += seconds
            self.rounds[batch.job] += rounds * batch.count * computed
            self.bar.update(rounds * batch.count, computed)

    def _time(self, batch: Batch, seconds: float) -> None:
        job = self.plan.jobs[batch.job]
        with self.lock:
            self.ns_per_round[batch.job].append(seconds / (job.horizon * job.width) * 1e9)

    def _save(
        self, batch: Batch, t: int, block_values: dict[Metric, np.ndarray], carry: PyTree | None, seconds: float
    ) -> None:
        if self.store:
            n = int(np.searchsorted(self.plan.jobs[batch.job].record_points, t, side="right"))
            recorded = {metric: values[:n] for metric, values in block_values.items()}
            carry = None if carry is None else to_host(carry)
            self.store.save(batch, BatchCheckpoint(t, recorded, carry, seconds))


@own_settings()
def trace_job(job: Job, device: Device | None = None, traces: TraceCache | None = None) -> TracedTrial:
    """Trace one trial of a job, and return the traced functions.

    Args:
      job: the job to run.
      device: device that will run the job; None: JAX's default device.
      traces: traces of this run; None: the trace is not shared with other jobs.

    Raises:
      InputError: if algorithm and environment do not fit together.
    """
    with _named_errors(job):
        return (traces or TraceCache()).get(job.meters, *job.at_point(), device)


@own_settings()
def prepare_job(job: Job, device: Device, traces: TraceCache | None = None) -> PreparedProgram:
    """Lower and identify the program of a job, and return it; the arguments are those of `trace_job`.

    Raises:
      InputError: if algorithm and environment do not fit together, or if they cannot be compiled.
    """
    traces = traces or TraceCache()
    trial = trace_job(job, device, traces)
    capacity = record_capacity(job, trial.block_values)
    with _named_errors(job):
        return traces.prepare(trial, *job.at_point(), job.width, capacity, device, job.compile)


def compile_job(job: Job, device: Device, traces: TraceCache | None = None) -> Program:
    """Compile the program of a job, and return it; arguments and errors are those of `prepare_job`."""
    prepared = prepare_job(job, device, traces)
    with _named_errors(job):
        return prepared.compile()


# The message names the learner, although the fault may be in the environment.
_CHECK = "check_algorithm(learner, environment, quick=True) may name the method and the line"
_LONGEST = 300  # largest length of the text of an error of other code


@contextlib.contextmanager
def _named_errors(job: Job) -> Iterator[None]:
    """Turn any error into an `InputError` of one line that names the label and the class of the environment."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        message = " ".join(str(error).split()).removesuffix(".")
        if len(message) > _LONGEST:  # cut between words, but not a single long one
            message = message[:_LONGEST].rpartition(" ")[0] or message[:_LONGEST]
            message = f"{message} ..."
        pair = f"{job.label} does not run on {type(job.environment).__name__}"
        lists = [_describe_lists(obj, message) for obj in (job.algorithm, job.environment)]
        is_of_machine = isinstance(error, (RuntimeError, MemoryError, OSError))
        has_hint = isinstance(error, NotImplementedError) or not is_of_machine
        hints = lists if any(lists) else [f"; {_CHECK}"] if has_hint else []
        text = f": {message}" if message else ""
        raise InputError(f"{pair}: {type(error).__name__}{text}{''.join(hints)}") from error


def _describe_lists(obj: Any, message: str) -> str:
    """Return a text about the fields of an object that hold a list, if an error message is about a list; else ""."""
    fields = dataclasses.fields(obj) if dataclasses.is_dataclass(obj) else ()
    values = {field.name: getattr(obj, field.name) for field in fields}
    return "".join(
        f"; {type(obj).__name__}.{name} is a {kind}, {format_value(value)}: a grid runs several values of a field"
        for name, value in values.items()
        if (kind := type(value).__name__) in ("list", "tuple") and f"'{kind}'" in message
    )


def play_call(
    program: Program,
    job: Job,
    algorithm: Algorithm,
    environment: Environment,
    carry: PyTree,
    t: int,
    rounds: int,
    block_values: dict[Metric, np.ndarray],
) -> tuple[Any, int]:
    """Play rounds of a batch in one call of the program of its job.

    The call ends at the horizon at the latest, and passes no more record points than the program can report.

    Args:
      program: program of the job.
      job: the job to run.
      algorithm: hyperparameters of the batch, on the device.
      environment: fields of the environment in the batch, on the device.
      carry: the trials after `t` rounds.
      t: number of rounds already played.
      rounds: largest number of further rounds (on accelerators rounded up to the end of a block).
      block_values: dict of an array `[M, ..., W]` per metric, empty before the first call; receives the values of the
        record points that are passed.

    Returns:
      The trials after the call, and the number of rounds that they have played.
    """
    n_done = int(np.searchsorted(job.record_points, t, side="right"))
    record_points = job.record_points[n_done : n_done + program.record_capacity]
    end = min(t + rounds, int(record_points[-1]))
    carry, new_values, end = program.play(algorithm, environment, carry, t, end, record_points)
    for metric, values in new_values.items():
        values = values[..., None] if job.width == 1 else values
        if metric not in block_values:
            block_values[metric] = np.empty((len(job.record_points), *values.shape[1:]), values.dtype)
        block_values[metric][n_done : n_done + len(values)] = values
    return carry, end


@own_settings()
def carry_after(job: Job, base_seed: int, rounds: int, device: Device) -> Any:
    """Return the carry of the first trial of a job after some rounds of the compiled program with width 1.

    Args:
      job: job of width 1 with a horizon of at least `rounds`.
      base_seed: seed of the run.
      rounds: number of rounds, at least 1.
      device: device that runs the rounds.
    """
    program = compile_job(job, device)
    algorithm, environment, seed_index = job.batch(0, 1)
    algorithm, environment = jax.device_put((algorithm, environment), device)
    carry = program.start(algorithm, environment, base_key(base_seed), seed_index)
    t, block_values = 0, {}
    while t < rounds:
        carry, t = play_call(program, job, algorithm, environment, carry, t, rounds - t, block_values)
    # A compiled program returns random keys as their words.
    return jax.tree.map(lambda like, x: wrap_key_data(jnp.asarray(x), like), program.carry_shape, carry)


def _with_room(values: np.ndarray, n: int) -> np.ndarray:
    """Return an array with room for n record points, whose first entries are `values`."""
    longer = np.empty((n, *values.shape[1:]), values.dtype)
    longer[: len(values)] = values
    return longer
