"""Figures of experiments with matplotlib, written byte for byte the same for the same results."""

import io
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandits.experiments.run import Report
from jaxbandits.simulation import curves
from jaxbandits.simulation.results import Result
from jaxbandits.simulation.store import make_directory, write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLE = {
    "svg.hashsalt": "jaxbandits", "svg.fonttype": "none", "pdf.fonttype": 42, "font.size": 9.0, "axes.titlesize": 10.0,
    "axes.grid": True, "grid.alpha": 0.25, "grid.linewidth": 0.6, "savefig.dpi": 160,
}  # fmt: skip
_METADATA = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def draw(report: Report) -> "Figure":
    """One column per panel (means above, medians below), and the measured times when the experiment asks for them."""
    plt = _pyplot()
    experiment, panels = report.experiment, report.experiment.panels(report.horizon)
    timed = experiment.time_panel and any(t["ns_per_round"] for r in report.results.values() for t in r.timing.values())
    mosaic = [[f"{band}:{name}" for name in panels] + ["time"] * timed for band in curves.BANDS]
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplot_mosaic(mosaic, figsize=(4.2 * len(mosaic[0]), 6.4), layout="constrained")
        for name, panel in panels.items():
            for band in curves.BANDS:
                ax = axes[f"{band}:{name}"]
                curves.draw(report.results[name], experiment.metric, ax, band, skip=experiment.not_drawn)
                ax.set_title(panel.title if band == "mean" else "")
        if timed:
            _times(axes["time"], report)
        title = f"{experiment.title}, T = {report.horizon:,}\n{experiment.source}; {report.preset} preset"
        figure.suptitle(title, fontsize=10)
        constants = f"{report.preset} preset: {experiment.presets[report.preset]}"  # no curve without its tuning
        figure.supxlabel("\n".join(textwrap.wrap(constants, 60 * len(mosaic[0]))), fontsize=7)
    return figure


def single(result: Result, metric: str | None = None, band: str = "mean") -> "Figure":
    """The curves of one result."""
    plt = _pyplot()
    with plt.rc_context(_STYLE):
        figure, ax = plt.subplots(figsize=(5.4, 3.9), layout="constrained")
        curves.draw(result, metric, ax, band)
    return figure


def _pyplot() -> Any:
    """matplotlib.pyplot; figures go to files, so no display is needed."""
    import matplotlib

    matplotlib.use("Agg", force=False)
    import matplotlib.pyplot as plt

    return plt


def _times(ax: "Axes", report: Report) -> None:
    """Median time per round of each algorithm in this run, with the range over pieces."""
    result = next(iter(report.results.values()))
    width = result.info["spec"]["width"]
    shown = [name for name in result.algorithms if len(result.timing[name]["ns_per_round"])]
    for i, name in enumerate(shown):
        pieces = np.asarray(result.timing[name]["ns_per_round"])
        middle = np.median(pieces)
        reach = [[middle - pieces.min()], [pieces.max() - middle]]
        index = result.algorithms.index(name)
        ax.bar(
            i, middle, color=curves.COLOURS[index % 8], width=0.6, yerr=reach, capsize=3, error_kw={"linewidth": 0.8}
        )
        ax.annotate(
            f"{middle:.3g}", (i, pieces.max()), ha="center", va="bottom", xytext=(0, 2), textcoords="offset points"
        )
    ax.set_xticks(range(len(shown)), shown)
    ax.set_ylabel("ns per round and trial (one core)")
    ax.set_title(f"time, {width} trials side by side")
    ax.margins(y=0.15)
    ax.grid(axis="x", visible=False)
    ax.spines[["top", "right"]].set_visible(False)


def save(figure: "Figure", stem: Path) -> list[Path]:
    """Writes `stem`.png, .svg and .pdf atomically, without dates, so that equal results give equal bytes."""
    plt = _pyplot()
    make_directory(stem.parent)
    written = []
    with plt.rc_context(_STYLE):  # the salt of SVG identifiers must be active while saving
        for suffix, metadata in _METADATA.items():
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, metadata=metadata)
            path = stem.with_name(f"{stem.name}.{suffix}")
            write_atomically(path, buffer.getvalue())
            written.append(path)
    plt.close(figure)
    return written
