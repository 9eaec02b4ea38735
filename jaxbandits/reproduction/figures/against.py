"""Draw figures of the kind `Against`: final means against `Panel.x`."""

import itertools
import math
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from jaxbandits.analysis.summary import Row
from jaxbandits.analysis.table import mean_of
from jaxbandits.plots import curves
from jaxbandits.reproduction.engine.figures import Against
from jaxbandits.reproduction.engine.run import Report
from jaxbandits.reproduction.figures import style
from jaxbandits.reproduction.figures.curves import drawn_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(drawing: Against, plt: ModuleType, report: Report) -> "Figure":
    """Draw and return the figure, without its title."""
    metric, panels = drawing.metric or report.experiment.metric, report.panels
    at = {name: panel.x for name, panel in panels.items() if not math.isnan(panel.x)}
    bounds = {x: panels[name].bound for name, x in at.items() if not math.isnan(panels[name].bound)}
    figure, ax = plt.subplots(figsize=(8.8, 5.2), layout="constrained")
    rows = {name: {row.label: row for row in report.results[name].summary(metric)} for name in at}
    values, order = [], report.order(drawing.not_drawn)
    at_x, ends, n_failed = [], [], 0
    for label in drawn_of(report.labels, drawing.not_drawn):
        worst = _worst(rows, label, at)
        xs = sorted(worst)
        mean, low, high = (np.asarray([getattr(worst[x], k) for x in xs]) for k in ("mean", "low", "high"))
        if _never_negative(report, label, metric):  # clip the interval, which is Student's and symmetric, at 0
            low = np.maximum(low, 0.0)
        values += [*mean]
        at_x, ends = [*at_x, *xs], [*ends, *high]
        n_failed += sum(row.failed for panel in rows.values() if (row := panel.get(label)) is not None)
        look = style.of_label(order.index(label)) | (
            {"linestyle": ""} if bounds else {}
        )  # several panels with one x are different instances
        ax.errorbar(xs, mean, [mean - low, high - mean], label=label, capsize=2, markersize=5, **look)
    if bounds:
        ax.plot(sorted(bounds), [bounds[x] for x in sorted(bounds)], color="#000000", linestyle="--", label="theory")
    ax.set(xlabel=drawing.axis, ylabel=mean_of(metric))
    _scale(ax, sorted(set(at.values())), values)
    curves.mark_unbounded_intervals(ax, np.asarray(at_x), np.asarray(values), np.isinf(ends))
    curves.add_to_title(ax, curves.omitted_text(n_failed))
    figure.legend(fontsize="small", frameon=False, loc="outside right center")
    style.open_frame(ax)
    return figure


def _never_negative(report: Report, label: str, metric: str) -> bool:
    of = [result.labels_with_metric(metric)[1].get(label) for result in report.results.values()]
    return all((trials.final(metric)[trials.usable(metric)] >= 0.0).all() for trials in of if trials is not None)


def _worst(rows: Mapping[str, Mapping[str, Row]], label: str, at: Mapping[str, float]) -> dict[float, Row]:
    """Return, for each abscissa, the row with the largest mean among the panels at this abscissa."""
    worst: dict[float, Row] = {}
    for name, x in at.items():
        row = rows[name].get(label)
        if row is not None and (x not in worst or row.mean > worst[x].mean):
            worst[x] = row
    return worst


def _scale(ax: "Axes", marks: list[float], values: list[float]) -> None:
    ax.set_xscale("log")
    if all(right > 1.3 * left for left, right in itertools.pairwise(marks)):  # otherwise their labels would overlap
        ax.set_xticks(marks, [f"{x:,.0f}" if x >= 100 else f"{x:.3g}" for x in marks])
        ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    if min(values) > 0.0:
        ax.set_yscale("log" if max(values) > 5.0 * min(values) else "linear")
    else:  # regret may be negative against a moving mean
        ax.set_yscale("symlog", linthresh=max(1e-3, float(np.quantile(np.abs(values), 0.2))))
