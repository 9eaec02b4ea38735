"""Rounds per second on the default device against the width of a batch: `python -m benchmarks.speed.accelerator`.

One batch per width on one device; wall clock, compilation excluded, best of three. `loops` says which form the programs
have: `graph`, loops inside CUDA graphs, or `blocks`, rounds in blocks of fixed length (`JAXBANDITS_GPU_LOOPS` selects
one). At the end measured rates are compared with the estimates that follow from `benchmarks/gpu/counts.json`.

Without an accelerator `--forced` compiles as for one: a check that everything runs, not a measurement.
"""

import argparse
import json
import time
import warnings

from benchmarks.gpu.devices import GPUS
from benchmarks.gpu.estimate import COUNTS, rounds_per_second
from benchmarks.speed.cases import build, named

WIDTHS = (1024, 8192, 65_536, 262_144)
_WORK = 2**27  # trial-rounds per measurement


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.accelerator")
    parser.add_argument("--float64", action="store_true")
    parser.add_argument("--widths", type=int, nargs="*", default=list(WIDTHS))
    parser.add_argument("--rounds", type=int, help="of a measurement; by default 2^27 over the width, 64 to 2048")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="cases with one of these in their names")
    parser.add_argument("--forced", action="store_true", help="programs as for an accelerator, wherever this runs")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    import jax

    jax.config.update("jax_enable_x64", arguments.float64)
    from jaxbandits import simulate
    from jaxbandits.simulation import gpu_graphs
    from jaxbandits.tracing import target

    if arguments.forced:
        target.is_accelerator = lambda platform: True
    device = jax.devices()[0]
    form = "graph" if gpu_graphs.target_of(device).open_loops else "blocks"
    dtype = "float64" if arguments.float64 else "float32"
    print(
        f"{device.device_kind}, jax {jax.__version__}, loops {form}, {dtype}; million rounds a second (compile seconds)"
    )
    print(f"{'case':30s}" + "".join(f"{f'W={w}':>18s}" for w in arguments.widths))
    measured: dict[tuple[str, int], float] = {}
    for case in named(arguments.only):
        algorithm, environment = build(case)
        cells = []
        for width in arguments.widths:
            horizon = arguments.rounds or max(64, min(2048, _WORK // width) // 64 * 64)
            settings = {"width": width, "progress": False, "record_points": 1}
            first = simulate(algorithm, environment, horizon, width, **settings)
            best = float("inf")
            for _ in range(3):
                begin = time.perf_counter()
                simulate(algorithm, environment, horizon, width, **settings)
                best = min(best, time.perf_counter() - begin)
            compile_s = first[type(algorithm).__name__].timing["compile_s"]
            measured[case.name, width] = width * horizon / best
            cells.append(f"{width * horizon / best / 1e6:10.1f} ({compile_s:4.1f})")
        print(f"{case.name:30s}" + "".join(f"{c:>18s}" for c in cells), flush=True)
    gpu = next((gpu for gpu in GPUS.values() if gpu.name == device.device_kind), None)
    if gpu is None or form == "blocks" or arguments.float64:
        print(
            "No estimates: there are some for float32 and loops in graphs, on "
            + ", ".join(x.name for x in GPUS.values())
        )
        return
    print("\nestimate in million rounds a second, and what was measured as a multiple of it")
    counts = json.loads(COUNTS.read_text())
    for (name, width), rate in measured.items():
        known = counts.get(f"{name}, h100, 8192")
        if known:
            estimate = rounds_per_second(gpu, width, known["nodes"], known["kB"], known["instructions"])
            print(f"{name:30s} W={width:<8d}{estimate / 1e6:10.1f}{rate / estimate:8.2f}")


if __name__ == "__main__":
    main()
