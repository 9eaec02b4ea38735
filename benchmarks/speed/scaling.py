"""Measure speed against the number of workers, the batch width and the precision, and draw three figures.

python -m benchmarks.speed.scaling              measure the cases and print one line each
python -m benchmarks.speed.scaling --write      also draw docs/scaling-{cores,width,precision}.png

Compilation is excluded. Figures of widths and precisions are rounds per CPU second in a process that is pinned to one
core. Figures of workers are rounds per second of wall time in a process that is not pinned, so other processes must be
idle.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.speed.cases import CASES, build
from benchmarks.speed.measure import seconds_a_round

DOCS = Path(__file__).resolve().parents[2] / "docs"
NAMES = {  # of the cases, and in the figures
    "ucb1 K=10": "UCB1, K = 10",
    "hvt_ucb d=2 K=50": "Hvt-UCB, d = 2, K = 50",
    "oful d=10 K=20": "OFUL, d = 10, K = 20",
    "glb_omd d=2 K=20": "GLB-OMD, d = 2, K = 20",
    "cla_oons d=2": "CLA-OONS, d = 2",
    "ogd d=10": "OGD, d = 10",
}
WIDTHS = (1, 32, 64, 128, 256)
_TRIALS = 1024


def _rate(case: Any, clock: Any, seconds: float, trials: int = _TRIALS, **settings: Any) -> float:
    """Return rounds per second of a clock, from runs of up to about `seconds` seconds."""
    from jaxbandits import simulate

    def run(rounds: int) -> float:
        begin = clock()
        simulate(*build(case), rounds, trials, progress=False, record_points=1, **settings)
        return clock() - begin

    run(case.horizon)  # compiles
    rounds = max(4, int(case.horizon * seconds / run(case.horizon)))
    return trials / seconds_a_round(run, rounds // 4, rounds)


def _measure(index: int, kind: str, seconds: float) -> dict[str, float]:
    """Measure one case in this process; return a mapping from values on the axis of the figure to rates."""
    import jax

    warnings.simplefilter("ignore")
    case = CASES[index]
    if kind == "cores":
        return {str(n): _rate(case, time.perf_counter, seconds, workers=n) for n in (1, 2)}
    if kind == "precision":
        found = {}
        for name, is_double in (("float32", False), ("float64", True)):
            with jax.enable_x64(is_double):
                found[name] = _rate(case, time.process_time, seconds, workers=1)
        return found
    trials = {1: 16}
    return {str(w): _rate(case, time.process_time, seconds, trials.get(w, _TRIALS), workers=1, width=w) for w in WIDTHS}


def _in_a_process(index: int, kind: str, seconds: float, core: int | None) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.speed.scaling", "--one", str(index), kind, "--seconds", str(seconds)]
    pin = None if core is None or not hasattr(os, "sched_setaffinity") else lambda: os.sched_setaffinity(0, {core})
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=pin)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _draw(kind: str, measured: dict[str, dict[str, float]]) -> None:
    """Draw one figure into docs/."""
    import matplotlib.pyplot as plt
    import numpy as np

    from jaxbandits.reproduction.figures.style import SETTINGS, open_frame

    with plt.rc_context(SETTINGS):
        figure, ax = plt.subplots(figsize=(6.0, 3.4), layout="constrained")
        labels = list(measured)
        if kind == "width":
            for label in labels:
                widths = [int(w) for w in measured[label]]
                ax.plot(widths, [rate / 1e6 for rate in measured[label].values()], marker="o", label=NAMES[label])
            ax.set(xscale="log", yscale="log", xlabel="trials side by side", ylabel="million rounds / CPU second")
            ax.set_xticks(WIDTHS, [str(w) for w in WIDTHS])
            ax.minorticks_off()
            figure.legend(fontsize=8, ncols=3, loc="outside upper center")
        else:
            first, second = ("1", "2") if kind == "cores" else ("float64", "float32")
            ratios = [rates[second] / rates[first] for rates in measured.values()]
            places = np.arange(len(labels))
            bars = ax.barh(places, ratios, height=0.6)
            ax.bar_label(bars, fmt="%.2f", label_type="center", color="white")
            ax.grid(False, axis="y")
            ax.set_axisbelow(True)
            ax.set_yticks(places, [NAMES[label] for label in labels])
            ax.invert_yaxis()
            ax.axvline(2.0, color="0.4", linewidth=1.0, linestyle="--")
            ax.set_xlim(0.0, 1.15 * max(2.0, *ratios))
            ax.set_xlabel(
                {"cores": "two workers, times as fast as one", "precision": "float32, times as fast as float64"}[kind]
            )
        open_frame(ax)
        figure.savefig(DOCS / f"scaling-{kind}.png", dpi=160)
        plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.scaling")
    parser.add_argument(
        "--only", nargs="+", choices=("cores", "width", "precision"), default=("cores", "width", "precision")
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="duration of a run in seconds")
    parser.add_argument("--write", action="store_true", help="draw the figures into docs/")
    parser.add_argument("--one", nargs=2, metavar=("CASE", "KIND"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(_measure(int(arguments.one[0]), arguments.one[1], arguments.seconds)))
        return
    cases = [case for case in CASES if case.name in NAMES]
    core = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    for kind in arguments.only:
        measured = {}
        for case in cases:
            measured[case.name] = rates = _in_a_process(
                CASES.index(case), kind, arguments.seconds, None if kind == "cores" else core
            )
            print(
                f"{kind:10s} {case.name:20s}", *(f"{at}: {rate / 1e6:7.2f} M" for at, rate in rates.items()), flush=True
            )
        if arguments.write:
            _draw(kind, measured)


if __name__ == "__main__":
    main()
