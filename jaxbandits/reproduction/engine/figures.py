"""Figures of an experiment; each figure is an object that holds its settings.

The module `report` draws the figures of this file. A figure of one experiment only is an object in the file of that
experiment, with a method `draw(plt, report)`.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import ClassVar, Protocol


class Drawing(Protocol):
    """A figure of an experiment."""

    @property
    def name(self) -> str:
        """Suffix of its files beside those of the experiment's first figure; unique in an experiment."""
        ...


@dataclasses.dataclass(frozen=True)
class Curves:
    """A metric along a run, panels side by side: means with t-intervals above medians with quantiles.

    The second row is left out where it would repeat the first: all trials of every curve are the same.

    Attributes:
      metric: which; None: the experiment's.
      x: the abscissa: `round`, or any scalar metric that is recorded, such as a number of samples.
      not_drawn: labels in the tables whose curves are left out, because they would flatten all others.
      logarithmic: True for an axis that is logarithmic above 1, for learners that differ by orders of magnitude.
      times: the measured time per round beside them, of the first timed panels.
      limit: what a claim allows of single trials, as a dashed line on a logarithmic axis (what is far below it is
        rounding); then medians with quantiles only.
      reference: a recorded metric that is the same for all learners, and what to call it: its mean in grey.
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
      axis: what `Panel.x` is.
      metric: which; None: the experiment's.
      not_drawn: as for `Curves`.
      name: see `Drawing`.
    """

    axis: str
    metric: str | None = None
    not_drawn: tuple[str, ...] = ()
    name: str = "against"


@dataclasses.dataclass(frozen=True)
class Cost:
    """Time of one whole trial against `Panel.x`, and the time per round behind it in the first and last timed panel.

    Attributes:
      axis: what `Panel.x` is.
      name: see `Drawing`.
    """

    timed: ClassVar[bool] = True  # draws times, and nothing where there are none
    axis: str
    name: str = "cost"


@dataclasses.dataclass(frozen=True)
class Heatmap:
    """Mean of the final metric over all pairs of the swept fields, the others at their nominal values.

    Attributes:
      nominal: field to the value (of the nearest point) at which the other maps pass; outlined.
      metric: which; None: the experiment's.
      name: see `Drawing`.
    """

    nominal: Mapping[str, float]
    metric: str | None = None
    name: str = "heatmap"


@dataclasses.dataclass(frozen=True)
class Bound:
    """Quantiles of a metric over trials beside a bound of the theory, on logarithmic axes; one column per panel.

    Attributes:
      metric: which; None: the experiment's.
      bound: the metric that is the bound.
      name: see `Drawing`.
    """

    metric: str | None = None
    bound: str = "bound"
    name: str = "bound"


@dataclasses.dataclass(frozen=True)
class Shares:
    """Distribution function of the final metric over seeds, one curve per panel and label.

    Attributes:
      metric: which; None: the experiment's.
      mark: a value that is marked: what the theory allows; None: none is.
      name: see `Drawing`.
    """

    metric: str | None = None
    mark: float | None = 1.0
    name: str = "shares"


@dataclasses.dataclass(frozen=True)
class Exponents:
    """Growth exponents of a mean metric against `Panel.x`, beside the theory's; and the mean curves behind them.

    Attributes:
      axis: what `Panel.x` is.
      theory: from `Panel.x` to the exponent that the theory states.
      statement: what the theory's curve is called.
      metric: which; None: the experiment's.
      name: see `Drawing`.
    """

    axis: str
    theory: Callable[[float], float]
    statement: str
    metric: str | None = None
    name: str = "exponents"


@dataclasses.dataclass(frozen=True)
class PanelCurves:
    """A metric along a run: means with t-intervals, one axes with a legend per panel.

    Attributes:
      panels: names; empty: all.
      metric: name; None: that of the experiment.
      x: the abscissa, as for `Result.plot`.
      logarithmic: True for a logarithmic abscissa.
      mark: share of the rounds of a panel that is marked; 0: none.
      pairs: panel and two labels of each axes, where not all labels of a panel share one.
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
    """The risk of single groups along a run: means with t-intervals, one axes per group.

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
