"""Figures that are not curves over rounds: times, bounds, distributions, growth exponents, heat maps."""

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandits.experiments import glm_theory
from jaxbandits.experiments import regions as region_lib
from jaxbandits.experiments.run import Report
from jaxbandits.experiments.statistic import exponent
from jaxbandits.results import curves
from jaxbandits.results.result import Result
from jaxbandits.simulation import RoundTimes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def times(ax: "Axes", measured: RoundTimes, order: Sequence[str]) -> None:
    """Time per round against the round, median and quartiles over repeats; colours as in the curves beside."""
    middles = measured.stops - np.diff(measured.stops, prepend=0) / 2.0
    for name, ns in measured.ns.items():
        i = order.index(name)
        low, middle, high = np.quantile(ns, (0.25, 0.5, 0.75), axis=0)
        ax.plot(middles, middle, label=name, markersize=4, **_style(i))
        ax.fill_between(middles, low, high, color=_style(i)["color"], alpha=0.2, linewidth=0)
    ax.set_yscale("log", nonpositive="mask")  # as short a time may be lost in the cost of the call
    ax.set(xscale="log", xlabel="round", ylabel="ns per round and trial (one core)")
    ax.tick_params(axis="x", which="minor", labelbottom=False)
    ax.set_title("time, one trial" if measured.width == 1 else f"time, {measured.width} trials side by side")
    ax.spines[["top", "right"]].set_visible(False)


def cost(plt: Any, report: Report) -> "Figure":
    """Time of one whole trial against `Panel.x`, and the time per round behind it in the first and last timed panel."""
    panels, names = report.experiment.panels(report.horizon), report.experiment.timed
    order = next(iter(report.results.values())).algorithms
    figure, (left, *rest) = plt.subplots(1, 3, figsize=(13.2, 4.4), layout="constrained")
    # One trial at a time where that was timed.
    alone = [report.times[min(key for key in report.times if key[0] == name)] for name in names]
    xs = [panels[name].x for name in names]
    for i, label in enumerate(order):
        seconds = [t.ns[label] @ np.diff(t.stops, prepend=0) / 1e9 for t in alone]  # more or fewer repeats each
        style = _style(i)
        low, middle, high = np.transpose([np.quantile(row, (0.25, 0.5, 0.75)) for row in seconds])
        left.plot(xs, middle, label=label, markersize=4, **style)
        left.fill_between(xs, low, high, color=style["color"], alpha=0.2, linewidth=0)
    left.set(yscale="log", xlabel=report.experiment.axis, ylabel="seconds per trial (one core)", xticks=xs)
    beside = "" if alone[0].width == 1 else f", {alone[0].width} side by side"
    left.set_title(f"time of a trial of {report.horizon:,} rounds{beside}")
    left.spines[["top", "right"]].set_visible(False)
    for ax, name, measured in zip(rest, (names[0], names[-1]), (alone[0], alone[-1]), strict=True):
        times(ax, measured, order)
        ax.set_title(f"time per round, {panels[name].title}")
    figure.legend(*left.get_legend_handles_labels(), loc="outside right center", frameon=False)
    return figure


def regions(plt: Any, report: Report) -> "Figure":
    """Confidence regions of the first seed's trace within the ball, one column per number of rounds."""
    (result,) = report.results.values()
    marks = glm_theory.marks(report.horizon)
    size = (3.7 * len(marks) + 1.7, 4.8)
    figure, axes = plt.subplots(1, len(marks), figsize=size, layout="constrained", squeeze=False)
    for ax, mark in zip(axes[0], marks, strict=True):
        found, theta, norm = glm_theory.regions_of(result, 0, mark)
        circle = norm * np.exp(1j * np.linspace(0.0, 2.0 * np.pi, 200))
        ax.plot(circle.real, circle.imag, color="#000000", linewidth=0.8, label=f"ball of radius {norm:g}")
        for i, region in enumerate(found):
            line = region_lib.boundary(region_lib.within_ball(region, norm))
            ax.fill(*line.T, color=curves.COLOURS[i], alpha=0.12, linewidth=0)
            ax.plot(
                *np.vstack([line, line[:1]]).T, color=curves.COLOURS[i], linestyle=curves.STYLES[i], label=region.name
            )
            ax.plot(*region.center, color=curves.COLOURS[i], marker="+", linestyle="")
        ax.plot(*theta, color="#000000", marker="*", markersize=9, linestyle="", label="theta*")
        ax.set(aspect="equal", title=f"after {mark:,} rounds", xlabel="theta, first coordinate")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("second coordinate")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    return figure


