"""The driver: worker threads take pieces from a queue; progress, checkpoints and interrupts live here, outside jit.

One worker per core on CPU (XLA releases the GIL while it computes) or per accelerator. A worker runs a piece from its
start (or its checkpoint) to the horizon, in calls of a fixed number of record points.
"""

import dataclasses
import os
import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
from tqdm import tqdm

from jaxbandits.core.errors import InputError
from jaxbandits.simulation.checkpoint import Progress, Store, carry_to_device, carry_to_host
from jaxbandits.simulation.plan import Piece, Plan
from jaxbandits.simulation.program import Device, Program, get_program, to_host

_ROUNDS_PER_CALL = 2**22  # trial-rounds between two looks at the clock: 0.2 s at 20 M rounds/s
_SAVE_EVERY = 10.0  # seconds between checkpoints of an unfinished piece


@dataclasses.dataclass(frozen=True)
class Timing:
    """Cost of one job. `run_s` is summed over workers, so rounds / run_s is a rate per worker."""

    compile_s: float
    run_s: float
    rounds: int  # trial-rounds computed here, padding not counted, resumed rounds not counted
    ns_per_round: tuple[float, ...]  # of every piece computed here from its start, per lane (padding included)
    calls: tuple[tuple[int, int, float], ...]  # of every call: rounds before it, rounds after it, ns per round and lane


