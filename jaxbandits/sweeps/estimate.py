"""Expected cost of a sweep, after a short calibration of every program."""

import dataclasses
import math
from typing import Any, NamedTuple

from jaxbandits.simulation import driver
from jaxbandits.simulation.plan import Job, Plan, resolve_record_points
from jaxbandits.sweeps import status
from jaxbandits.sweeps.sweep import Planned, carry_bytes, result_bytes

_SECONDS = 0.2  # that a calibration should take
_ROUNDS = 64  # that the first try plays


class Estimate(NamedTuple):
    """The size of a sweep and what it is expected to cost."""

    trials: int
    rounds: int
    parts: int
    programs: int
    part_bytes: int  # of the largest part's values
    memory_bytes: int  # of results and running trials, on top of JAX itself
    file_bytes: int  # of all results, before compression
    compile_s: float
    run_s: float  # by all workers together

    def text(self) -> str:
        """In a few lines."""
        return "\n".join([
            f"{self.trials:,} trials, {self.rounds:,} rounds",
            f"{self.programs:,} programs, {self.parts:,} parts of up to {_size(self.part_bytes)}; "
            f"results {_size(self.file_bytes)} before compression",
            f"memory about {_size(self.memory_bytes)} beside JAX",
            f"expected time {status.duration(self.compile_s + self.run_s)}: "
            f"{status.duration(self.compile_s)} to compile (measured), {status.duration(self.run_s)} to run "
            "(as in a short calibration; learners whose rounds grow dearer take longer)",
        ])  # fmt: skip


def estimate(planned: Planned, workers: int | None = None) -> Estimate:
    """Compiles every program and plays some of its rounds.

    Args:
      planned: the sweep.
      workers: threads; one per core or device by default.

    Raises:
      InputError: when an algorithm does not run on its environment.
    """
    workers = workers or driver.default_workers(planned.devices)
    compile_s = lane_s = 0.0
    for job in planned.jobs:
        compiled, ns = _calibrated(job, planned)
        compile_s += compiled
        trials = math.ceil(job.n_trials / job.width) * job.width
        lane_s += trials * job.horizon * ns * 1e-9
    of_part = [part.job.n_trials * result_bytes(part.job) for part in planned.parts]
    running = max(job.width * carry_bytes(job) for job in planned.jobs)
    return Estimate(
        trials=sum(job.n_trials for job in planned.jobs),
        rounds=sum(part.rounds for part in planned.parts),
        parts=len(planned.parts),
        programs=len(planned.jobs),
        part_bytes=max(of_part),
        memory_bytes=4 * max(of_part) + 2 * workers * running,  # rows, values and the file that is made of them
        file_bytes=sum(of_part),
        compile_s=compile_s,
        run_s=lane_s / workers,
    )


def _calibrated(job: Job, planned: Planned) -> tuple[float, float]:
    """Seconds of compilation, and nanoseconds per round and lane of one worker."""
    least = min(len(job.record_points), job.horizon)  # as many record points, for the same program
    rounds, compile_s = min(job.horizon, max(_ROUNDS, least)), 0.0
    while True:
        short: dict[str, Any] = {"points": job.points[:1], "n_seeds": min(job.n_seeds, job.width)}
        small = dataclasses.replace(job, horizon=rounds, record_points=resolve_record_points(least, rounds), **short)
        plan = Plan((small,), planned.sweep.seed)
        (timing,) = driver.run(plan, devices=planned.devices[:1], workers=1, progress=False).timing
        compile_s += timing.compile_s
        if timing.run_s >= _SECONDS or rounds == job.horizon:
            return compile_s, timing.ns_per_round[0]
        rounds = min(job.horizon, 8 * rounds)


def _size(n_bytes: float) -> str:
    for unit in ("B", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.3g} GB"
