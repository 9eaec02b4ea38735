"""The driver: worker threads take pieces from a queue; progress, checkpoints and interrupts live here, outside jit.

One worker per core on CPU (XLA releases the GIL while it computes) or per accelerator. A worker runs a piece from its
start (or its checkpoint) to the horizon, in calls whose number of rounds follows from the measured rate: a call takes
about `seconds_per_call`, so that progress moves and an interrupt is answered within about that time.
"""

import collections
import contextlib
import dataclasses
import os
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any

import jax
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import shared_leaves
from jaxbandits.simulation import progress as progress_lib
from jaxbandits.simulation.checkpoint import Progress, Store
from jaxbandits.simulation.loop import Trial
from jaxbandits.simulation.plan import Job, Piece, Plan
from jaxbandits.simulation.program import Device, Program, base_key, get_program, get_trial, to_host
from jaxbandits.tracing import target

_ROW_SLOTS = (16, 128, 1024)  # few sizes, so that runs with other record points find the same program
_ROW_BYTES = 2**26  # of all rows that a call may return
_TICK = 0.5  # seconds between two looks at what compiles


@dataclasses.dataclass(frozen=True)
class Timing:
    """Cost of one job. `run_s` is summed over workers, so rounds / run_s is a rate per worker."""

    compile_s: float
    run_s: float
    rounds: int  # trial-rounds computed here, padding not counted, resumed rounds not counted
    ns_per_round: tuple[float, ...]  # of every piece, whoever began it, per lane (padding included)


@dataclasses.dataclass(frozen=True)
class Output:
    """Raw rows of a run."""

    rows: list[dict[str, np.ndarray]]  # per job, by `reduce:name`: [trials, M, ...] block values
    timing: list[Timing]
    wall_s: float
    devices: tuple[str, ...]
    workers: int


class _StoppedError(Exception):
    """Another worker failed, or the user interrupted."""


def run(
    plan: Plan,
    *,
    devices: Sequence[Device] | None = None,
    workers: int | None = None,
    seconds_per_call: float = 0.2,
    save_every: float = 10.0,
    store: Store | None = None,
    progress: bool = True,
    title: str = "",
    stages: bool = True,
) -> Output:
    """Computes every piece of a plan.

    Args:
      plan: what to run.
      devices: JAX devices; None: all of the default backend.
      workers: threads; None: one per available core on CPU, one per device otherwise.
      seconds_per_call: how long compiled code runs between two looks at the clock.
      save_every: seconds between checkpoints of an unfinished piece.
      store: checkpoint directory, already locked; None: no checkpoints.
      progress: a bar on standard error.
      title: what it says in front of the labels that it runs.
      stages: where nobody watches, a line for every stage; else one at the end.
    """
    devices = list(devices) if devices is not None else jax.local_devices()
    if workers is None:
        workers = default_workers(devices)
    workers = max(1, min(workers, len(plan.pieces)))
    bar = progress_lib.Progress(plan.total_rounds, "rounds", title, progress, scale=True, stages=stages)
    return _Run(plan, devices, workers, seconds_per_call, save_every, store, bar).output()