def against(plt: Any, report: Report) -> "Figure":
    """Final mean of the metric of each algorithm against `Panel.x`, with t-intervals; `Panel.bound` dashed."""
    experiment = report.experiment
    panels = experiment.panels(report.horizon)
    at = {name: panel.x for name, panel in panels.items() if not math.isnan(panel.x)}
    figure, ax = plt.subplots(figsize=(8.8, 5.2), layout="constrained")
    rows = {name: {row.algorithm: row for row in report.results[name].summary(experiment.metric)} for name in at}
    labels = [a for a in next(iter(report.results.values())).algorithms if a not in experiment.not_drawn]
    values = []
    bounds = {x: panels[name].bound for name, x in at.items() if not math.isnan(panels[name].bound)}
    for i, label in enumerate(labels):
        worst: dict[float, Any] = {}
        for name, x in at.items():
            row = rows[name].get(label)
            if row is not None and (x not in worst or row.mean > worst[x].mean):
                worst[x] = row
        xs = sorted(worst)
        mean, low, high = (np.asarray([getattr(worst[x], k) for x in xs]) for k in ("mean", "low", "high"))
        values += [*mean]
        style = _style(i) | ({"linestyle": ""} if bounds else {})  # beside bounds the panels are different instances
        ax.errorbar(xs, mean, [mean - low, high - mean], label=label, capsize=2, markersize=5, **style)
    if bounds:
        ax.plot(sorted(bounds), [bounds[x] for x in sorted(bounds)], color="#000000", linestyle="--", label="theory")
    ax.set(xscale="log", xlabel=experiment.axis, ylabel=f"mean {experiment.metric.replace('_', ' ')}")
    marks = sorted(set(at.values()))
    if all(right > 1.3 * left for left, right in itertools.pairwise(marks)):  # else their labels would overlap
        ax.set_xticks(marks, [f"{x:,.0f}" if x >= 100 else f"{x:.3g}" for x in marks])
        ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    if min(values) > 0.0:
        ax.set_yscale("log" if max(values) > 5.0 * min(values) else "linear")
    else:  # negative regret is correct against a moving mean
        ax.set_yscale("symlog", linthresh=max(1e-3, float(np.quantile(np.abs(values), 0.2))))
    figure.legend(fontsize="small", frameon=False, loc="outside right center")
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def bound(plt: Any, report: Report) -> "Figure":
    """Regret of every trial's quantiles beside the bound of the theory, on logarithmic axes; one column per panel."""
    panels = report.experiment.panels(report.horizon)
    figure, axes = plt.subplots(1, len(panels), figsize=(3.8 * len(panels), 3.8), layout="constrained", sharey=True)
    for ax, (name, panel) in zip(np.atleast_1d(axes), panels.items(), strict=True):
        result = report.results[name]
        for i, label in enumerate(result.algorithms):
            good = result.usable(report.experiment.metric)[i, 0]
            regret = np.maximum(result.get(report.experiment.metric, label)[0][good], 1e-3)
            colour = curves.COLOURS[i]
            ax.plot(result.records, np.median(regret, axis=0), color=colour, label=f"{label}, median")
            ax.plot(result.records, regret.max(axis=0), color=colour, linestyle=":", label=f"{label}, largest")
            limit = result.get("bound", label)[0][good]
            ax.plot(result.records, np.median(limit, axis=0), color="#000000", linestyle="--", label="bound")
        ax.set(xscale="log", yscale="log", xlabel="round", title=f"{panel.title}\n{len(result.seeds)} seeds")
        ax.spines[["top", "right"]].set_visible(False)
    np.atleast_1d(axes)[0].set_ylabel("regret")
    np.atleast_1d(axes)[0].legend(fontsize="small", frameon=False)
    return figure


