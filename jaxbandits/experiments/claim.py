"""Claims: sentences of a paper as statistical tests, and their verdicts."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np

from jaxbandits.core.errors import InputError
from jaxbandits.results.intervals import Estimate
from jaxbandits.results.result import Result
from jaxbandits.simulation import RoundTimes

Verdict = Literal["holds", "does not hold", "not decided"]


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
        except InputError:  # a label that was left out of this run
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
