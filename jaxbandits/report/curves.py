"""Draws `Curves`: panels side by side, means above medians, measured times beside them."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jaxbandits.experiments.drawings import Curves
from jaxbandits.experiments.run import Report
from jaxbandits.report import cost
from jaxbandits.results import curves
from jaxbandits.results.curves import BANDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACROSS = 4  # panels in a row at most; five and six stand in two rows of three
_BLANK = "."


def draw(drawing: Curves, plt: Any, report: Report) -> "Figure":
    """The figure, without its title."""
    panels = report.panels
    mosaic = _mosaic(list(panels))
    timed = list(report.times.values())[: len(mosaic)] if drawing.times else []
    for i, row in enumerate(mosaic if timed else []):
        row.append(f"time:{i}" if i < len(timed) else _BLANK)
    if len(panels) == 1:
        mosaic = [list(column) for column in zip(*mosaic, strict=True)]
    size = (4.2 * len(mosaic[0]) + 2.0, 3.2 * len(mosaic))
    figure, axes = plt.subplot_mosaic(mosaic, figsize=size, layout="constrained", empty_sentinel=_BLANK)
    for name, panel in panels.items():
        for band in BANDS:
            ax = axes[f"{band}:{name}"]
            _panel(drawing, report, name, band, ax)
            ax.set_title(panel.title if band == "mean" else "")
    for i, times in enumerate(timed):
        cost.per_round(axes[f"time:{i}"], times, report.order(drawing.not_drawn))
    first = next(iter(panels))
    seeds = max(len(trials.seeds) for trials in report.results[first].trials.values())
    shown = [axes[f"{next(iter(BANDS))}:{first}"], *(axes[f"time:{i}"] for i in range(len(timed)))]
    figure.legend(*_distinct(shown), title=f"{seeds} seeds", loc="outside right center", frameon=False)
    return figure


def _mosaic(names: Sequence[str]) -> list[list[str]]:
    across = math.ceil(len(names) / math.ceil(len(names) / _ACROSS))
    mosaic = []
    for first in range(0, len(names), across):
        row = names[first : first + across]
        blank = [_BLANK] * (across - len(row))
        mosaic += [[f"{band}:{name}" for name in row] + blank for band in BANDS]
    return mosaic


def _panel(drawing: Curves, report: Report, name: str, band: str, ax: "Axes") -> None:
    metric, measured = report.results[name].measured(drawing.metric or report.experiment.metric)
    drawn = drawn_of(list(measured), drawing.not_drawn)
    order = report.order(drawing.not_drawn)
    curves.draw(report.results[name], metric, x=drawing.x, algorithms=drawn, ax=ax, band=band, order=order)
    ax.set_ylabel(f"{ax.get_ylabel()}: {BANDS[band]}")
    if (legend := ax.get_legend()) is not None:  # one for all panels stands beside them
        legend.remove()
    if drawing.logarithmic:
        ax.set_yscale("symlog", linthresh=1.0)


def drawn_of(labels: Sequence[str], not_drawn: Sequence[str]) -> list[str]:
    """Those labels that are drawn; all of them where no other is left, as a figure must not be empty."""
    return [label for label in labels if label not in not_drawn] or list(labels)


def _distinct(axes: "Sequence[Axes]") -> tuple[list[Any], list[str]]:
    """Handles and labels of all axes, each algorithm once: some are timed but not drawn."""
    found: dict[str, tuple[Any, str]] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label.partition(" [")[0], (handle, label))  # with its number of seeds where it differs
    handles, labels = zip(*found.values(), strict=True)
    return list(handles), list(labels)
