"""What an experiment is: panels of environments, algorithms per preset, and claims that are tested on the results."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from jaxbandits.core.errors import unknown
from jaxbandits.simulation import Meter, Result
from jaxbandits.simulation.statistics import Estimate

Verdict = Literal["holds", "does not hold", "not decided"]
Results = Mapping[str, Result]  # panel name to result


@dataclasses.dataclass(frozen=True)
class Claim:
    """A sentence of a paper as a statistical test.

    Attributes:
      text: the claim, with the threshold that makes it testable.
      source: figure and place.
      statistic: from the results to a scalar estimate with its confidence interval.
      low: the claim says that the statistic lies in `(low, high)`.
      high: see `low`.
      trials: seeds below which nothing is decided.
    """

    text: str
    source: str
    statistic: Callable[[Results], Estimate]
    low: float = -math.inf
    high: float = math.inf
    trials: int = 50

    def judge(self, results: Results, enough_rounds: bool = True) -> "Judged":
        """Holds when the whole interval lies inside `(low, high)`, does not hold when it lies outside.

        Nothing is decided on too few seeds, on a shorter horizon than the paper's, or when a trial failed.
        """
        estimate = self.statistic(results)
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
            return "no interval: too few pieces were timed in this run"
        numbers = f"{self.value:.4g} in [{self.low:.4g}, {self.high:.4g}], claimed {_region(self.claim)}"
        return numbers if self.enough_rounds else f"{numbers}, at fewer rounds than the paper's"


def _region(claim: Claim) -> str:
    if math.isinf(claim.low):
        return f"< {claim.high:g}"
    return f"> {claim.low:g}" if math.isinf(claim.high) else f"in ({claim.low:g}, {claim.high:g})"


class Panel(NamedTuple):
    """One set of axes of a figure."""

    title: str
    environment: Any


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
      algorithms: from (preset, horizon, environment of a panel) to label -> algorithm; the same labels everywhere.
      panels: from horizon to panel name -> title and environment.
      metric: the metric of the curves and of the table.
      claims: what the paper says about it.
      notes: what a reader of the figure must know (tuning, readings of ambiguous text).
      meters: extra meters.
      time_panel: also draw the measured time per round.
      not_drawn: labels that are run and tabulated, but whose curves would flatten all others.
    """

    name: str
    title: str
    source: str
    horizon: int
    seeds: int
    presets: Mapping[str, str]
    algorithms: Callable[[str, int, Any], Mapping[str, Any]]
    panels: Callable[[int], Mapping[str, Panel]]
    metric: str
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    meters: tuple[Meter, ...] = ()
    time_panel: bool = False
    not_drawn: tuple[str, ...] = ()

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


def lookup(experiments: Mapping[str, Experiment], name: str) -> Experiment:
    """An experiment by name.

    Raises:
      InputError: for an unknown name, with the closest known ones.
    """
    if name not in experiments:
        raise unknown("experiment", name, experiments)
    return experiments[name]
