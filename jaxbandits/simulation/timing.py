"""Measure the time per round, from the first round to the last, by direct calls of compiled programs."""

import dataclasses
import time
from typing import NamedTuple

import jax
import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.base.text import count_of
from jaxbandits.engine.driver import compile_job, play_call, trace_job
from jaxbandits.engine.jobs import Algorithms, PerLabel, make_jobs
from jaxbandits.engine.options import COUNT, Options
from jaxbandits.engine.plan import Job, resolve_record_points
from jaxbandits.engine.program import Program
from jaxbandits.engine.progress import ProgressBar
from jaxbandits.engine.trial_keys import base_key
from jaxbandits.engine.width import bytes_of
from jaxbandits.tracing.settings import own_settings
from jaxbandits.types import Environment

_MIN_REPEATS = 3  # smallest number of repeats, even for a learner that has exceeded `patience`


class RoundTimes(NamedTuple):
    """Measured time per round as a function of the number of rounds already played."""

    width: int  # number of trials in a batch
    stretch_ends: np.ndarray  # [n] number of rounds at the end of each measured stretch; the first stretch begins at 0
    ns: dict[str, np.ndarray]  # per label [repeats, n], nanoseconds per round and trial; negative values are noise
    state_bytes: dict[str, int]  # per label, bytes of the algorithm's state in one trial

    def at(self, label: str, t: float) -> np.ndarray:
        """Return `[repeats]` nanoseconds per round and trial at round `t`, interpolated between stretches."""
        middles = self.stretch_ends - np.diff(self.stretch_ends, prepend=0) / 2.0
        return np.asarray([np.interp(t, middles, row) for row in self.ns[label]])


@own_settings()
def time_rounds(  # noqa: PLR0913
    algorithms: Algorithms,
    environment: PerLabel[Environment],
    horizon: int,
    *,
    width: int = 1,
    repeats: int = 30,
    patience: float = 5.0,
    stretches: int = 10,
    progress: bool = True,
    title: str = "",
) -> RoundTimes:
    """Measure the time per round, from the first round to the last, without compilation and call overhead.

    One thread plays the rounds. The horizon is divided into stretches, and each stretch takes two calls of a compiled
    program: one for all rounds but the last, and one for the last round. The second call is nearly all overhead; the
    median of the second calls of a repeat is subtracted from each first call. Stretches that take less time than the
    overhead of a call (half a millisecond) are therefore noisy. Learners alternate, so that a temporary slowdown of the
    machine affects all of them.

    Args:
      algorithms: as for `compare`, but a `Grid` must have a single point.
      environment: as for `compare`; the measured times include it.
      horizon: rounds per trial.
      width: trials in a batch, 1 for a single trial.
      repeats: number of independent batches.
      patience: seconds of measured time after which a learner is not timed again, if it has at least three repeats.
      stretches: number of stretches, which have equal numbers of rounds.
      progress: show a progress bar on standard error.
      title: text that the progress bar shows before the current label.

    Returns:
      The measured times per label, and the sizes of the states.

    Raises:
      InputError: if an argument is invalid.
    """
    horizon = ranges.integer("horizon", horizon, COUNT)
    repeats, patience = ranges.integer("repeats", repeats, COUNT), ranges.real("patience", patience, "(0, inf]")
    stretches = min(ranges.integer("stretches", stretches, COUNT), max(1, horizon // 2))
    width = ranges.integer("width", width, COUNT)
    options = Options(width=width, progress=progress, title=title)
    device = jax.local_devices()[0]
    label_jobs = make_jobs(algorithms, environment, horizon, width, 1, options, device)
    for label, whole, _ in label_jobs:
        if len(whole.points) > 1:
            raise InputError(f"time_rounds needs single algorithms, {label} is a Grid of {len(whole.points)} points")
    jobs = [job for label in label_jobs for _, job in label.jobs]
    stretch_ends = resolve_record_points(stretches, horizon)
    calls = np.setdiff1d(np.union1d(stretch_ends - 1, stretch_ends), [0])
    ns: dict[str, list[np.ndarray]] = {job.label: [] for job in jobs}
    spent = dict.fromkeys(ns, 0.0)
    programs = []
    with ProgressBar(repeats, "repeats", title, progress) as bar:
        for job in jobs:
            bar.describe(f"compiling {job.label}")
            programs.append(compile_job(job, device))
            # The first calls of a program are slower than all later calls.
            _time_calls(job, programs[-1], np.arange(1, min(3, horizon) + 1), 0)
        bar.begin_stage(f"timing {count_of(width, 'trial')} of {', '.join(ns)}{' side by side' * (width > 1)}")
        for repeat in range(repeats):
            for job, program in zip(jobs, programs, strict=True):
                bar.describe(f"timing {job.label}")
                if repeat < _MIN_REPEATS or spent[job.label] < patience:
                    seconds = _time_calls(job, program, calls, repeat * width)
                    spent[job.label] += float(seconds.sum())
                    rounds = np.diff(calls, prepend=0)
                    ns[job.label].append(_without_overhead(seconds / (rounds * width) * 1e9, rounds))
            bar.update(1)
    arrays = {name: np.stack(rows) for name, rows in ns.items()}
    state_bytes = {job.label: bytes_of(trace_job(job).carry.alg_state) for job in jobs}
    return RoundTimes(width, stretch_ends, arrays, state_bytes)


def _time_calls(job: Job, program: Program, ends: np.ndarray, first_seed: int) -> np.ndarray:
    """Start a batch, play it in calls up to the rounds `ends` `[n]`, and return their `[n]` seconds."""
    job = dataclasses.replace(job, first_seed=first_seed)
    algorithm, environment, seed_index = jax.device_put(job.batch(0, job.width), program.device)
    key = base_key(0)
    carry = jax.block_until_ready(program.start(algorithm, environment, key, seed_index))
    seconds, t, block_values = [], 0, {}
    for end in ends.tolist():
        begin = time.perf_counter()
        while t < end:
            carry, t = play_call(program, job, algorithm, environment, carry, t, end - t, block_values)
        seconds.append(time.perf_counter() - begin)
    return np.asarray(seconds)


def _without_overhead(ns: np.ndarray, rounds: np.ndarray) -> np.ndarray:
    """Return nanoseconds per round `[n]` of the stretches, without the overhead of a call.

    Args:
      ns: `[2 n]` nanoseconds per round of the calls: for each stretch all rounds but the last, then the last round.
      rounds: `[2 n]` number of rounds of each call.
    """
    if len(ns) == 1:  # a horizon of one round: call and round cannot be separated
        return ns
    long, rounds, overhead = ns[::2], rounds[::2], np.median(ns[1::2])
    return np.where(rounds > 1, (long * rounds - overhead) / np.maximum(rounds - 1, 1), long)
