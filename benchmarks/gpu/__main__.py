"""Count operations of the programs for GPUs, compiled without a GPU: `make gpu-check`, `python -m benchmarks.gpu`.

Every registered learner on its example and every benchmark case is compiled. The table shows the nodes of a round in a
CUDA graph, launches, bytes, instructions and registers. `--check` compares nodes and launches with `counts.json`, and
the exit status is 1 if a program needs more of them, if the host reads a predicate, if no kernel computes the predicate
of a loop, if a float32 program computes in float64, or if the program that tests a user's GPU lacks a loop or a branch.
`--write` writes `counts.json`; a version of JAX with different counts has a file `counts-VERSION.json`.

    python -m benchmarks.gpu "oful d=10" hvt_ucb --gpus t4 h100 --widths 1024 262144
"""

import argparse
import dataclasses
import json
import sys
import warnings
from pathlib import Path
from typing import Any

from benchmarks.gpu import compiling
from benchmarks.gpu.devices import GPUS
from benchmarks.gpu.estimate import counts_path
from benchmarks.gpu.programs import builders

_TITLES = (
    f"{'program':36s}{'GPU':6s}{'W':>8s}{'nodes':>14s}{'a step':>24s}{'launches':>9s}{'host':>5s}{'kB':>14s}"
    f"{'needed':>8s}{'instr.':>9s}{'regs':>5s}{'spilt':>6s}{'f64':>4s}{'temp kB':>8s}{'s':>6s}  libraries"
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu")
    parser.add_argument(
        "only", nargs="*", metavar="NAME", help="only programs whose names contain one of these (default: all)"
    )
    parser.add_argument("--gpus", nargs="+", default=["h100"], choices=GPUS)
    parser.add_argument("--widths", nargs="+", type=int, default=[8192])
    parser.add_argument("--dim", type=int, help="dimension of the examples that have one (default: their own)")
    parser.add_argument("--float64", action="store_true")
    parser.add_argument("--known", action="store_true", help="only programs that are in counts.json")
    parser.add_argument("--check", action="store_true", help="compare the counts with counts.json")
    parser.add_argument("--write", action="store_true", help="write the counts to counts.json")
    arguments = parser.parse_args()
    compiling.prepare()
    warnings.simplefilter("ignore")
    import jax

    jax.config.update("jax_enable_x64", arguments.float64)
    path = counts_path(jax.__version__)
    known: dict[str, Any] = json.loads(path.read_text())
    worse = []
    if arguments.check:
        missing = {"kWhile", "kConditional"} - compiling.kinds_in_test()
        worse += [f"the program of the test (gpu_graphs.sum_of_steps) has no {kind} in its graph" for kind in missing]
    print(
        f"jax {jax.__version__}, float{64 if arguments.float64 else 32}; every loop runs one step; "
        "nodes: of most rounds, of the longest",
        _TITLES,
        sep="\n",
    )
    for name, pair in _pairs(arguments.only, arguments.dim).items():
        for gpu in arguments.gpus:
            for width in arguments.widths:
                key = f"{name}, {gpu}, {width}" + (", float64" if arguments.float64 else "")
                if arguments.known and key not in known:
                    continue
                counts = compiling.count(pair, gpu, width)
                print(_row(name, gpu, width, counts), flush=True)
                worse += _findings(key, counts, known.get(key), arguments.float64)
                if arguments.write:
                    known[key] = {
                        "nodes": counts.nodes,
                        "loops": len(counts.steps),
                        "launches": counts.launches,
                        "kB": counts.kilobytes[1],
                        "instructions": counts.instructions,
                    }
                    _write(path, known)
    print("\n".join(worse))
    return int(arguments.check and bool(worse))


def _pairs(only: list[str], dim: int | None) -> dict[str, Any]:
    """Return pairs of algorithm and environment by name; with `dim`, only examples with a dimension, set to `dim`."""
    from jaxbandits.algorithms import ALGORITHMS

    pairs: dict[str, Any] = {name: build() for name, build in builders().items()}
    if dim is not None:
        pairs = {
            f"{name} d={dim}": tuple(dataclasses.replace(x, dim=dim) for x in pairs[name])
            for name in ALGORITHMS
            if all("dim" in (field.name for field in dataclasses.fields(x)) for x in pairs[name])
        }
    return {name: pair for name, pair in pairs.items() if not only or any(part in name for part in only)}


def _write(path: Path, counts: dict[str, Any]) -> None:
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(counts.items()))
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _row(name: str, gpu: str, width: int, x: compiling.Counts) -> str:
    steps = " ".join(map(str, x.steps)) or "-"
    nodes = " ".join(str(n) for n in dict.fromkeys((x.usual_nodes, x.nodes)))
    kilobytes = " ".join(f"{n:.2f}" for n in dict.fromkeys(x.kilobytes))
    return (
        f"{name:36s}{gpu:6s}{width:8d}{nodes:>14s} {steps:>23s}{x.launches:9d}{x.host_predicates:5d} {kilobytes:>13s}"
        f"{x.needed:8.2f}{x.instructions:9.0f}{x.registers:5d}{x.spilled:6d}{x.float64:4d}{x.temporary:8.2f}{x.seconds:6.1f}"
        f"  {' '.join(x.libraries) or '-'}"
    )


def _findings(key: str, counts: compiling.Counts, known: dict[str, Any] | None, float64: bool) -> list[str]:
    """Return a line for every property of a program that is worse than allowed."""
    found = []
    if counts.host_predicates and not counts.libraries:
        found.append(f"{key}: the host reads the predicates of {counts.host_predicates} loops or branches")
    if counts.float64 and not float64:
        found.append(f"{key}: {counts.float64} instructions in float64")
    if counts.uncomputed_predicates:
        found.append(f"{key}: no kernel computes the predicate of {counts.uncomputed_predicates} loops (tracing.loops)")
    if known and (counts.nodes > known["nodes"] or counts.launches > known["launches"]):
        found.append(
            f"{key}: {counts.nodes} nodes and {counts.launches} launches; "
            f"counts.json has {known['nodes']} and {known['launches']}"
        )
    return found


if __name__ == "__main__":
    sys.exit(main())
