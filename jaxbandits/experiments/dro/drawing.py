"""Figures of these experiments: one axes a panel or a group, whose learners differ from panel to panel."""

import dataclasses
import math
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jaxbandits.experiments.engine.run import Report

SMALL: dict[str, Any] = {"fontsize": "small", "title_fontsize": "small", "frameon": False}  # legend of one axes


@dataclasses.dataclass(frozen=True)
class PanelCurves:
    """A metric along a run, one axes a panel with a legend of its own: means with t-intervals.

    Attributes:
      panels: names; empty: all.
      metric: name; None: that of the experiment.
      x: the abscissa, as for `Result.plot`.
      logarithmic: True for a logarithmic abscissa.
      mark: from the horizon to an abscissa that is marked.
      pairs: panel and two labels of each axes, where not all labels of a panel share one.
      name: see `Drawing`.
    """

    panels: tuple[str, ...] = ()
    metric: str | None = None
    x: str = "round"
    logarithmic: bool = False
    mark: Callable[[int], float] | None = None
    pairs: tuple[tuple[str, str, str], ...] = ()
    name: str = "curves"

    def draw(self, plt: Any, report: "Report") -> "Figure":
        """Draw the figure, without its title."""
        every = [(name, tuple(report.results[name])) for name in self.panels or report.panels]
        pairs = [(name, tuple(label for label in pair if label in report.results[name])) for name, *pair in self.pairs]
        parts = [(name, labels) for name, labels in pairs or every if labels]  # some may be left out of this run
        down = 2 if len(parts) > 3 else 1
        across = math.ceil(len(parts) / down)
        size = (max(6.4, 5.2 * across), 4.2 if down == 1 else 7.0)
        figure, axes = plt.subplots(down, across, figsize=size, layout="constrained", squeeze=False)
        for ax in axes.flat[len(parts) :]:
            ax.set_axis_off()
        for ax, (name, labels) in zip(axes.flat, parts, strict=False):
            report.results[name].plot(self.metric or report.experiment.metric, x=self.x, algorithms=labels, ax=ax)
            ax.set_title(report.panels[name].title)
            handles, labels = ax.get_legend_handles_labels()
            title = ax.get_legend().get_title().get_text()
            ax.legend(handles, labels, title=title, **SMALL)
            if self.logarithmic:
                ax.set_xscale("log")
            if self.mark is not None:
                ax.axvline(self.mark(report.horizon), color="0.4", linestyle="--", linewidth=0.8)
        return figure


@dataclasses.dataclass(frozen=True)
class GroupCurves:
    """The risk of single groups along a run, one axes a group: means with t-intervals.

    Attributes:
      groups: indices, from 0.
      panel: of the experiment.
      x: the abscissa, as for `Result.plot`.
      logarithmic: True for a logarithmic abscissa, for learners with rounds of their own.
      name: see `Drawing`.
    """

    needs: ClassVar = ("risk",)
    groups: tuple[int, ...]
    panel: str
    x: str = "round"
    logarithmic: bool = False
    name: str = "groups"

    def draw(self, plt: Any, report: "Report") -> "Figure":
        """Draw the figure, without its title."""
        result, across = report.results[self.panel], 3
        down = math.ceil(len(self.groups) / across)
        figure, axes = plt.subplots(down, across, figsize=(4.0 * across, 3.1 * down), layout="constrained")
        names = getattr(report.panels[self.panel].environment, "names", None)
        for ax, group in zip(axes.flat, self.groups, strict=False):
            result.plot("risk", x=self.x, group=group, ax=ax)
            ax.set_title(f"group {group + 1}" + (f": {names[group]}" if names else ""))
            ax.set_ylabel("risk")
            if self.logarithmic:
                ax.set_xscale("log")
            handles, labels = ax.get_legend_handles_labels()
            ax.get_legend().remove()
        for ax in axes.flat[len(self.groups) :]:
            ax.set_axis_off()
        seeds = max(len(trials.seeds) for trials in result.trials.values())
        shown = [label.partition(" (group")[0] for label in labels]
        title = report.panels[self.panel].title.replace(" = ", "\u00a0=\u00a0")  # no line ends inside an equation
        about = textwrap.fill(title, 24)
        title = f"{about}\nmean, 95 % t-interval\n{seeds} seeds"
        figure.legend(handles, shown, title=title, loc="outside right center", frameon=False)
        return figure