@dataclasses.dataclass(frozen=True)
class Output:
    """Raw rows of a run: per job and name `[H, S, M]` block values."""

    blocks: list[dict[str, np.ndarray]]
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
    calls_of: int | None = None,
    store: Store | None = None,
    progress: bool = True,
) -> Output:
    """Computes every piece of a plan.

    Args:
      plan: what to run.
      devices: JAX devices; None: all of the default backend.
      workers: threads; None: one per available core on CPU, one per device otherwise.
      calls_of: record points per compiled call; None: about 4 M trial-rounds per call.
      store: checkpoint directory, already locked; None: no checkpoints.
      progress: a bar on standard error.
    """
    devices = list(devices) if devices is not None else jax.local_devices()
    if workers is None:
        workers = available_cores() if devices[0].platform == "cpu" and len(devices) == 1 else len(devices)
    workers = max(1, min(workers, len(plan.pieces)))
    return _Run(plan, devices, workers, calls_of, store, progress).output()


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Run:
    """One run of a plan; the mutable state that its workers share."""

    def __init__(self, plan: Plan, devices, workers: int, calls_of: int | None, store: Store | None, progress: bool):
        self.plan, self.devices, self.workers, self.store = plan, devices, workers, store
        self.base_key = jax.random.key(plan.base_seed, impl="threefry2x32")
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.bar = tqdm(
            total=plan.total_rounds,
            unit=" rounds",
            unit_scale=True,
            smoothing=0.1,
            disable=not progress,
            dynamic_ncols=True,
            desc="simulating",
        )
        self.run_s = [0.0] * len(plan.jobs)
        self.rounds = [0] * len(plan.jobs)
        self.ns_per_round: list[list[float]] = [[] for _ in plan.jobs]
        self.calls: list[list[tuple[int, int, float]]] = [[] for _ in plan.jobs]
        self.compile_s = [0.0] * len(plan.jobs)
        self.programs: dict[tuple[int, Device], Program] = {}
        self.blocks: list[dict[str, np.ndarray]] = [{} for _ in plan.jobs]
        n_records = len(plan.stops)
        if calls_of is None:
            calls_of = round(n_records * _ROUNDS_PER_CALL / (plan.horizon * plan.width))
        self.call_length = min(max(1, calls_of), n_records)

    def output(self) -> Output:
        begin = time.perf_counter()
        pieces: queue.SimpleQueue[Piece] = queue.SimpleQueue()
        for piece in self.plan.pieces:
            pieces.put(piece)
        with self.bar, ThreadPoolExecutor(self.workers, thread_name_prefix="jaxbandits") as pool:
            self.bar.set_description("compiling")
            first_pieces = {piece.job: piece for piece in reversed(self.plan.pieces)}.values()
            list(pool.map(self._compile, first_pieces))  # different jobs at once
            self.bar.set_description("simulating")
            futures = []
            try:
                for i in range(self.workers):
                    futures.append(pool.submit(self._work, pieces, self.devices[i % len(self.devices)]))
                for future in futures:
                    future.result()
            except BaseException:
                self.stop.set()  # the other workers finish their call, save, and leave
                failures = [f.exception() for f in futures]  # waits for all of them
                first = next((e for e in failures if e is not None and not isinstance(e, _StoppedError)), None)
                if first is not None:
                    raise first from None
                raise
        per_job = zip(
            self.compile_s, self.run_s, self.rounds, map(tuple, self.ns_per_round), map(tuple, self.calls), strict=True
        )
        timing = [Timing(*row) for row in per_job]
        blocks = [
            {name: rows.reshape(len(self.plan.points), job.n_seeds, -1) for name, rows in named.items()}
            for job, named in zip(self.plan.jobs, self.blocks, strict=True)
        ]
        used = tuple(f"{d.platform}:{d.device_kind}" for d in self.devices)
        return Output(blocks, timing, time.perf_counter() - begin, used, self.workers)

    def _work(self, pieces: "queue.SimpleQueue[Piece]", device: Device) -> None:
        try:
            while not self.stop.is_set():
                try:
                    piece = pieces.get_nowait()
                except queue.Empty:
                    return
                rows = self._play(piece, device)
                self._collect(piece, rows)
        except BaseException:
            self.stop.set()
            raise

    def _collect(self, piece: Piece, rows: dict[str, np.ndarray]) -> None:
        """Puts the rows `[M, W]` of a finished piece into their places, padding dropped."""
        blocks = self.blocks[piece.job]
        with self.lock:
            for name, values in rows.items():
                if name not in blocks:
                    blocks[name] = np.full(
                        (self.plan.trials_of_job(piece.job), len(self.plan.stops)), np.nan, values.dtype
                    )
                blocks[name][piece.first : piece.first + piece.count] = values[:, : piece.count].T

    def _play(self, piece: Piece, device: Device) -> dict[str, np.ndarray]:
        """One piece from its start or its checkpoint to the horizon: rows `[M, W]`."""
        plan, program = self.plan, self.programs[piece.job, device]
        saved = self.store.load(piece, program.carry_shape) if self.store else None
        rows = saved.rows if saved else {}
        done = saved.records if saved else 0  # record points reached
        self._report(piece, 0.0, self._rounds_until(done), played=False)
        if done == len(plan.stops):
            return rows
        algorithm, environment, seed_index = jax.device_put(plan.trials_of(piece), device)
        begin, seconds = time.perf_counter(), 0.0
        if saved:
            carry = carry_to_device(saved.carry, program.carry_shape, device)
        else:
            carry = program.start(algorithm, environment, jax.device_put(self.base_key, device), seed_index)
            jax.block_until_ready(carry)  # so that the first call is charged for its own rounds only
        last_save = time.perf_counter()
        while done < len(plan.stops):
            if self.stop.is_set():
                self._save(piece, Progress(done, rows, carry))
                raise _StoppedError
            t0, stops = self._rounds_until(done), plan.stops[done : done + self.call_length]
            padded = np.pad(stops, (0, self.call_length - len(stops)), mode="edge")  # empty blocks, dropped below
            arguments = jax.device_put((np.int32(t0), padded.astype(np.int32)), device)
            called = time.perf_counter()
            carry, values = program.advance(algorithm, environment, carry, *arguments)
            rows = _append(rows, to_host(values), len(stops))
            done += len(stops)
            now = time.perf_counter()
            seconds += now - begin
            rounds = self._rounds_until(done) - t0
            self._report(piece, now - begin, rounds, played=True)
            with self.lock:
                self.calls[piece.job].append((t0, t0 + rounds, (now - called) / (rounds * plan.width) * 1e9))
            begin = now
            if self.store and done < len(plan.stops) and now - last_save > _SAVE_EVERY:
                self._save(piece, Progress(done, rows, carry))
                last_save = begin = time.perf_counter()
        self._save(piece, Progress(done, rows, None))
        if not saved:
            with self.lock:
                self.ns_per_round[piece.job].append(seconds / (plan.horizon * plan.width) * 1e9)
        return rows

    def _compile(self, piece: Piece) -> None:
        """Compiles the program of a piece's job for every device that will run it."""
        plan = self.plan
        for device in self.devices[: self.workers]:
            algorithm, environment, _ = plan.trials_of(piece)
            try:
                program = get_program(plan.meters, algorithm, environment, plan.width, self.call_length, device)
            except InputError:
                raise
            except Exception as error:  # its trace is above the line that says where
                name, what = plan.jobs[piece.job].name, " ".join(str(error).split())[:300]
                where = f"{name} does not run on {type(environment).__name__}"
                raise InputError(f"{where}: {type(error).__name__}: {what}") from error
            self.programs[piece.job, device] = program
            self.compile_s[piece.job] += program.compile_s

    def _rounds_until(self, records: int) -> int:
        return int(self.plan.stops[records - 1]) if records else 0

    def _report(self, piece: Piece, seconds: float, rounds: int, played: bool) -> None:
        with self.lock:
            self.run_s[piece.job] += seconds
            self.rounds[piece.job] += rounds * piece.count * played
            self.bar.update(rounds * piece.count)

    def _save(self, piece: Piece, progress: Progress) -> None:
        if self.store:
            self.store.save(piece, progress._replace(carry=carry_to_host(progress.carry)))


def _append(rows: dict[str, np.ndarray], block: dict[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
    """Rows `[M, W]` with the first `count` rows of a block behind them."""
    return {name: np.concatenate([*([rows[name]] if rows else []), new[:count]]) for name, new in block.items()}
