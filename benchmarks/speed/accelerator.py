"""Rounds per second on the default device against the width of a batch: `python -m benchmarks.speed.accelerator`.

One batch per width on one device; wall clock, compilation excluded, best of three. `kernels` counts the kernels of one
round, whose starts bound its time from below; `open` counts the loops and branches of a round that ask the host. Set
XLA_FLAGS to compare command buffers (docs/performance.md lists those to try first).

Without an accelerator `--forced` compiles as for one: a check that everything runs, not a measurement.
"""

import argparse
import time
import warnings

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
    import numpy as np

    jax.config.update("jax_enable_x64", arguments.float64)
    from jaxbandits import simulate
    from jaxbandits.simulation import driver
    from jaxbandits.simulation.plan import Job
    from jaxbandits.simulation.program import BlockProgram
    from jaxbandits.testing import speed
    from jaxbandits.tracing import target

    if arguments.forced:
        target.is_accelerator = lambda platform: True
    device = jax.devices()[0]
    print(f"{device.device_kind}, jax {jax.__version__}; million rounds per second (compile seconds)")
    columns = "".join(f"{f'W={w}':>18s}" for w in arguments.widths)
    print(f"{'case':30s} {'dtype':8s}{'kernels':>8s}{'open':>6s}{columns}")
    for case in named(arguments.only):
        algorithm, environment = build(case)
        cells, counts = [], "       -     -"
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
            cells.append(f"{width * horizon / best / 1e6:10.1f} ({compile_s:4.1f})")
            job = Job("one", algorithm, environment, ({},), horizon, np.array([horizon]), width, 0, (), width)
            program = driver.compile_job(job, device)  # compiled already
            if isinstance(program, BlockProgram):
                text = program.play_block.as_text()
                counts = f"{speed.kernels(text):8d}{len(speed.open_loops(text)):6d}"
        dtype = "float64" if arguments.float64 else "float32"
        print(f"{case.name:30s} {dtype:8s}{counts}" + "".join(f"{c:>18s}" for c in cells), flush=True)


if __name__ == "__main__":
    main()
