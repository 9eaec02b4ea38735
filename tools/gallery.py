"""Draw the pictures of the gallery, docs/gallery/*.png, by small runs.

python tools/gallery.py [NAME ...]     all that are missing, or these: linear/hvt_ucb, linear/fig1, ...

An algorithm plays its registered example; an experiment runs with the budget `quick`, too short for a verdict.
"""

import contextlib
import io
import sys
import tempfile
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from jaxbandits import InputError, cli, simulate
from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.reproduction import EXPERIMENTS

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "gallery"
SIZE = (480, 300)  # pixels
COLOURS = 48


def picture_of(name: str) -> Path:
    """Return the file of a name's picture."""
    return PICTURES / f"{name.replace('/', '-')}.png"


def draw_algorithm(name: str) -> Image.Image:
    """Draw the mean and the 10 to 90 % band of the first metric of an algorithm's example on its first environment."""
    entry = ALGORITHMS[name]
    declared = getattr(entry.example, "horizon", None)
    horizon = 400 if declared is None else int(declared)
    result = simulate(entry.example, ENVIRONMENTS[entry.environments[0]].example, horizon, seeds=64, progress=False)
    (label,) = result
    trials = result[label]
    metric = trials.metric()
    values = trials[metric][0]
    low, high = np.quantile(values, [0.1, 0.9], axis=0)
    figure, axes = plt.subplots(figsize=(4.8, 3.0), dpi=100, layout="constrained")
    axes.fill_between(trials.record_points, low, high, alpha=0.25, linewidth=0)
    axes.plot(trials.record_points, values.mean(axis=0), linewidth=2)
    axes.set(xlabel="rounds", ylabel=metric.replace("_", " "))
    axes.grid(alpha=0.25)
    figure.canvas.draw()
    picture = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
    plt.close(figure)
    return picture


def draw_experiment(name: str) -> Image.Image:
    """Run an experiment with the budget `quick`, and return its first figure."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "out"
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
            code = cli.main(["reproduce", name, "--budget", "quick", "--quiet", "--out", str(out)])
        figures = sorted(out.rglob("*.png"))
        if code or not figures:
            raise InputError(f"{name} drew nothing: {said.getvalue()[-300:]}")
        return Image.open(min(figures, key=lambda path: len(path.name))).convert("RGB")  # others have a suffix


def save(picture: Image.Image, path: Path) -> None:
    """Write a picture as a small PNG, its whole figure on white."""
    picture.thumbnail(SIZE, Image.Resampling.LANCZOS)
    canvas = Image.new("RGB", SIZE, "white")
    canvas.paste(picture, ((SIZE[0] - picture.width) // 2, (SIZE[1] - picture.height) // 2))
    path.parent.mkdir(exist_ok=True)
    canvas.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def main(names: list[str]) -> None:
    """Run the command line."""
    for name in names or [*ALGORITHMS, *EXPERIMENTS]:
        if name not in ALGORITHMS and name not in EXPERIMENTS:
            sys.exit(f"no algorithm or experiment {name!r}")
        if not names and picture_of(name).exists():
            continue
        begin = time.perf_counter()
        save((draw_algorithm if name in ALGORITHMS else draw_experiment)(name), picture_of(name))
        print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
