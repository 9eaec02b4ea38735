"""What a second worker brings: `python -m benchmarks.speed.workers`, on two cores of an otherwise idle machine.

Every case of `benchmarks.speed` in a process of its own, with as many rounds as one worker plays in about two seconds.
One worker and two take turns, compile excluded; figures are the least wall clock of all turns. "processes" is what the
machine gives at best: two processes of one worker each, at once, against one of them alone.
"""

import argparse
import multiprocessing
import time
import warnings
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier

from benchmarks.speed.cases import CASES, Case, build, named

_TRIALS = 1024  # 16 pieces
_spawn = multiprocessing.get_context("spawn")


def _wall(case: Case, rounds: int, workers: int) -> float:
    from jaxbandits import simulate

    begin = time.perf_counter()
    simulate(*build(case), rounds, _TRIALS, workers=workers, progress=False, record=1)
    return time.perf_counter() - begin


def _play(index: int, seconds: float, repeat: int, workers: tuple[int, ...], together: Barrier, found: Queue) -> None:
    """In a process of its own: compiles, waits for the others, and reports the least seconds per count of workers."""
    warnings.simplefilter("ignore")  # so many seeds on two cores are the point here
    case = CASES[index]
    _wall(case, case.horizon, 2)
    rounds = case.horizon
    for _ in range(2):  # short runs are all start
        rounds = int(rounds * max(1.0, seconds / _wall(case, rounds, 1)))
    together.wait()
    turns = [[_wall(case, rounds, n) for n in workers] for _ in range(repeat)]
    found.put([min(column) for column in zip(*turns, strict=True)])


def _figures(case: Case, seconds: float, repeat: int, workers: tuple[int, ...], processes: int) -> list[list[float]]:
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
    parser.add_argument("--only", nargs="+", metavar="NAME", help="cases with one of these in their names")
    parser.add_argument("--seconds", type=float, default=2.0, help="what one worker plays for")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--processes", action="store_true", help="two processes at once beside it")
    arguments = parser.parse_args()
    how = arguments.seconds, arguments.repeat
    print(f"{'case':32} {'1 worker':>9} {'2 workers':>10} {'times':>6}" + " processes" * arguments.processes)
    for case in named(arguments.only):
        [[one, two]] = _figures(case, *how, (1, 2), 1)
        line = f"{case.name:32} {one:8.2f}s {two:9.2f}s {one / two:6.2f}"
        if arguments.processes:
            [[alone]], both = _figures(case, *how, (1,), 1), _figures(case, *how, (1,), 2)
            line += f" {sum(alone / seconds for [seconds] in both):9.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
