"""Draw figures of the kind `Bound`: a metric together with its bound."""

from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from jaxbandits.base.text import count_of
from jaxbandits.plots import curves
from jaxbandits.reproduction.engine.figures import Bound
from jaxbandits.reproduction.engine.run import Report
from jaxbandits.reproduction.engine.statistic import check_single_point
from jaxbandits.reproduction.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(drawing: Bound, plt: ModuleType, report: Report) -> "Figure":
    """Draw and return the figure, without its title."""
    metric, panels = drawing.metric or report.experiment.metric, report.panels
    size = (3.8 * len(panels), 3.8)
    figure, axes = plt.subplots(1, len(panels), figsize=size, layout="constrained", sharey=True, squeeze=False)
    for ax, (name, panel) in zip(axes[0], panels.items(), strict=True):
        result, n_failed, limits = report.results[name], 0, {}
        for label, trials in result.labels_with_metric(metric)[1].items():
            good = check_single_point(trials).usable(metric)[0]
            n_failed += int(trials.failures(metric).sum())
            if not good.any():
                continue
            colour = style.of_label(report.order().index(label))["color"]
            values = np.maximum(trials.get(metric)[0, good], 1e-3)
            ax.plot(trials.record_points, np.median(values, axis=0), color=colour, label=f"{label}, median")
            ax.plot(trials.record_points, values.max(axis=0), color=colour, linestyle=":", label=f"{label}, largest")
            limits[label] = (trials.record_points, np.median(trials.get(drawing.bound)[0, good], axis=0), colour)
        is_common = len({(tuple(x), tuple(y)) for x, y, _ in limits.values()}) == 1
        for label, (x, y, colour) in list(limits.items())[: 1 if is_common else None]:
            look = {"color": "#000000" if is_common else colour, "label": "bound" if is_common else f"{label}, bound"}
            ax.plot(x, y, linestyle="--", **look)
        seeds = max(len(trials.seeds) for trials in result.trials.values())
        note = ", ".join(filter(None, (count_of(seeds, "seed"), curves.omitted_text(n_failed))))
        ax.set(xscale="log", yscale="log", xlabel="round", title=f"{panel.title}\n{note}")
    style.open_frame(*axes[0])
    axes[0][0].set_ylabel(metric.replace("_", " "))
    handles = {line.get_label(): line for ax in axes[0] for line in ax.lines}  # one for each look, of all panels
    axes[0][0].legend(handles=list(handles.values()), fontsize="small", frameon=False)
    return figure
