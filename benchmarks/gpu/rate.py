"""Measure rounds per second of a compiled program from calls of two lengths, without the fixed cost of a call."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandits.engine.driver import compile_job
from jaxbandits.engine.plan import Job
from jaxbandits.engine.program import Program
from jaxbandits.engine.trial_keys import base_key

_HORIZON = 2**30
_FIRST_ROUNDS, _MOST_ROUNDS = 256, 2**17


class Rate(NamedTuple):
    """Measured speed of the rounds of a program."""

    rounds_per_second: float  # summed over all trials
    seconds_per_round: float  # seconds of one round of all trials
    seconds_per_call: float  # fixed cost of a call, which does not depend on its rounds
    rounds: int  # number of rounds of the longer call
    is_sound: bool  # True if the longer call, which has four times the rounds, took at least twice as long


def compile_pair(pair: Any, width: int, device: Any) -> Program:
    """Compile the rounds of a pair of algorithm and environment, for batches of `width` trials."""
    return compile_job(_job(pair, width), device)


def megabytes(program: Program) -> float:
    """Return the memory of a call: arguments, results and temporary arrays."""
    compiled: Any = getattr(program, "play_rounds", None) or getattr(program, "play_block", None)
    sizes = compiled.memory_analysis()
    return (sizes.argument_size_in_bytes + sizes.output_size_in_bytes + sizes.temp_size_in_bytes) / 1e6


def measure(program: Program, pair: Any, width: int, seconds: float, batches: int = 1) -> Rate:
    """Measure a compiled program.

    Args:
      program: program, as returned by `compile_pair`.
      pair: algorithm and environment of the program.
      width: number of trials in a batch of the program.
      seconds: least duration of the longer call.
      batches: number of batches of `width` trials, each in its own thread; on a CPU one for each core.
    """
    job, device = _job(pair, width * batches, width), program.device
    starts = []
    for i in range(batches):
        algorithm, environment, seeds = job.batch(i * width, width)
        arguments = jax.device_put((algorithm, environment), device)
        starts.append((*arguments, program.start(*arguments, base_key(0), seeds)))
    jax.block_until_ready(starts)

    with ThreadPoolExecutor(batches) as pool:

        def play(rounds: int) -> None:
            def play_batch(start: Any) -> None:
                jax.block_until_ready(program.play(*start, 0, rounds, np.array([rounds]))[0])

            for _ in pool.map(play_batch, starts):
                pass

        def seconds_of(rounds: int, n: int) -> float:
            return best_of(lambda: play(rounds), n)

        play(64)
        rounds = _FIRST_ROUNDS
        while rounds < _MOST_ROUNDS and seconds_of(rounds, 1) < seconds:
            rounds *= 4
        long, short = seconds_of(rounds, 3), seconds_of(rounds // 4, 3)
    seconds_per_round = max(long - short, 1e-9) / (0.75 * rounds)
    return Rate(
        rounds_per_second=width * batches / seconds_per_round,
        seconds_per_round=seconds_per_round,
        seconds_per_call=(4 * short - long) / 3,
        rounds=rounds,
        is_sound=long > 2 * short,
    )


def best_of(run: Callable[[], object], n: int) -> float:
    """Return the seconds of the fastest of n runs."""

    def run_once() -> float:
        begin = time.perf_counter()
        run()
        return time.perf_counter() - begin

    return min(run_once() for _ in range(n))


def _job(pair: Any, n_trials: int, width: int | None = None) -> Job:
    return Job(
        label="job",
        algorithm=pair[0],
        environment=pair[1],
        points=({},),
        horizon=_HORIZON,
        record_points=np.array([_HORIZON]),
        n_seeds=n_trials,
        first_seed=0,
        meters=(),
        width=n_trials if width is None else width,
    )
