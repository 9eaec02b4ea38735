"""Draw figures of the kind `Cost`: time of a trial against `Panel.x`, and time per round against the round."""

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from jaxbandits.reproduction.engine.figures import Cost
from jaxbandits.reproduction.engine.run import Report
from jaxbandits.reproduction.figures import style
from jaxbandits.simulation import RoundTimes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(drawing: Cost, plt: ModuleType, report: Report) -> "Figure":
    """Draw and return the figure, without its title."""
    panels, order = report.panels, report.order()
    names = list(dict.fromkeys(name for name, _ in report.times))
    figure, (left, *rest) = plt.subplots(1, 3, figsize=(13.2, 4.4), layout="constrained")
    # Use the timings of single trials if there are any.
    alone = [report.times[min(key for key in report.times if key[0] == name)] for name in names]
    xs = [panels[name].x for name in names]
    for label in report.labels:
        # Panels may have different numbers of repeats.
        seconds = [t.ns[label] @ np.diff(t.stretch_ends, prepend=0) / 1e9 for t in alone]
        look = style.of_label(order.index(label))
        low, middle, high = np.transpose([np.quantile(row, (0.25, 0.5, 0.75)) for row in seconds])
        left.plot(xs, middle, label=label, markersize=4, **look)
        left.fill_between(xs, low, high, color=look["color"], alpha=0.2, linewidth=0)
    left.set(yscale="log", xlabel=drawing.axis, ylabel="seconds per trial (one core)", xticks=xs)
    beside = "" if alone[0].width == 1 else f", {alone[0].width} side by side"
    left.set_title(f"time of a trial of {report.horizon:,} rounds{beside}")
    style.open_frame(left)
    for ax, name, measured in zip(rest, (names[0], names[-1]), (alone[0], alone[-1]), strict=True):
        per_round(ax, measured, order)
        ax.set_title(f"time per round, {panels[name].title}")
    figure.legend(*left.get_legend_handles_labels(), loc="outside right center", frameon=False)
    return figure


def per_round(ax: "Axes", measured: RoundTimes, order: Sequence[str]) -> None:
    """Draw time per round against the round, as median and quartiles over repeats.

    Args:
      ax: axes to draw in.
      measured: timings of a panel.
      order: labels in the order of their colours.
    """
    middles = measured.stretch_ends - np.diff(measured.stretch_ends, prepend=0) / 2.0
    for name, ns in measured.ns.items():
        look = style.of_label(order.index(name))
        low, middle, high = np.quantile(ns, (0.25, 0.5, 0.75), axis=0)
        ax.plot(middles, middle, label=name, markersize=4, **look)
        ax.fill_between(middles, low, high, color=look["color"], alpha=0.2, linewidth=0)
    ax.set_yscale("log", nonpositive="mask")  # times this short may be hidden by the call overhead
    ax.set(xscale="log", xlabel="round", ylabel="ns per round and trial (one core)")
    ax.tick_params(axis="x", which="minor", labelbottom=False)
    ax.set_title("time, one trial" if measured.width == 1 else f"time, {measured.width} trials side by side")
    style.open_frame(ax)
