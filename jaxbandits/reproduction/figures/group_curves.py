"""Draw figures of the kind `GroupCurves`: risk of each group against rounds or another metric, one axes per group."""

import math
import textwrap
from types import ModuleType
from typing import TYPE_CHECKING

from jaxbandits.base.text import count_of
from jaxbandits.plots import curves
from jaxbandits.reproduction.engine.figures import GroupCurves
from jaxbandits.reproduction.engine.run import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(drawing: GroupCurves, plt: ModuleType, report: Report) -> "Figure":
    """Draw and return the figure, without its title."""
    result, across = report.results[drawing.panel], 3
    down = math.ceil(len(drawing.groups) / across)
    figure, axes = plt.subplots(down, across, figsize=(4.0 * across, 3.1 * down), layout="constrained")
    names = getattr(report.panels[drawing.panel].environment, "names", None)
    for ax, group in zip(axes.flat, drawing.groups, strict=False):
        scale = "log" if drawing.logarithmic else "linear"
        curves.draw(result, "risk", x=drawing.x, group=group, ax=ax, xscale=scale, order=report.order())
        ax.set_title(f"group {group + 1}" + (f": {names[group]}" if names else ""))
        ax.set_ylabel("risk")
        handles, labels = ax.get_legend_handles_labels()
        ax.get_legend().remove()
    for ax in axes.flat[len(drawing.groups) :]:
        ax.set_axis_off()
    seeds = max(len(trials.seeds) for trials in result.trials.values())
    last = f" (group {drawing.groups[-1]})"  # the number of failed trials may follow
    shown = [" ".join(label.split()).replace(last, "") for label in labels]
    title = report.panels[drawing.panel].title.replace(" = ", "\u00a0=\u00a0")  # no breaks inside equations
    about = textwrap.fill(title, 24)
    title = f"{about}\nmean, 95 % t-interval\n{count_of(seeds, 'seed')}"
    figure.legend(handles, shown, title=title, loc="outside right center", frameon=False)
    return figure
