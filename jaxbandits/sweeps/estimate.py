"""Expected cost of a sweep, extrapolated from a short calibration of every program."""

import dataclasses
import math
from typing import NamedTuple

from jaxbandits.base.memory import format_bytes
from jaxbandits.base.text import count_of
from jaxbandits.engine import driver
from jaxbandits.engine.plan import Job, Plan, resolve_record_points
from jaxbandits.engine.progress import Display
from jaxbandits.sweeps.status import format_seconds
from jaxbandits.sweeps.sweep import SweepPlan, carry_bytes, result_bytes

_SECONDS = 0.2  # shortest duration of a calibration that is long enough to be extrapolated
_ROUNDS = 64  # number of rounds of the first calibration run


class SweepCost(NamedTuple):
    """Size of a sweep and its expected cost."""

    trials: int
    rounds: int
    parts: int
    programs: int
    part_bytes: int  # bytes of the values of the largest part
    memory_bytes: int  # bytes of results and running trials, without JAX
    file_bytes: int  # bytes of all results before compression
    compile_s: float
    run_s: float  # expected wall time in seconds, with all workers

    def format(self) -> str:
        """Format the cost in a few lines."""
        lines = [
            f"{count_of(self.trials, 'trial')}, {count_of(self.rounds, 'round')}",
            f"{count_of(self.programs, 'program')}, {count_of(self.parts, 'part')} of up to "
            f"{format_bytes(self.part_bytes)}; results of {format_bytes(self.file_bytes)} before compression",
            f"memory: about {format_bytes(self.memory_bytes)} in addition to that of JAX",
            f"expected time: {format_seconds(self.compile_s + self.run_s)}, of which "
            f"{format_seconds(self.compile_s)} to compile (measured) and {format_seconds(self.run_s)} to run "
            "(extrapolated from a short run; learners whose rounds become slower with t take longer)",
        ]
        return "\n".join(lines)


def estimate_cost(plan: SweepPlan, workers: int | None = None) -> SweepCost:
    """Estimate the cost of a sweep: compile every program, play some of its rounds, and extrapolate.

    Args:
      plan: the sweep.
      workers: number of threads; by default one per core or device.

    Raises:
      InputError: if an algorithm does not run on its environment.
    """
    workers = driver.default_workers(plan.devices) if workers is None else workers
    compile_s = run_s = 0.0
    for job in plan.jobs:
        job_compile_s, ns_per_round = _calibrate(job, plan)
        compile_s += job_compile_s
        slots = math.ceil(job.n_trials / job.width) * job.width  # trials with padding
        run_s += slots * job.horizon * ns_per_round * 1e-9
    part_bytes = [part.job.n_trials * result_bytes(part.job) for part in plan.parts]
    batch_bytes = max(job.width * carry_bytes(job) for job in plan.jobs)
    return SweepCost(
        trials=sum(job.n_trials for job in plan.jobs),
        rounds=sum(part.rounds for part in plan.parts),
        parts=len(plan.parts),
        programs=len(plan.jobs),
        part_bytes=max(part_bytes),
        # values of batches, their concatenation, and the file
        memory_bytes=4 * max(part_bytes) + 2 * workers * batch_bytes,
        file_bytes=sum(part_bytes),
        compile_s=compile_s,
        run_s=run_s / workers,
    )


def _calibrate(job: Job, plan: SweepPlan) -> tuple[float, float]:
    """Return seconds of compilation, and nanoseconds per round and slot of one worker."""
    n_points = min(len(job.record_points), job.horizon)  # the same number of record points, hence the same program
    rounds, compile_s = min(job.horizon, max(_ROUNDS, n_points)), 0.0
    while True:
        short = dataclasses.replace(
            job,
            horizon=rounds,
            record_points=resolve_record_points(n_points, rounds),
            points=job.points[:1],
            n_seeds=min(job.n_seeds, job.width),
        )
        run = Plan((short,), plan.sweep.seed)
        (timing,) = driver.run(run, devices=plan.devices[:1], workers=1, display=Display(enabled=False)).timing
        compile_s += timing.compile_s
        if timing.run_s >= _SECONDS or rounds == job.horizon:
            return compile_s, timing.ns_per_round[0]
        rounds = min(job.horizon, 8 * rounds)