def shares(plt: Any, report: Report) -> "Figure":
    """Distribution function of the final metric over seeds, one curve per panel and algorithm."""
    figure, ax = plt.subplots(figsize=(8.6, 4.4), layout="constrained")
    metric, panels = report.experiment.metric, report.experiment.panels(report.horizon)
    pairs = [(panel, name) for panel in panels for name in report.results[panel].algorithms]
    for i, (panel, name) in enumerate(pairs):
        result = report.results[panel]
        index = result.algorithms.index(name)
        values = np.sort(result.final(metric, name)[0][result.usable(metric)[index, 0]])
        share = np.arange(1, len(values) + 1) / len(values)
        style = _style(i) | {"marker": ""}
        ax.step(values, share, where="post", label=f"{name}, {panels[panel].title}", **style)
    ax.axvline(1.0, color="#000000", linewidth=0.8)
    ax.set(xscale="log", xlabel=metric.replace("_", " "), ylabel="share of trials at or below", ylim=(0.0, 1.02))
    figure.legend(fontsize="small", frameon=False, loc="outside right center")
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def exponents(plt: Any, report: Report) -> "Figure":
    """Growth exponents with intervals against eps, beside 1/(1 + eps); and the mean curves behind them."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 4.2), layout="constrained")
    panels, metric = report.experiment.panels(report.horizon), report.experiment.metric
    orders = [float(panel.environment.eps) for panel in panels.values()]
    for i, label in enumerate(next(iter(report.results.values())).algorithms):
        found = [exponent(report.results[name], label, metric) for name in panels]
        centre, low, high = (np.asarray([getattr(e, field) for e in found], float) for field in ("mean", "low", "high"))
        reach = [centre - low, high - centre]
        left.errorbar(orders, centre, reach, color=curves.COLOURS[i], marker="o", linestyle="", capsize=3, label=label)
        for j, name in enumerate(panels):
            result = report.results[name]
            good = result.usable(metric)[i, 0]
            mean = np.maximum(result.get(metric, label)[0][good].mean(axis=0), 1e-3)
            right.plot(result.records, mean, color=curves.COLOURS[j], linestyle=curves.STYLES[j],
                       label=panels[name].title)  # fmt: skip
    grid = np.linspace(min(orders), max(orders), 100)
    left.plot(grid, 1.0 / (1.0 + grid), color="#000000", label="1/(1 + eps), worst case")
    left.set(xlabel="eps", ylabel=f"growth exponent of mean {metric}")
    right.set(xscale="log", yscale="log", xlabel="round", ylabel=f"mean {metric}")
    for ax in (left, right):
        ax.legend(fontsize="small", frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def heatmap(plt: Any, report: Report) -> "Figure":
    """Mean of the final metric over pairs of swept hyperparameters, the others at their nominal values (outlined)."""
    experiment = report.experiment
    ((name, panel),) = experiment.panels(report.horizon).items()
    (algorithm,) = experiment.algorithms(report.preset, report.horizon, panel).values()
    result, fields = report.results[name], list(experiment.grid or {})
    nominal = {field: _nearest(result, field, getattr(algorithm, field)) for field in fields}
    pairs = list(itertools.combinations(fields, 2))
    columns = 5 if len(pairs) > 4 else len(pairs)
    rows = -(-len(pairs) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(3.3 * columns, 3.2 * rows), layout="constrained")
    maps = [_means(result, experiment.metric, first, second, nominal) for first, second in pairs]
    scale = plt.matplotlib.colors.LogNorm(min(m.min() for m in maps), max(m.max() for m in maps))
    for ax, (first, second), means in zip(axes.flat, pairs, maps, strict=False):
        image = ax.imshow(means, norm=scale, cmap="viridis_r", origin="lower", aspect="auto")
        for (i, j), value in np.ndenumerate(means):
            shade = "white" if scale(value) > 0.5 else "black"
            number = f"{value / 1000:.1f}k" if value >= 1000 else f"{value:.3g}"
            ax.text(j, i, number, ha="center", va="center", fontsize=6.5, color=shade)
        across, up = (_values(result, field) for field in (second, first))
        corner = (across.index(nominal[second]) - 0.5, up.index(nominal[first]) - 0.5)
        ax.add_patch(plt.Rectangle(corner, 1, 1, fill=False, edgecolor="#D55E00", linewidth=2))
        ax.set_xticks(range(len(across)), [f"{v:.3g}" for v in across])
        ax.set_yticks(range(len(up)), [f"{v:.3g}" for v in up])
        ax.set(xlabel=second, ylabel=first)
        ax.grid(visible=False)
    for ax in list(axes.flat)[len(pairs) :]:
        ax.set_visible(False)
    figure.colorbar(image, ax=axes, label=f"mean {experiment.metric}, {len(result.seeds)} seeds", shrink=0.8)
    return figure


def _style(i: int) -> dict[str, Any]:
    """Of the i-th algorithm: for the first eight the same as in the curves, then other lines in the same colours."""
    k, turn = i % 8, i // 8
    line, marker = curves.STYLES[(k + turn) % 8], curves.MARKERS[(k + 3 * turn) % 8]
    return {"color": curves.COLOURS[k], "linestyle": line, "marker": marker}


def _values(result: Result, field: str) -> list[float]:
    return sorted({point[field] for point in result.points})


def _nearest(result: Result, field: str, value: Any) -> float:
    return min(_values(result, field), key=lambda v: abs(v - float(value)))


def _means(result: Result, metric: str, first: str, second: str, nominal: dict[str, float]) -> np.ndarray:
    """`[values of first, values of second]` mean final metric; NaN where every trial failed."""
    finals, usable = result.final(metric)[0], result.usable(metric)[0]
    index = {tuple(point[f] for f in nominal): i for i, point in enumerate(result.points)}
    up, across = _values(result, first), _values(result, second)
    means = np.full((len(up), len(across)), np.nan)
    for (i, a), (j, b) in itertools.product(enumerate(up), enumerate(across)):
        row = index[tuple((nominal | {first: a, second: b})[f] for f in nominal)]
        if usable[row].any():
            means[i, j] = finals[row][usable[row]].mean()
    return means
