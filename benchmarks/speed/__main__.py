"""Print the speed table: every case in its own process, pinned to one core.

python -m benchmarks.speed                 all cases, float32 and float64
python -m benchmarks.speed --quick         float32 and 1024 trials only
python -m benchmarks.speed --only oons dog cases with one of these words in their names
python -m benchmarks.speed --json FILE     also write the raw figures to a file

`python -m benchmarks.speed.workers` measures the speed-up by a second worker.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from importlib import metadata

from benchmarks.speed.cases import CASES, TRIALS, named


def _measure(case: int, core: int, *flags: str) -> dict:
    """Run a case in a process whose affinity is set before anything is imported."""
    command = [sys.executable, "-m", "benchmarks.speed.measure", str(case), *flags]
    pin = (lambda: os.sched_setaffinity(0, {core})) if hasattr(os, "sched_setaffinity") else None
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=pin, env={**os.environ, **threads})
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed")
    parser.add_argument("--quick", action="store_true", help="only float32 and 1,024 trials")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only cases whose names contain one of these")
    parser.add_argument("--json", help="file for the measured numbers")
    arguments = parser.parse_args()
    cases = named(arguments.only)
    if not cases:
        parser.error(f"no such case; there are {', '.join(case.name for case in CASES)}")
    core = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    trials = (1024,) if arguments.quick else TRIALS
    dtypes = ("float32",) if arguments.quick else ("float32", "float64")
    what = f"Python {platform.python_version()}, jax {metadata.version('jax')}, numpy {metadata.version('numpy')}"
    print(f"{platform.machine()}, {what}; million rounds per CPU second, one pinned core, compile excluded\n")
    columns = [f"S={n}" for n in trials]
    width = max(len(case.name) for case in cases)
    print(
        f"{'case':{width}s} {'dtype':8s} {'compile':>8s} "
        + " ".join(f"{c:>8s}" for c in columns)
        + f" {'np loop':>8s} {'np S=256':>9s} {'np S=1024':>10s} {'x loop':>7s} {'x seeds':>8s}"
    )
    raw = {}
    for case in cases:
        i = CASES.index(case)
        for dtype in dtypes:
            flags = ["--trials", *map(str, trials), *(["--float64"] if dtype == "float64" else [])]
            one = _measure(i, core, *flags)
            speeds = [one["simulator"][str(n)]["cpu"] for n in trials]
            loop, over256, over1024 = (one["numpy"][str(s)]["cpu"] for s in (1, 256, 1024))
            best = speeds[trials.index(1024)]
            cells = [f"{case.name:{width}s} {dtype:8s} {one['compile_s']:7.1f}s", *(f"{s / 1e6:8.2f}" for s in speeds)]
            cells += [f"{loop / 1e6:8.3f}", f"{over256 / 1e6:9.2f}", f"{over1024 / 1e6:10.2f}"]
            cells += [f"{best / loop:6.0f}x", f"{best / max(over256, over1024):7.1f}x"]
            print(*cells, flush=True)
            raw[f"{case.name} {dtype}"] = one
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(raw, file, indent=1)


if __name__ == "__main__":
    main()
