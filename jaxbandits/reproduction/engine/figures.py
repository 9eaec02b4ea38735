"""Settings of the figures of an experiment, one class per kind of figure.

The package `jaxbandits.reproduction.figures` draws these figures. A figure that only one experiment uses is defined in
the module of that experiment, as a class with a method `draw(plt, report)`.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import ClassVar, Protocol


class Drawing(Protocol):
    """A figure of an experiment."""

    @property
    def name(self) -> str:
        """Suffix of the figure's file names, unique within an experiment; files of the first figure have no suffix."""
        ...


@dataclasses.dataclass(frozen=True)
class Curves:
    """Curves of a metric over the rounds: means with t-intervals in one row, and medians with quantiles in the next.

    Panels are side by side. The row of medians is omitted if it would repeat the row of means, that is, if all trials
    of every curve are equal. With a single panel, means and medians are side by side.

    Attributes:
      metric: name of the metric; None: the metric of the experiment.
      x: metric on the x-axis: `round`, or any recorded scalar metric, such as a number of samples.
      not_drawn: labels that appear in the tables only, since their curves would flatten all others.
      logarithmic: True for an axis that is logarithmic above 1, for learners that differ by orders of magnitude.
      times: True to draw the measured time per round of the first timed panels next to the curves, one per row.
      limit: largest value that a claim allows for single trials, drawn as a dashed line; None: no limit. With a limit,
        only medians with quantiles are drawn, on an axis that is logarithmic above a tenth of the limit, since smaller
        values are rounding errors.
      reference: name and title of a recorded metric that is equal for all learners, whose mean is drawn in grey; None:
        no such metric.
      name: suffix of the file names (`Drawing.name`).
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
      metric: name of the metric; None: the metric of the experiment.
      not_drawn: as for `Curves`.
      name: suffix of the file names (`Drawing.name`).
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
      name: suffix of the file names (`Drawing.name`).
    """

    timed: ClassVar[bool] = True  # the figure shows times and is omitted without timings
    axis: str
    name: str = "cost"


@dataclasses.dataclass(frozen=True)
class Heatmap:
    """Maps of the mean final metric, one for each pair of swept fields, with the other fields at their nominal values.

    Attributes:
      nominal: mapping from each swept field to its nominal value. The grid point nearest to these values is outlined in
        every map, and all maps are sections through it.
      metric: name of the metric; None: the metric of the experiment.
      name: suffix of the file names (`Drawing.name`).
    """

    nominal: Mapping[str, float]
    metric: str | None = None
    name: str = "heatmap"


@dataclasses.dataclass(frozen=True)
class Bound:
    """Median and largest value of a metric over trials, with a bound from the theory; one column per panel.

    Both axes are logarithmic.

    Attributes:
      metric: name of the metric; None: the metric of the experiment.
      bound: name of the metric that holds the bound, of which the median is drawn.
      name: suffix of the file names (`Drawing.name`).
    """

    metric: str | None = None
    bound: str = "bound"
    name: str = "bound"


@dataclasses.dataclass(frozen=True)
class Shares:
    """Distribution function of the final metric over seeds, one curve per panel and label.

    Attributes:
      metric: name of the metric; None: the metric of the experiment.
      mark: value to mark by a vertical line, such as the largest value that the theory allows; None: no line.
      name: suffix of the file names (`Drawing.name`).
    """

    metric: str | None = None
    mark: float | None = 1.0
    name: str = "shares"


@dataclasses.dataclass(frozen=True)
class Exponents:
    """Growth exponents of a mean metric against `Panel.x`, compared with the theory, and the mean curves.

    Attributes:
      axis: label of the axis of `Panel.x`.
      theory: function from `Panel.x` to the exponent that the theory states.
      statement: label of the theory's curve.
      metric: name of the metric; None: the metric of the experiment.
      name: suffix of the file names (`Drawing.name`).
    """

    axis: str
    theory: Callable[[float], float]
    statement: str
    metric: str | None = None
    name: str = "exponents"


@dataclasses.dataclass(frozen=True)
class PanelCurves:
    """Curves of a metric over the rounds, as means with t-intervals; each panel has its own axes and legend.

    Attributes:
      panels: names of the panels; empty for all.
      metric: name of the metric; None: the metric of the experiment.
      x: metric on the x-axis, as for `Result.plot`.
      logarithmic: True for a logarithmic x-axis.
      mark: position of a vertical dashed line, as a share of the rounds of a panel; 0 for no line.
      pairs: for each axes, a panel and the two labels that are drawn in it; () to draw one axes per panel.
      name: suffix of the file names (`Drawing.name`).
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
    """Curves of the risk of each group against rounds or another metric: means with t-intervals, one axes per group.

    Attributes:
      groups: indices of the groups, from 0.
      panel: name of the panel.
      x: metric on the x-axis, as for `Result.plot`.
      logarithmic: True for a logarithmic x-axis, for learners with different numbers of rounds.
      name: suffix of the file names (`Drawing.name`).
    """

    needs: ClassVar = ("risk",)
    groups: tuple[int, ...]
    panel: str
    x: str = "round"
    logarithmic: bool = False
    name: str = "groups"
