"""Measure the cost of a sweep in shards and the speed-up by a second worker: `python -m benchmarks.speed.shards`.

Every run is `jaxbandits sweep` in its own process. CPU seconds count all its threads and its start: importing JAX,
tracing, and compiling or reading the compilation cache. The cost of a start is measured by the same sweep with a few
rounds, and subtracted for the second figure. "Cold" means that the cache of every process is empty. The kinds of runs
alternate, and figures are medians. Wall times are reliable only on an otherwise idle machine, CPU times nearly always.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_FILE = """
horizon = {rounds}
seeds = 1024
record_points = 10
part_trials = 256
precision = "float32"

[algorithms.hvt]
type = "linear/hvt_ucb"
dim = 2
horizon = 1_000_000

[environments.student]
type = "linear/heavy_tailed"
dim = 2
n_arms = 50
noise = {{ type = "noise/student_t", df = 2.1 }}
"""
_FEW = 10  # rounds of a sweep that is all start


def _sweep(room: Path, name: str, rounds: int, workers: int, shards: int, cold: bool) -> tuple[float, float]:
    """Return the CPU seconds of all shards, which run one after the other, and the wall seconds."""
    cpu, begin = 0.0, time.perf_counter()
    file = room / f"{rounds}.toml"
    file.write_text(_FILE.format(rounds=rounds))
    for i in range(1, shards + 1):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
        environment["JAXBANDITS_CACHE"] = str(room / (f"cache-{name}-{i}" if cold else "cache"))
        command = [sys.executable, "-m", "jaxbandits", "sweep", str(file), "--quiet", "--out", str(room / name)]
        command += ["--workers", str(workers), "--shard", f"{i}/{shards}"]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{' '.join(command)} failed")
        cpu += used.ru_utime + used.ru_stime
    return cpu, time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.shards")
    parser.add_argument(
        "--rounds",
        type=int,
        default=1_000_000,
        help="rounds per trial, for 1,024 trials of Hvt-UCB (default: 1,000,000)",
    )
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    long, n = arguments.rounds, arguments.shards
    kinds = {  # rounds, workers, shards, cold
        "start": (_FEW, 1, 1, False),
        "whole": (long, 1, 1, False),
        f"{n} shards": (long, 1, n, False),
        "2 workers": (long, 2, 1, False),
        "start, cold": (_FEW, 1, 1, True),
        "whole, cold": (long, 1, 1, True),
        f"{n} shards, cold": (long, 1, n, True),
    }
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        _sweep(room, "first", _FEW, 1, 1, False)  # fills the cache
        for turn in range(arguments.repeat):
            for kind, how in kinds.items():
                found[kind].append(_sweep(room, f"{kind.replace(' ', '-')}-{turn}", *how))
    cpu = {kind: statistics.median(run[0] for run in runs) for kind, runs in found.items()}
    wall = {kind: statistics.median(run[1] for run in runs) for kind, runs in found.items()}
    for kind in kinds:
        print(f"{kind:16} {cpu[kind]:8.1f} s CPU {wall[kind]:8.1f} s")
    for tail in ("", ", cold"):
        start, whole, cut = (cpu[kind + tail] for kind in ("start", "whole", f"{n} shards"))
        print(
            f"{n} shards{tail}: {cut / whole - 1.0:+.1%} CPU, {(cut - n * start) / (whole - start) - 1.0:+.1%} "
            "without starts"
        )
    one, two, start = wall["whole"], wall["2 workers"], wall["start"]
    print(
        f"2 workers: {one / two:.2f} times as fast as one, {(one - start) / (two - start):.2f} without the start, "
        f"{cpu['2 workers'] / cpu['whole'] - 1.0:+.1%} CPU"
    )


if __name__ == "__main__":
    main()