def default_workers(devices: Sequence[Device]) -> int:
    """Threads: one per core where the only device is the CPU, one per device otherwise."""
    by_cores = len(devices) == 1 and not target.is_accelerator(devices[0].platform)
    return available_cores() if by_cores else len(devices)


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def row_slots(job: Job, row: dict[str, Any]) -> int:
    """Record points that one call can report: all of them, in round numbers, within memory."""
    bytes_of_one = job.width * sum(x.size * x.dtype.itemsize for x in row.values())
    wanted = next((n for n in _ROW_SLOTS if n >= len(job.record_points)), _ROW_SLOTS[-1])
    return max(1, min(wanted, _ROW_BYTES // bytes_of_one))


class _Run:
    """One run of a plan; the mutable state that its workers share."""

    def __init__(
        self,
        plan: Plan,
        devices: list[Device],
        workers: int,
        seconds_per_call: float,
        save_every: float,
        store: Store | None,
        bar: progress_lib.Progress,
    ):
        self.plan, self.devices, self.workers, self.store = plan, devices, workers, store
        self.seconds_per_call, self.save_every = seconds_per_call, save_every
        self.base_key = {device: base_key(plan.base_seed, device) for device in devices}
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.played: collections.Counter[str] = collections.Counter()  # label: pieces that workers are playing
        self.bar = bar
        self.run_s = [0.0] * len(plan.jobs)
        self.rounds = [0] * len(plan.jobs)
        self.ns_per_round: list[list[float]] = [[] for _ in plan.jobs]
        self.compile_s = [0.0] * len(plan.jobs)
        self.programs: dict[tuple[int, Device], Program] = {}
        self.shared: dict[tuple[int, Device], list[Any]] = {}  # shared leaves, on the device once per job
        self.settings: dict[tuple[int, Device], tuple[np.ndarray, tuple[Any, Any]]] = {}  # `[W]` points, what they are
        self.rows: list[dict[str, np.ndarray]] = [{} for _ in plan.jobs]

    def output(self) -> Output:
        begin = time.perf_counter()
        pieces: queue.SimpleQueue[Piece] = queue.SimpleQueue()
        for piece in self.plan.pieces:
            pieces.put(piece)
        with self.bar, ThreadPoolExecutor(self.workers, thread_name_prefix="jaxbandits") as pool:
            futures = []
            try:
                if self.store and self.store.resumes:
                    self.bar.note(f"resuming from {self.store.directory}")
                n = len(self.plan.jobs)
                self.bar.stage(f"compiling {n} program{'s' * (n > 1)}")
                futures = [pool.submit(self._compile, j) for j in range(n)]  # different jobs at once
                self._wait(futures)
                self.bar.stage(f"simulating {', '.join(dict.fromkeys(job.label for job in self.plan.jobs))}")
                futures = [
                    pool.submit(self._work, pieces, self.devices[i % len(self.devices)]) for i in range(self.workers)
                ]
                for future in futures:
                    future.result()
            except BaseException:
                self.stop.set()  # the other workers finish their call, save, and leave
                for future in futures:
                    future.cancel()
                failures = [f.exception() for f in futures if not f.cancelled()]  # waits for all of them
                first = next((e for e in failures if e is not None and not isinstance(e, _StoppedError)), None)
                if first is not None:
                    raise first from None
                raise
        per_job = zip(self.compile_s, self.run_s, self.rounds, map(tuple, self.ns_per_round), strict=True)
        used = tuple(f"{d.platform}:{d.device_kind}" for d in self.devices)
        wall_s = time.perf_counter() - begin
        return Output(self.rows, [Timing(*row) for row in per_job], wall_s, used, self.workers)

    def _wait(self, compiling: Sequence[Future[None]]) -> None:
        """Waits for the programs; meanwhile the bar says how many there are by now, and how long it has taken."""
        waiting, n = set(compiling), len(compiling)
        while waiting:
            done, waiting = wait(waiting, timeout=_TICK, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
            if waiting:
                ready = sum(future.done() for future in compiling)
                self.bar.name(f"compiling, {ready} of {n} programs done")
                self.bar.tick()

    def _work(self, pieces: "queue.SimpleQueue[Piece]", device: Device) -> None:
        try:
            while not self.stop.is_set():
                try:
                    piece = pieces.get_nowait()
                except queue.Empty:
                    return
                label = self.plan.jobs[piece.job].label
                self._name(label, +1)
                rows = self._play(piece, device)
                self._name(label, -1)
                self._collect(piece, rows)
        except BaseException:
            self.stop.set()
            raise

    def _name(self, label: str, change: int) -> None:
        """Says who is played now: a piece of a label has begun (+1) or ended (-1)."""
        with self.lock:
            self.played[label] += change
            if names := ", ".join(label for label, pieces in self.played.items() if pieces):
                self.bar.name(names)

    def _collect(self, piece: Piece, rows: dict[str, np.ndarray]) -> None:
        """Puts the rows `[M, ..., W]` of a finished piece into their places, padding dropped."""
        job, of_job = self.plan.jobs[piece.job], self.rows[piece.job]
        with self.lock:
            for name, values in rows.items():
                if name not in of_job:
                    of_job[name] = np.empty((job.n_trials, *values.shape[:-1]), values.dtype)
                of_job[name][piece.first : piece.first + piece.count] = np.moveaxis(values, -1, 0)[: piece.count]

    def _play(self, piece: Piece, device: Device) -> dict[str, np.ndarray]:
        """One piece from its start or its checkpoint to the horizon: rows `[M, ..., W]`."""
        job, program = self.plan.jobs[piece.job], self.programs[piece.job, device]
        saved = self.store.load(piece, program.carry_shape) if self.store else None
        t, rows = (saved.rounds, saved.rows) if saved else (0, {})
        self._report(piece, 0.0, t, played=False)
        seconds = saved.seconds if saved else 0.0  # of this piece, earlier calls included
        if t == job.horizon:
            self._timed(piece, seconds)
            return rows
        rows = {name: _with_room(values, len(job.record_points)) for name, values in rows.items()}
        algorithm, environment, seed_index = self._arguments(piece, device)
        begin = time.perf_counter()
        if saved:
            carry = jax.device_put(saved.carry, device)
        else:
            carry = program.start(algorithm, environment, self.base_key[device], seed_index)
            jax.block_until_ready(carry)  # so that the first call is charged for its own rounds only
        last_save, last_rounds = time.perf_counter(), None
        while t < job.horizon:
            if self.stop.is_set():
                self._save(piece, t, rows, carry, seconds)
                raise _StoppedError
            called = time.perf_counter()
            n_rounds = program.pace.rounds(last_rounds, self.seconds_per_call)
            carry, end = advance(program, job, algorithm, environment, carry, t, n_rounds, rows)
            now = time.perf_counter()
            program.pace.measured(now - called, end - t, self.seconds_per_call)
            seconds += now - begin
            self._report(piece, now - begin, end - t, played=True)
            last_rounds, t, begin = end - t, end, now
            if self.store and t < job.horizon and now - last_save >= self.save_every:
                self._save(piece, t, rows, carry, seconds)
                last_save = begin = time.perf_counter()
        self._save(piece, t, rows, None, seconds)
        self._timed(piece, seconds)
        return rows

    def _timed(self, piece: Piece, seconds: float) -> None:
        job = self.plan.jobs[piece.job]
        with self.lock:
            self.ns_per_round[piece.job].append(seconds / (job.horizon * job.width) * 1e9)

    def _arguments(self, piece: Piece, device: Device) -> tuple[Any, Any, Any]:
        """What the program of a piece is called with; seeds from the host, for a transfer of theirs is waited for.

        Hyperparameters go to the device when they are others than those of the piece before, shared data once.
        """
        job, where = self.plan.jobs[piece.job], (piece.job, device)
        points, seed_index = job.lanes(piece.first, piece.count)
        with self.lock:
            last = self.settings.get(where)
        if last is not None and np.array_equal(last[0], points):
            return *last[1], seed_index
        leaves, structure = jax.tree.flatten(settings := job.settings(points))
        common = shared_leaves(settings)
        with self.lock:
            if where not in self.shared:
                data = [leaf for leaf, is_common in zip(leaves, common, strict=True) if is_common]
                self.shared[where] = jax.device_put(data, device)
            data = iter(self.shared[where])
        own = iter(jax.device_put([x for x, is_common in zip(leaves, common, strict=True) if not is_common], device))
        settings = jax.tree.unflatten(structure, [next(data) if is_common else next(own) for is_common in common])
        with self.lock:
            self.settings[where] = points, settings
        return *settings, seed_index

    def _compile(self, index: int) -> None:
        """Compiles the program of a job for every device that will run it."""
        job = self.plan.jobs[index]
        for device in self.devices[: self.workers]:
            if self.stop.is_set():
                raise _StoppedError
            self.programs[index, device] = program = program_of(job, device)
            self.compile_s[index] += program.compile_s

    def _report(self, piece: Piece, seconds: float, rounds: int, played: bool) -> None:
        with self.lock:
            self.run_s[piece.job] += seconds
            self.rounds[piece.job] += rounds * piece.count * played
            self.bar.update(rounds * piece.count, played)

    def _save(self, piece: Piece, t: int, rows: dict[str, np.ndarray], carry: Any | None, seconds: float) -> None:
        if self.store:
            done = int(np.searchsorted(self.plan.jobs[piece.job].record_points, t, side="right"))
            kept = {name: values[:done] for name, values in rows.items()}
            self.store.save(piece, Progress(t, kept, None if carry is None else to_host(carry), seconds))


def trial_of(job: Job, device: Device | None = None) -> Trial:
    """One trial of a job, traced for the device, by default JAX's.

    Raises:
      InputError: when algorithm and environment do not fit together.
    """
    with _explained(job):
        return get_trial(job.meters, *job.trial(), device and device.platform)


def program_of(job: Job, device: Device) -> Program:
    """The compiled program of a job.

    Raises:
      InputError: when algorithm and environment do not fit together, or a program cannot be made of them.
    """
    slots = row_slots(job, trial_of(job, device).row)
    with _explained(job):
        return get_program(job.meters, *job.trial(), job.width, slots, device)


@contextlib.contextmanager
def _explained(job: Job) -> Iterator[None]:
    """Says in one line what fits together with what does not; the trace is above that line."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        what = " ".join(str(error).split())[:300]
        where = f"{job.label} does not run on {type(job.environment).__name__}"
        raise InputError(f"{where}: {type(error).__name__}: {what}") from error


def advance(
    program: Program,
    job: Job,
    algorithm: Any,
    environment: Any,
    carry: Any,
    t: int,
    n_rounds: int,
    rows: dict[str, np.ndarray],
) -> tuple[Any, int]:
    """One call: plays `n_rounds` rounds or fewer (to the horizon, or as far as there is room to report).

    Args:
      program: of the job.
      job: what is run.
      algorithm: arguments of the piece on the device.
      environment: the same.
      carry: the trials after `t` rounds.
      t: rounds already played.
      n_rounds: how many more to play at most (accelerators: to the end of a block).
      rows: `[M, ..., W]` by name; receives the rows of the record points on the way (made at the first call).

    Returns:
      The trials afterwards, and how many rounds they have played.
    """
    done = int(np.searchsorted(job.record_points, t, side="right"))
    stops = job.record_points[done : done + program.row_slots]
    end = min(t + n_rounds, int(stops[-1]))
    carry, block, end = program.play(algorithm, environment, carry, t, end, stops)
    for name, values in block.items():
        values = values[..., None] if job.width == 1 else values
        if name not in rows:
            rows[name] = np.empty((len(job.record_points), *values.shape[1:]), values.dtype)
        rows[name][done : done + len(values)] = values
    return carry, end


def _with_room(rows: np.ndarray, n: int) -> np.ndarray:
    """Rows `[M so far, ...]` at the beginning of an array of `n`."""
    room = np.empty((n, *rows.shape[1:]), rows.dtype)
    room[: len(rows)] = rows
    return room
