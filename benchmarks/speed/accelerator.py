"""Rounds per second on the default device against the piece width: `python -m benchmarks.speed.accelerator`.

One piece per width, so the figure is what one program call reaches; wall clock, compile excluded, best of three.
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
    parser.add_argument("--only", nargs="+", metavar="NAME", help="cases with one of these in their names")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    import jax

    jax.config.update("jax_enable_x64", arguments.float64)
    from jaxbandits import simulate

    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}; million rounds per second (compile seconds)")
    print(f"{'case':30s} {'dtype':8s}" + "".join(f"{f'W={w}':>18s}" for w in arguments.widths))
    for case in named(arguments.only):
        algorithm, environment = build(case)
        cells = []
        for width in arguments.widths:
            horizon = max(50, min(2000, _WORK // width))
            settings = {"width": width, "progress": False, "record": 1}
            first = simulate(algorithm, environment, horizon, width, **settings)
            best = float("inf")
            for _ in range(3):
                begin = time.perf_counter()
                simulate(algorithm, environment, horizon, width, **settings)
                best = min(best, time.perf_counter() - begin)
            compile_s = first[type(algorithm).__name__].timing["compile_s"]
            cells.append(f"{width * horizon / best / 1e6:10.1f} ({compile_s:4.1f})")
        print(
            f"{case.name:30s} {'float64' if arguments.float64 else 'float32':8s}" + "".join(f"{c:>18s}" for c in cells),
            flush=True,
        )


if __name__ == "__main__":
    main()
