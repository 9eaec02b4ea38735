"""Draw figures of the kind `PanelCurves`: a metric over the rounds, one axes per panel."""

import math
from types import ModuleType
from typing import TYPE_CHECKING

from jaxbandits.plots import curves
from jaxbandits.plots.curves import SMALL_LEGEND
from jaxbandits.reproduction.engine.figures import PanelCurves
from jaxbandits.reproduction.engine.run import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(drawing: PanelCurves, plt: ModuleType, report: Report) -> "Figure":
    """Draw and return the figure, without its title."""
    every = [(name, tuple(report.results[name])) for name in drawing.panels or report.panels]
    pairs = [(name, tuple(label for label in pair if label in report.results[name])) for name, *pair in drawing.pairs]
    parts = [(name, labels) for name, labels in pairs or every if labels]  # labels may be left out of this run
    down = 2 if len(parts) > 3 else 1
    across = math.ceil(len(parts) / down)
    size = (max(6.4, 5.2 * across), 4.2 if down == 1 else 7.0)
    figure, axes = plt.subplots(down, across, figsize=size, layout="constrained", squeeze=False)
    for ax in axes.flat[len(parts) :]:
        ax.set_axis_off()
    for ax, (name, labels) in zip(axes.flat, parts, strict=False):
        result, metric = report.results[name], drawing.metric or report.experiment.metric
        scale = "log" if drawing.logarithmic else "linear"
        curves.draw(result, metric, x=drawing.x, algorithms=labels, ax=ax, xscale=scale, order=report.order())
        ax.set_title(report.panels[name].title)
        handles, labels = ax.get_legend_handles_labels()
        title = ax.get_legend().get_title().get_text()
        ax.legend(handles, labels, title=title, **SMALL_LEGEND)
        if drawing.mark:
            rounds = max(trials.horizon for trials in report.results[name].trials.values())
            ax.axvline(drawing.mark * rounds, color="0.4", linestyle="--", linewidth=0.8)
    return figure
