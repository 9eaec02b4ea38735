"""Figures of an experiment; each figure is an object that holds its settings.

The package `jaxbandits.reproduction.figures` draws the figures of this file. A figure that only one experiment uses is
an object in the file of that experiment, with a method `draw(plt, report)`.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import ClassVar, Protocol


class Drawing(Protocol):
    """A figure of an experiment."""

    @property
    def name(self) -> str:
        """Suffix of the names of its files; unique in an experiment, and "" for the first figure."""
        ...


@dataclasses.dataclass(frozen=True)
class Curves:
    """Curves of a metric over the rounds, panels side by side: means with t-intervals above medians with quantiles.

    The second row is omitted if it would repeat the first, that is, if all trials of every curve are equal.

    Attributes:
      metric: name of the metric; None: that of the experiment.
      x: metric on the x-axis: `round`, or any recorded scalar metric, such as a number of samples.
      not_drawn: labels that are only in the tables, since their curves would flatten all others.
      logarithmic: True for an axis that is logarithmic above 1, for learners that differ by orders of magnitude.
      times: True to draw the measured time per round of the first timed panels next to the curves.
      limit: largest value that a claim allows for single trials, drawn as a dashed line on a logarithmic axis, since
        values far below it are rounding errors; with a limit, only medians with quantiles are drawn.
      reference: name and title of a recorded metric that is the same for all learners; its mean is drawn in grey.
      name: see `Drawing`.
    """

    metric: str | None = None
    x: str = "round"
    not_drawn: tuple[str, ...] = ()
    logarithmic: bool = False
    times: bool = False
    limit: float | None = None
    reference: tuple[str, str] | None = None
    name: str = "curves"


@dataclasses.dataclass(frozen=True)
class Against:
    """Final mean of a metric for each label against `Panel.x`, with t-intervals, and `Panel.bound` as a dashed line.

    Attributes:
      axis: label of the axis of `Panel.x`.
      metric: name of the metric; None: that of the experiment.
      not_drawn: as for `Curves`.
      name: see `Drawing`.
    """

    axis: str
    metric: str | None = None
    not_drawn: tuple[str, ...] = ()
    name: str = "against"


@dataclasses.dataclass(frozen=True)
class Cost:
    """Time of a whole trial against `Panel.x`, and the time per round in the first and last timed panel.

    Attributes:
      axis: label of the axis of `Panel.x`.
      name: see `Drawing`.
    """

    timed: ClassVar[bool] = True  # the figure shows times and is omitted without timings
    axis: str
    name: str = "cost"


@dataclasses.dataclass(frozen=True)
class Heatmap:
    """Mean of the final metric over all pairs of swept fields, with the other fields at their nominal values.

    Attributes:
      nominal: mapping from a field to its nominal value; the nearest point of the grid is outlined, and the other maps
        are sections through it.
      metric: name of the metric; None: that of the experiment.
      name: see `Drawing`.
    """

    nominal: Mapping[str, float]
    metric: str | None = None
    name: str = "heatmap"


@dataclasses.dataclass(frozen=True)
class Bound:
    """Quantiles of a metric over trials together with a bound of the theory, on logarithmic axes; one column per panel.

    Attributes:
      metric: name of the metric; None: that of the experiment.
      bound: name of the metric that holds the bound.
      name: see `Drawing`.
    """

    metric: str | None = None
    bound: str = "bound"
    name: str = "bound"


@dataclasses.dataclass(frozen=True)
class Shares:
    """Distribution function of the final metric over seeds, one curve per panel and label.

    Attributes:
      metric: name of the metric; None: that of the experiment.
      mark: value to mark, such as the largest that the theory allows; None: no mark.
      name: see `Drawing`.
    """

    metric: str | None = None
    mark: float | None = 1.0
    name: str = "shares"


@dataclasses.dataclass(frozen=True)
class Exponents:
    """Growth exponents of a mean metric against `Panel.x`, the exponents of the theory, and the fitted mean curves.

    Attributes:
      axis: label of the axis of `Panel.x`.
      theory: function from `Panel.x` to the exponent that the theory states.
      statement: label of the theory's curve.
      metric: name of the metric; None: that of the experiment.
      name: see `Drawing`.
    """

    axis: str
    theory: Callable[[float], float]
    statement: str
    metric: str | None = None
    name: str = "exponents"


@dataclasses.dataclass(frozen=True)
class PanelCurves:
    """Curves of a metric over the rounds, as means with t-intervals; one axes with a legend per panel.

    Attributes:
      panels: names of the panels; empty for all.
      metric: name of the metric; None: that of the experiment.
      x: metric on the x-axis, as for `Result.plot`.
      logarithmic: True for a logarithmic x-axis.
      mark: share of the rounds of a panel at which a line is drawn; 0 for none.
      pairs: panel and two labels of each axes, if the labels of a panel are spread over several axes.
      name: see `Drawing`.
    """

    panels: tuple[str, ...] = ()
    metric: str | None = None
    x: str = "round"
    logarithmic: bool = False
    mark: float = 0.0
    pairs: tuple[tuple[str, str, str], ...] = ()
    name: str = "curves"


@dataclasses.dataclass(frozen=True)
class GroupCurves:
    """Curves of the risk of single groups over the rounds, as means with t-intervals; one axes per group.

    Attributes:
      groups: indices of the groups, from 0.
      panel: name of the panel.
      x: metric on the x-axis, as for `Result.plot`.
      logarithmic: True for a logarithmic x-axis, for learners with different numbers of rounds.
      name: see `Drawing`.
    """

    needs: ClassVar = ("risk",)
    groups: tuple[int, ...]
    panel: str
    x: str = "round"
    logarithmic: bool = False
    name: str = "groups"
