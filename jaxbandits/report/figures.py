"""Figures of experiments with matplotlib, written byte for byte the same for the same results."""

import io
import math
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxbandits.core.files import make_directory, write_atomically
from jaxbandits.experiments.declare import Kind
from jaxbandits.experiments.run import Report
from jaxbandits.report import kinds
from jaxbandits.results import curves
from jaxbandits.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLE = {
    "svg.hashsalt": "jaxbandits", "svg.fonttype": "none", "pdf.fonttype": 42, "font.size": 9.0, "axes.titlesize": 10.0,
    "axes.grid": True, "grid.alpha": 0.25, "grid.linewidth": 0.6, "savefig.dpi": 160,
}  # fmt: skip
_ACROSS = 4  # panels in a row of curves at most; five and six stand in two rows of three
_BLANK = "."
_METADATA = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def draw(report: Report, kind: Kind) -> "Figure":
    """One of the figures that an experiment declares."""
    plt, experiment = _pyplot(), report.experiment
    with plt.rc_context(_STYLE):
        figure = _KINDS[kind](plt, report)
        title = f"{experiment.title}, T = {report.horizon:,}", f"{experiment.source}; {report.preset} preset"
        inches = figure.get_size_inches()[0]
        figure.suptitle(
            "\n".join(line for part in title for line in textwrap.wrap(part, int(12 * inches))), fontsize=10
        )
        constants = f"{report.preset} preset: {experiment.presets[report.preset]}"  # no curve without its tuning
        figure.supxlabel("\n".join(textwrap.wrap(constants, int(14 * inches))), fontsize=7)
    return figure


def _curves(plt: Any, report: Report) -> "Figure":
    """Panels side by side, means above medians; measured times beside them when the experiment was timed."""
    experiment, panels = report.experiment, report.experiment.panels(report.horizon)
    names = list(panels)
    across = math.ceil(len(names) / math.ceil(len(names) / _ACROSS))
    mosaic = []
    for first in range(0, len(names), across):
        row = names[first : first + across]
        blank = [_BLANK] * (across - len(row))
        mosaic += [[f"{band}:{name}" for name in row] + blank for band in curves.BANDS]
    timed = [] if "cost" in experiment.figures else list(report.times.values())[: len(mosaic)]
    for i, row in enumerate(mosaic if timed else []):
        row.append(f"time:{i}" if i < len(timed) else _BLANK)
    if len(names) == 1:
        mosaic = [list(column) for column in zip(*mosaic, strict=True)]
    size = (4.2 * len(mosaic[0]) + 2.0, 3.2 * len(mosaic))
    figure, axes = plt.subplot_mosaic(mosaic, figsize=size, layout="constrained", empty_sentinel=_BLANK)
    for name, panel in panels.items():
        for band in curves.BANDS:
            ax = axes[f"{band}:{name}"]
            curves.draw(report.results[name], experiment.metric, ax, band, skip=experiment.not_drawn)
            ax.set_title(panel.title if band == "mean" else "")
            ax.set_ylabel(f"{ax.get_ylabel()}: {curves.BANDS[band]}")
            ax.get_legend().remove()
            if experiment.logarithmic:
                ax.set_yscale("symlog", linthresh=1.0)
    for i, times in enumerate(timed):
        kinds.times(axes[f"time:{i}"], times, next(iter(report.results.values())).algorithms)
    seeds = f"{len(report.results[names[0]].seeds)} seeds"
    shown = [axes[f"{next(iter(curves.BANDS))}:{names[0]}"], *(axes[f"time:{i}"] for i in range(len(timed)))]
    figure.legend(*_distinct(shown), title=seeds, loc="outside right center", frameon=False)
    return figure


def _distinct(axes: "Sequence[Axes]") -> tuple[list[Any], list[str]]:
    """Handles and labels of all axes, each algorithm once: some are timed but not drawn."""
    found: dict[str, tuple[Any, str]] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label.partition(" [")[0], (handle, label))  # with its number of seeds where it differs
    handles, labels = zip(*found.values(), strict=True)
    return list(handles), list(labels)


_KINDS: dict[Kind, Callable[[Any, Report], "Figure"]] = {
    "curves": _curves,
    "against": kinds.against,
    "bound": kinds.bound,
    "shares": kinds.shares,
    "exponents": kinds.exponents,
    "heatmap": kinds.heatmap,
    "cost": kinds.cost,
    "regions": kinds.regions,
}


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
