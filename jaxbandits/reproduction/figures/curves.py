"""Draw figures of the kind `Curves`: panels side by side, means above medians, with measured times next to them."""

import math
import re
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandits.base.text import count_of
from jaxbandits.plots import curves
from jaxbandits.plots.curves import BANDS
from jaxbandits.reproduction.engine.figures import Curves
from jaxbandits.reproduction.engine.run import Report
from jaxbandits.reproduction.engine.statistic import check_single_point
from jaxbandits.reproduction.figures import cost
from jaxbandits.reproduction.figures.style import set_logarithmic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACROSS = 4  # largest number of panels in a row; five or six panels are drawn in two rows of three
_BLANK = "."
_SEEDS, _FAILED = re.compile(r"\s\[[\d,]+ seeds?\]$"), re.compile(r"\s\[\d+ failed\]$")  # ends of labels in a legend
_ONE_LINE = 22  # length of a metric with its unit up to which the name of the band fits on the same line


def draw(drawing: Curves, plt: ModuleType, report: Report) -> "Figure":
    """Draw and return the figure, without its title."""
    panels = report.panels
    bands = _bands(drawing, report)
    mosaic = _mosaic(list(panels), bands)
    timed = list(report.times.values())[: len(mosaic)] if drawing.times else []
    for i, row in enumerate(mosaic if timed else []):
        row.append(f"time:{i}" if i < len(timed) else _BLANK)
    if len(panels) == 1 and len(bands) > 1:
        mosaic = [list(column) for column in zip(*mosaic, strict=True)]
    size = (4.2 * len(mosaic[0]) + 2.0, max(3.9, 3.2 * len(mosaic)))
    figure, axes = plt.subplot_mosaic(mosaic, figsize=size, layout="constrained", empty_sentinel=_BLANK)
    for name, panel in panels.items():
        for band in bands:
            ax = axes[f"{band}:{name}"]
            n_failed = _panel(drawing, report, name, band, ax)
            title = "\n".join(filter(None, (panel.title, curves.omitted_text(n_failed))))
            ax.set_title(title if band == bands[0] else "")
    for i, times in enumerate(timed):
        cost.per_round(axes[f"time:{i}"], times, report.order(drawing.not_drawn))
    seeds = max(len(trials.seeds) for result in report.results.values() for trials in result.trials.values())
    shown = [*(axes[f"{bands[0]}:{name}"] for name in panels), *(axes[f"time:{i}"] for i in range(len(timed)))]
    figure.legend(*_distinct(shown), title=count_of(seeds, "seed"), loc="outside right center", frameon=False)
    return figure


def _bands(drawing: Curves, report: Report) -> list[str]:
    """Return the kinds of band to draw: both, or only one if both would look alike or if a limit is drawn."""
    if drawing.limit is not None:
        return ["quantile"]
    for result in report.results.values():
        metric, measured = result.labels_with_metric(drawing.metric or report.experiment.metric)
        for label in drawn_of(list(measured), drawing.not_drawn):
            trials = measured[label]
            for values, usable in zip(trials.get(metric), trials.usable(metric), strict=True):
                if usable.any() and np.ptp(values[usable], axis=0).any():
                    return list(BANDS)
    return list(BANDS)[:1]


def _mosaic(names: Sequence[str], bands: Sequence[str]) -> list[list[str]]:
    across = math.ceil(len(names) / math.ceil(len(names) / _ACROSS))
    mosaic = []
    for first in range(0, len(names), across):
        row = names[first : first + across]
        blank = [_BLANK] * (across - len(row))
        mosaic += [[f"{band}:{name}" for name in row] + blank for band in bands]
    return mosaic


def _panel(drawing: Curves, report: Report, name: str, band: str, ax: "Axes") -> int:
    """Draw a panel, and return the number of failed trials, which its curves omit."""
    metric, measured = report.results[name].labels_with_metric(drawing.metric or report.experiment.metric)
    drawn = drawn_of(list(measured), drawing.not_drawn)
    order = report.order(drawing.not_drawn)
    curves.draw(
        report.results[name], metric, x=drawing.x, algorithms=drawn, ax=ax, band=band, xscale="linear", order=order
    )
    if drawing.reference is not None:
        shared, label = drawing.reference
        trials = check_single_point(report.results[name][drawn[0]])
        ax.plot(trials.record_points, trials.get(shared)[0].mean(axis=0), color="#888888", linestyle="--", label=label)
    if ax.get_xscale() == "linear":
        ax.locator_params(axis="x", nbins=5)  # more ticks of six digits would overlap
    gap = "\n" if len(ax.get_ylabel()) > _ONE_LINE else " "
    ax.set_ylabel(f"{ax.get_ylabel()}:{gap}{BANDS[band]}")
    if (legend := ax.get_legend()) is not None:  # all panels share one legend
        legend.remove()
    if drawing.logarithmic:
        set_logarithmic(ax)
    if drawing.limit is not None:
        ax.axhline(
            drawing.limit, color="#000000", linestyle="--", linewidth=0.8, label=f"claimed: below {drawing.limit:g}"
        )
        ax.set_yscale("symlog", linthresh=0.1 * drawing.limit)
    failed = (
        measured[label].failures(metric) | (False if drawing.x == "round" else measured[label].failures(drawing.x))
        for label in drawn
    )
    return sum(int(mask.sum()) for mask in failed)


def drawn_of(labels: Sequence[str], not_drawn: Sequence[str]) -> list[str]:
    """Return the labels that are not in `not_drawn`, or all labels if none would remain."""
    return [label for label in labels if label not in not_drawn] or list(labels)


def _distinct(axes: "Sequence[Axes]") -> tuple[list[Any], list[str]]:
    """Return handles and labels of all axes without duplicates, and without the numbers of failed trials.

    Some algorithms appear only in some panels or only in the timings. The titles of the panels count failed trials.
    """
    found: dict[str, tuple[Any, str]] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            label = _FAILED.sub("", label)
            found.setdefault(_SEEDS.sub("", label), (handle, label))
    handles, labels = zip(*found.values(), strict=True)
    return list(handles), list(labels)
