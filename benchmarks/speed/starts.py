"""Time a new process up to its first result: `python -m benchmarks.speed.starts`, on an otherwise idle machine.

For every case of `benchmarks.speed` (100 rounds, 64 trials), the program prints wall times of whole processes,
including the start of the interpreter: for the first process, which compiles into an empty cache, and for later
processes, which read the programs from it. Python's cache of bytecode is used as the environment sets it
(`PYTHONDONTWRITEBYTECODE` makes each process up to 0.4 s slower). "import jax" is a process that only imports JAX and
makes one array. `--sweep` times `jaxbandits sweep FILE` instead, including the writing of results, for the files in
`benchmarks/speed/sweeps` or the named files.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.speed.cases import CASES, build, named

_ROUNDS, _TRIALS = 100, 64
_SWEEPS = Path(__file__).with_name("sweeps")
_JAX_ALONE = "import jax.numpy; jax.numpy.zeros(1).block_until_ready()"


def _seconds(command: list[str], environment: dict[str, str]) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, env=environment, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def _play(index: int) -> None:
    from jaxbandits import simulate

    result = simulate(*build(CASES[index]), _ROUNDS, _TRIALS, progress=False)
    assert len(result.trials) == 1


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.starts")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only cases whose names contain one of these")
    parser.add_argument(
        "--repeat", type=int, default=3, help="number of later processes; the time of the fastest is reported"
    )
    parser.add_argument(
        "--sweep", nargs="*", metavar="FILE", help="measure the command line on these sweep files instead"
    )
    parser.add_argument("--case", type=int, help=argparse.SUPPRESS)  # the process that is measured
    arguments = parser.parse_args()
    if arguments.case is not None:
        _play(arguments.case)
        return
    alone = min(_seconds(["-c", _JAX_ALONE], dict(os.environ)) for _ in range(arguments.repeat))
    print(f"{'case':32} {'first':>7} {'later':>7}   (import jax: {alone:.2f} s)")
    if arguments.sweep is not None:
        files = map(Path, arguments.sweep or sorted(_SWEEPS.glob("*.toml")))
        commands = {file.stem: ["-m", "jaxbandits", "sweep", str(file), "--quiet"] for file in files}
    else:
        commands = {
            case.name: ["-m", "benchmarks.speed.starts", "--case", str(CASES.index(case))]
            for case in named(arguments.only)
        }
    for name, command in commands.items():
        with tempfile.TemporaryDirectory() as cache:
            environment = {key: value for key, value in os.environ.items() if not key.startswith("JAX_")}
            environment["JAXBANDITS_CACHE"] = cache
            times = []
            for i in range(1 + arguments.repeat):
                out = [] if arguments.sweep is None else ["--out", f"{cache}/{i}"]
                times.append(_seconds([*command, *out], environment))
        print(f"{name:32} {times[0]:6.2f}s {min(times[1:]):6.2f}s", flush=True)


if __name__ == "__main__":
    main()
