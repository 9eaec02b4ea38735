"""Draw figures of the kind `Exponents`: growth exponents of a mean metric against `Panel.x`."""

from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from jaxbandits.analysis.table import mean_of
from jaxbandits.plots.curves import COLOURS, STYLES, add_to_title, omitted_text
from jaxbandits.reproduction.engine.figures import Exponents
from jaxbandits.reproduction.engine.run import Report
from jaxbandits.reproduction.engine.statistic import exponent
from jaxbandits.reproduction.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(drawing: Exponents, plt: ModuleType, report: Report) -> "Figure":
    """Draw and return the figure, without its title."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 4.2), layout="constrained")
    panels, metric = report.panels, drawing.metric or report.experiment.metric
    at = [panel.x for panel in panels.values()]
    n_failed = 0
    for label in report.labels:
        found = [exponent(report.results[name][label], metric) for name in panels]
        centre, low, high = (np.asarray([getattr(e, field) for e in found], float) for field in ("mean", "low", "high"))
        reach = [centre - low, high - centre]
        colour = style.of_label(report.order().index(label))["color"]
        left.errorbar(at, centre, reach, color=colour, marker="o", linestyle="", capsize=3, label=label)
        for j, (name, panel) in enumerate(panels.items()):
            trials = report.results[name][label]
            good = trials.usable(metric)[0]
            n_failed += int(trials.failures(metric).sum())
            if not good.any():
                continue
            mean = np.maximum(trials.get(metric)[0, good].mean(axis=0), 1e-3)
            is_single = len(report.labels) == 1
            look = {
                "color": COLOURS[j % 8] if is_single else colour,
                "linestyle": STYLES[j % 8],
                "label": panel.title if is_single else f"{label}, {panel.title}",
            }
            right.plot(trials.record_points, mean, **look)
    grid = np.linspace(min(at), max(at), 100)
    left.plot(grid, [drawing.theory(x) for x in grid], color="#000000", label=drawing.statement)
    left.set(xlabel=drawing.axis, ylabel=f"growth exponent of {mean_of(metric)}")
    right.set(xscale="log", yscale="log", xlabel="round", ylabel=mean_of(metric))
    add_to_title(right, omitted_text(n_failed))
    style.open_frame(left, right)
    for ax in (left, right):
        ax.legend(fontsize="small", frameon=False)
    return figure
