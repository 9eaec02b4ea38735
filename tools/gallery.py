"""Draw the pictures of the gallery, docs/gallery/*.svg, from short runs.

python tools/gallery.py [NAME ...]     draw the pictures with these names, such as linear/hvt_ucb or linear/fig1,
                                       or without names all missing pictures

An algorithm plays its registered example. An experiment runs with the budget `quick`, too short for a verdict, or, if
it measures times, with 16 seeds and 2,000 rounds. Pictures are SVG files, which stay sharp when they are enlarged.
"""

import contextlib
import io
import re
import sys
import tempfile
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from jaxbandits import InputError, cli, simulate
from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.plots.curves import COLOURS
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.figures.style import SETTINGS

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "gallery"
_TIMED = ("linear/table1", "glm/fig3", "coco/cost", "oco/cost")  # times, which `quick` does not measure
_SMALL = ("--seeds", "16", "--horizon", "2000")
SIZE = (4.8, 3.0)  # inches of the picture of an algorithm


def picture_of(name: str) -> Path:
    """Return the path of the picture of an algorithm or experiment."""
    return PICTURES / f"{name.replace('/', '-')}.svg"


def draw_algorithm(name: str) -> str:
    """Draw the mean and the 10 to 90 % band of the default metric of an algorithm's example, and return the SVG."""
    entry = ALGORITHMS[name]
    declared = getattr(entry.example, "horizon", None)
    horizon = 400 if declared is None else int(declared)
    result = simulate(entry.example, ENVIRONMENTS[entry.environments[0]].example, horizon, seeds=64, progress=False)
    (label,) = result
    trials = result[label]
    metric = trials.metric()
    values = trials[metric][0]
    low, high = np.quantile(values, [0.1, 0.9], axis=0)
    with plt.rc_context(SETTINGS):  # pyright: ignore[reportArgumentType]
        figure, axes = plt.subplots(figsize=SIZE, layout="constrained")
        axes.fill_between(trials.record_points, low, high, color=COLOURS[0], alpha=0.25, linewidth=0)
        axes.plot(trials.record_points, values.mean(axis=0), color=COLOURS[0], linewidth=2)
        axes.set(xlabel="round", ylabel=metric.replace("_", " "))
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
        plt.close(figure)
    return written.getvalue()


def draw_experiment(name: str) -> str:
    """Run an experiment briefly, and return its main figure as SVG."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "out"
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
            size = _SMALL if name in _TIMED else ("--budget", "quick")
            code = cli.main(["reproduce", name, *size, "--quiet", "--out", str(out)])
        figures = sorted(out.rglob("*.svg"))
        if code or not figures:
            raise InputError(f"the run drew no figure: {said.getvalue()[-300:]}")
        return min(figures, key=lambda path: len(path.name)).read_text(encoding="utf-8")  # others have a suffix


def save(picture: str, path: Path) -> None:
    """Write an SVG without its metadata and comments, and with all numbers truncated to two decimals."""
    picture = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->|<!DOCTYPE.*?>", "", picture, flags=re.DOTALL)
    picture = re.sub(r"(\d\.\d\d)\d+", r"\1", picture)
    picture = re.sub(r"\s*\n\s*", "\n", picture)
    path.parent.mkdir(exist_ok=True)
    path.write_text(picture, encoding="utf-8")


def main(names: list[str]) -> None:
    """Run the command line."""
    failed = []
    for name in names or [*ALGORITHMS, *EXPERIMENTS]:
        if name not in ALGORITHMS and name not in EXPERIMENTS:
            sys.exit(f"no algorithm or experiment {name!r}")
        if not names and picture_of(name).exists():
            continue
        begin = time.perf_counter()
        try:
            save((draw_algorithm if name in ALGORITHMS else draw_experiment)(name), picture_of(name))
        except InputError as error:
            print(f"{name}: {error}", flush=True)
            failed.append(name)
        print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)
    if failed:
        sys.exit(f"not drawn: {', '.join(failed)}")


if __name__ == "__main__":
    main(sys.argv[1:])
