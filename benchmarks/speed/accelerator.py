"""Measure rounds per second on the default device against the batch width: `python -m benchmarks.speed.accelerator`.

For every width, one batch runs on one device, in compiled calls of two lengths (`benchmarks.gpu.rate`). `loops` names
the form of the programs: `graph`, loops inside CUDA graphs, or `blocks`, blocks of a fixed number of rounds
(`JAXBANDITS_GPU_LOOPS` selects the form). At the end, measured rates are compared with estimates from
`benchmarks/gpu/counts.json`. On a new GPU, `benchmarks.gpu.first_run` should be run first.

Without an accelerator, `--forced` compiles as for an accelerator, which tests the program but measures nothing.
"""

import argparse
import json
import warnings

from benchmarks.gpu.devices import GPUS
from benchmarks.gpu.estimate import counts_path, rounds_per_second
from benchmarks.speed.cases import build, named

WIDTHS = (1024, 8192, 65_536, 262_144)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.accelerator")
    parser.add_argument("--float64", action="store_true")
    parser.add_argument("--widths", type=int, nargs="*", default=list(WIDTHS))
    parser.add_argument(
        "--seconds", type=float, default=0.5, help="least duration of the longer call of a measurement, in seconds"
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only cases whose names contain one of these")
    parser.add_argument("--forced", action="store_true", help="use the programs of an accelerator on any device")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    import jax

    jax.config.update("jax_enable_x64", arguments.float64)
    from benchmarks.gpu import rate
    from jaxbandits.programs import gpu_graphs
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
        pair = build(case)
        cells = []
        for width in arguments.widths:
            program = rate.compile_pair(pair, width, device)
            found = rate.measure(program, pair, width, arguments.seconds).rounds_per_second
            measured[case.name, width] = found
            cells.append(f"{found / 1e6:10.1f} ({program.compile_s:4.1f})")
        print(f"{case.name:30s}" + "".join(f"{c:>18s}" for c in cells), flush=True)
    gpu = next((gpu for gpu in GPUS.values() if gpu.name == device.device_kind), None)
    if gpu is None or form == "blocks" or arguments.float64:
        print(
            "There are estimates only for float32 and loops in graphs, on " + ", ".join(x.name for x in GPUS.values())
        )
        return
    print("\nestimate in million rounds a second, and the measured rate as a multiple of it")
    counts = json.loads(counts_path(jax.__version__).read_text())
    for (name, width), found in measured.items():
        known = counts.get(f"{name}, h100, 8192")
        if known:
            estimate = rounds_per_second(gpu, width, known)
            print(f"{name:30s} W={width:<8d}{estimate / 1e6:10.1f}{found / estimate:8.2f}")


if __name__ == "__main__":
    main()
