"""Draw figures of the kind `Shares`: distribution functions of the final metric over seeds."""

from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from jaxbandits.plots import curves
from jaxbandits.reproduction.engine.figures import Shares
from jaxbandits.reproduction.engine.run import Report
from jaxbandits.reproduction.engine.statistic import check_single_point
from jaxbandits.reproduction.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(drawing: Shares, plt: ModuleType, report: Report) -> "Figure":
    """Draw and return the figure, without its title."""
    figure, ax = plt.subplots(figsize=(8.6, 4.4), layout="constrained")
    metric, panels = drawing.metric or report.experiment.metric, report.panels
    pairs = [(panel, label) for panel in panels for label in report.results[panel].labels_with_metric(metric)[1]]
    order = list(dict.fromkeys([*((p, label) for p in panels for label in report.declared.get(p, ())), *pairs]))
    n_failed = 0
    for panel, label in pairs:
        trials = check_single_point(report.results[panel][label])
        good = trials.usable(metric)[0]
        n_failed += int(trials.failures(metric).sum())
        values = np.sort(trials.final(metric)[0, good])
        share = np.arange(1, len(values) + 1) / len(values)
        look = style.of_label(order.index((panel, label))) | {"marker": ""}
        ax.step(values, share, where="post", label=f"{label}, {panels[panel].title}", **look)
    if drawing.mark is not None:
        ax.axvline(drawing.mark, color="#000000", linewidth=0.8)
    ax.set(xscale="log", xlabel=metric.replace("_", " "), ylabel="share of trials at or below", ylim=(0.0, 1.02))
    curves.add_to_title(ax, curves.omitted_text(n_failed))
    figure.legend(fontsize="small", frameon=False, loc="outside right center")
    style.open_frame(ax)
    return figure
