"""What an experiment is: panels of environments, algorithms per preset, and claims that are tested on the results."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from jaxbandits.core.errors import InputError, unknown
from jaxbandits.results.intervals import Estimate
from jaxbandits.simulation import Meter, Result, RoundTimes

Verdict = Literal["holds", "does not hold", "not decided"]
Kind = Literal["curves", "against", "bound", "shares", "exponents", "heatmap", "cost", "regions"]


class Measured(NamedTuple):
    """What an experiment has measured."""

    results: Mapping[str, Result]  # panel name to result
    times: Mapping[tuple[str, int], RoundTimes]  # (panel, trials side by side) to time per round; empty if not timed


@dataclasses.dataclass(frozen=True)
class Claim:
    """A sentence of a paper as a statistical test.

    Attributes:
      text: the claim, with the threshold that makes it testable.
      source: figure and place.
      statistic: from what was measured to a scalar estimate with its confidence interval.
      low: the claim says that the statistic lies in `(low, high)`.
      high: see `low`.
      trials: seeds (of timings: repeats) below which nothing is decided.
    """

    text: str
    source: str
    statistic: Callable[[Measured], Estimate]
    low: float = -math.inf
    high: float = math.inf
    trials: int = 50

    def judge(self, measured: Measured, enough_rounds: bool = True) -> "Judged":
        """Holds when the whole interval lies inside `(low, high)`, does not hold when it lies outside.

        Nothing is decided on too few seeds, on a shorter horizon than the paper's, or when a trial failed.
        """
        try:
            estimate = self.statistic(measured)
        except InputError:  # an algorithm that was left out of this run
            estimate = Estimate(*map(np.asarray, (np.nan, -np.inf, np.inf)), n=self.trials)
        low, high = float(estimate.low), float(estimate.high)
        verdict: Verdict = "not decided"
        if estimate.n >= self.trials and enough_rounds and not estimate.failed:
            if low > self.low and high < self.high:
                verdict = "holds"
            elif high <= self.low or low >= self.high:
                verdict = "does not hold"
        return Judged(self, verdict, float(estimate.mean), low, high, estimate.n, estimate.failed, enough_rounds)


@dataclasses.dataclass(frozen=True)
class Judged:
    """A claim with its verdict: always computed from results, never written in."""

    claim: Claim
    verdict: Verdict
    value: float
    low: float
    high: float
    n: int
    failed: int
    enough_rounds: bool

    @property
    def why(self) -> str:
        """One clause for the ledger."""
        if self.failed:
            return f"{self.failed} trials are not finite"
        if self.n < self.claim.trials:
            return f"needs {self.claim.trials} seeds, has {self.n}"
        if math.isnan(self.value):
            return "not measured in this run"
        numbers = f"{self.value:.4g} in [{self.low:.4g}, {self.high:.4g}], claimed {_region(self.claim)}"
        return numbers if self.enough_rounds else f"{numbers}, at fewer rounds than the paper's"


def _region(claim: Claim) -> str:
    if math.isinf(claim.low):
        return f"< {claim.high:g}"
    return f"> {claim.low:g}" if math.isinf(claim.high) else f"in ({claim.low:g}, {claim.high:g})"


class Panel(NamedTuple):
    """One set of axes of a figure, or one abscissa of an "against" figure."""

    title: str
    environment: Any
    x: float = math.nan  # where its results stand in an "against" figure; of equal ones the largest mean is drawn
    bound: float = math.nan  # what the theory says (a bound, or the value itself), drawn there


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A figure of a paper as a declaration.

    Attributes:
      name: registry name, `family/figure`.
      title: one line for tables and figures.
      source: paper and figure.
      horizon: the paper's number of rounds.
      seeds: default number of trials.
      presets: preset name to what it means; the first is the default.
      algorithms: from (preset, horizon, panel) to label -> algorithm; the same labels everywhere.
      panels: from horizon to panel name -> title and environment.
      metric: the metric of the curves and of the table.
      tabulated: further metrics that get a table of their own.
      claims: what the paper says about it.
      notes: what a reader of the figure must know (tuning, readings of ambiguous text).
      meters: extra meters.
      derive: from (result, algorithms of the panel, panel) to further metrics, such as a bound of the theory.
      record: record points, as for `jaxbandits.compare`.
      slow: label to seeds, for learners too slow to run all of them.
      width: trials side by side; None: the default.
      calls_of: record points per compiled call, few where a learner is so slow that progress and Ctrl-C would wait.
      grid: hyperparameters of the one algorithm that are swept, as for `jaxbandits.sweep`.
      figures: how the results are drawn.
      axis: what `Panel.x` is, for the "against" figure.
      timed: panels whose time per round against the round is measured too.
      timed_at: trials side by side then; None: `width`.
      time_unit: label whose time the others' are multiples of in the table; "": that of the fastest.
      not_drawn: labels that are run and tabulated, but whose curves would flatten all others.
      logarithmic: curves on an axis that is logarithmic above 1, where learners differ by orders.
      float64: needs double precision.
      from_file: from a data file of the user to the fields (`panels`, `title`, ...) of the experiment on that file.
    """

    name: str
    title: str
    source: str
    horizon: int
    seeds: int
    presets: Mapping[str, str]
    algorithms: Callable[[str, int, Panel], Mapping[str, Any]]
    panels: Callable[[int], Mapping[str, Panel]]
    metric: str
    tabulated: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    meters: tuple[Meter, ...] = ()
    derive: Callable[[Result, Mapping[str, Any], Panel], Mapping[str, Any]] | None = None
    record: Any = 100
    slow: Mapping[str, int] = dataclasses.field(default_factory=dict)
    width: int | None = None
    calls_of: int | None = None
    grid: Mapping[str, Sequence[float]] | None = None
    figures: tuple[Kind, ...] = ("curves",)
    axis: str = ""
    timed: tuple[str, ...] = ()
    timed_at: tuple[int | None, ...] = (1, None)
    time_unit: str = ""
    not_drawn: tuple[str, ...] = ()
    logarithmic: bool = False
    float64: bool = False
    from_file: Callable[[Path], Mapping[str, Any]] | None = None

    def on(self, path: Path) -> "Experiment":
        """The same experiment on the user's data.

        Raises:
          InputError: when the experiment takes no file, or for a file that cannot be read.
        """
        if self.from_file is None:
            raise InputError(f"{self.name} takes no data file: leave --data out")
        return dataclasses.replace(self, **self.from_file(path))

    def preset(self, name: str | None) -> str:
        """A preset by name; the default one for None.

        Raises:
          InputError: for an unknown name.
        """
        if name is None:
            return next(iter(self.presets))
        if name not in self.presets:
            raise unknown(f"preset of {self.name}", name, self.presets)
        return name


def chosen(experiments: Mapping[str, Experiment], name: str) -> list[Experiment]:
    """The experiment of a name; those of a family for `family/all`; every one for `all`.

    Raises:
      InputError: for an unknown name, with the closest known ones.
    """
    families = dict.fromkeys(known.partition("/")[0] for known in experiments)
    groups = {"all": "", **{f"{family}/all": f"{family}/" for family in families}}
    if name in groups:
        return [experiment for known, experiment in experiments.items() if known.startswith(groups[name])]
    if name not in experiments:
        raise unknown("experiment", name, [*experiments, *groups])
    return [experiments[name]]
