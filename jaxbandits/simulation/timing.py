"""Time per round, from the first round to the last, of programs called directly."""

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandits.base import ranges
from jaxbandits.simulation import driver
from jaxbandits.simulation.api import jobs_of
from jaxbandits.simulation.options import COUNT, Options
from jaxbandits.simulation.plan import Job, resolve_record_points
from jaxbandits.simulation.program import Program, base_key, get_trial
from jaxbandits.simulation.progress import Progress
from jaxbandits.simulation.width import bytes_of

_LEAST_REPEATS = 3  # of a learner that uses up its time


class RoundTimes(NamedTuple):
    """Measured time per round against the number of rounds already played."""

    width: int  # trials side by side
    stretch_ends: np.ndarray  # [n] rounds finished at the end of each measured stretch; the first begins at 0
    ns: dict[str, np.ndarray]  # per label [its repeats, n], nanoseconds per round and trial; noise may pass zero
    state_bytes: dict[str, int]  # per label, what the algorithm carries from round to round, of one trial

    def at(self, label: str, t: float) -> np.ndarray:
        """`[repeats]` nanoseconds per round and trial around round `t`, interpolated between stretches."""
        middles = self.stretch_ends - np.diff(self.stretch_ends, prepend=0) / 2.0
        return np.asarray([np.interp(t, middles, row) for row in self.ns[label]])


def time_rounds(
    algorithms: Mapping[str, Any] | Sequence[Any],
    environment: Any,
    horizon: int,
    *,
    width: int = 1,
    repeats: int = 30,
    patience: float = 5.0,
    stretches: int = 10,
    progress: bool = True,
    title: str = "",
) -> RoundTimes:
    """Times rounds from first to last on one thread, without compilation and without the cost of calling a program.

    Every stretch is two calls of a compiled program: all of its rounds but one, then that one. The second is nearly all
    cost of the call; its median over a trial is taken off the first, which leaves noise where a stretch takes less than
    a call (half a millisecond). Learners take turns, repeat by repeat: what slows the machine down for a while slows
    all of them down.

    Args:
      algorithms: as for `compare`.
      environment: as for `compare`; its rounds are part of what is timed.
      horizon: rounds per trial.
      width: trials side by side in one program, 1 for a single trial.
      repeats: independent pieces of `width` trials.
      patience: seconds after which a learner takes no further turn, once it had three.
      stretches: equal parts of the horizon that are timed each by its own.
      progress: a bar on standard error.
      title: what it says in front of the label that takes its turn.

    Raises:
      InputError: bad input, in one line.
    """
    horizon = ranges.integer("horizon", horizon, COUNT)
    repeats, patience = ranges.integer("repeats", repeats, COUNT), ranges.real("patience", patience, "(0, inf]")
    stretches = min(ranges.integer("stretches", stretches, COUNT), max(1, horizon // 2))
    width = ranges.integer("width", width, COUNT)
    settings = Options(width=width, progress=progress, title=title)
    device = jax.local_devices()[0]
    jobs = [job for run in jobs_of(algorithms, environment, horizon, width, 1, settings, device) for _, job in run.jobs]
    stretch_ends = resolve_record_points(stretches, horizon)
    calls = np.setdiff1d(np.union1d(stretch_ends - 1, stretch_ends), [0])
    ns: dict[str, list[np.ndarray]] = {job.label: [] for job in jobs}
    spent = dict.fromkeys(ns, 0.0)
    programs = []
    with Progress(repeats, "repeats", title, progress) as bar:
        for job in jobs:
            bar.name(f"compiling {job.label}")
            programs.append(driver.program_of(job, device))
            # A program's first calls are slower than all later ones.
            _times(job, programs[-1], np.arange(1, min(3, horizon) + 1), 0)
        bar.stage(f"timing {width} trial{'s side by side' * (width > 1)} of {', '.join(ns)}")
        for repeat in range(repeats):
            for job, program in zip(jobs, programs, strict=True):
                bar.name(f"timing {job.label}")
                if repeat < _LEAST_REPEATS or spent[job.label] < patience:
                    seconds = _times(job, program, calls, repeat * width)
                    spent[job.label] += float(seconds.sum())
                    rounds = np.diff(calls, prepend=0)
                    ns[job.label].append(_net(seconds / (rounds * width) * 1e9, rounds))
            bar.update(1)
    arrays = {name: np.stack(rows) for name, rows in ns.items()}
    state_bytes = {job.label: bytes_of(get_trial(job.meters, *job.trial()).carry.alg) for job in jobs}
    return RoundTimes(width, stretch_ends, arrays, state_bytes)


def _times(job: Job, program: Program, calls: np.ndarray, first_seed: int) -> np.ndarray:
    """`[n]` seconds of n calls, each up to one of `calls`, by fresh trials."""
    job = dataclasses.replace(job, first_seed=first_seed)
    algorithm, environment, seed_index = jax.device_put(job.piece(0, job.width), program.device)
    key = base_key(0, program.device)
    carry = jax.block_until_ready(program.start(algorithm, environment, key, seed_index))
    seconds, t, rows = [], 0, {}
    for end in calls.tolist():
        begin = time.perf_counter()
        while t < end:
            carry, t = driver.advance(program, job, algorithm, environment, carry, t, end - t, rows)
        seconds.append(time.perf_counter() - begin)
    return np.asarray(seconds)


def _net(ns: np.ndarray, rounds: np.ndarray) -> np.ndarray:
    """`[n]` nanoseconds per round of n stretches, from those of `[2 n]` calls: all rounds but one, then that one."""
    if len(ns) == 1:  # a horizon of one round: nothing to tell the call from the round
        return ns
    long, rounds, cost = ns[::2], rounds[::2], np.median(ns[1::2])
    return np.where(rounds > 1, (long * rounds - cost) / np.maximum(rounds - 1, 1), long)
