"""Measure the speed-up by a second worker: `python -m benchmarks.speed.workers`, on two cores of an idle machine.

Every case of `benchmarks.speed` runs in its own process, with as many rounds as one worker plays in about two seconds.
Runs with one worker and with two alternate, compilation is excluded, and the runs with the least wall time count.
"times", the speed of two workers relative to one, is 2 busy / dearer. "busy" is the share of both cores that two
workers use, which depends on the software. "dearer" is the ratio of the CPU seconds on two cores to those on one, which
depends on the machine, since its cores share caches and clock. "processes" is the limit of the machine: the speed of
two simultaneous processes with one worker each, relative to one process alone.
"""

import argparse
import multiprocessing
import time
import warnings
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from typing import NamedTuple

from benchmarks.speed.cases import CASES, Case, build, named

_TRIALS = 1024  # 16 batches
_spawn = multiprocessing.get_context("spawn")


class _Cost(NamedTuple):
    """Seconds of a run."""

    wall: float
    cpu: float


def _cost(case: Case, rounds: int, workers: int) -> _Cost:
    from jaxbandits import simulate

    wall, cpu = time.perf_counter(), time.process_time()
    simulate(*build(case), rounds, _TRIALS, workers=workers, progress=False, record_points=1)
    return _Cost(time.perf_counter() - wall, time.process_time() - cpu)


def _play(index: int, seconds: float, repeat: int, workers: tuple[int, ...], together: Barrier, found: Queue) -> None:
    """Compile in a separate process, wait for the other processes, and report the least cost for each worker count."""
    warnings.simplefilter("ignore")  # the warning is about many seeds on two cores, which are intended here
    case = CASES[index]
    _cost(case, case.horizon, 2)
    rounds = case.horizon
    for _ in range(2):  # short runs are all start
        rounds = int(rounds * max(1.0, seconds / _cost(case, rounds, 1).wall))
    together.wait()
    turns = [[_cost(case, rounds, n) for n in workers] for _ in range(repeat)]
    found.put([min(column) for column in zip(*turns, strict=True)])


def _figures(case: Case, seconds: float, repeat: int, workers: tuple[int, ...], processes: int) -> list[list[_Cost]]:
    together, found = _spawn.Barrier(processes), _spawn.Queue()
    arguments = (CASES.index(case), seconds, repeat, workers, together, found)
    started = [_spawn.Process(target=_play, args=arguments) for _ in range(processes)]
    for process in started:
        process.start()
    figures = [found.get() for _ in started]
    for process in started:
        process.join()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.workers")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only cases whose names contain one of these")
    parser.add_argument("--seconds", type=float, default=2.0, help="duration of a run with one worker, in seconds")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--processes", action="store_true", help="also measure two processes at the same time")
    arguments = parser.parse_args()
    how = arguments.seconds, arguments.repeat
    heads = f"{'1 worker':>9} {'2 workers':>10} {'times':>6} {'busy':>6} {'dearer':>7}"
    print(f"{'case':32} {heads}" + " processes" * arguments.processes)
    for case in named(arguments.only):
        [[one, two]] = _figures(case, *how, (1, 2), 1)
        busy, dearer = two.cpu / (2 * two.wall), two.cpu / one.cpu
        line = f"{case.name:32} {one.wall:8.2f}s {two.wall:9.2f}s {one.wall / two.wall:6.2f} {busy:6.2f} {dearer:7.2f}"
        if arguments.processes:
            [[alone]], both = _figures(case, *how, (1,), 1), _figures(case, *how, (1,), 2)
            line += f" {sum(alone.wall / cost.wall for [cost] in both):9.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
