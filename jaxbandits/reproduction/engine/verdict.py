"""Verdicts on single claims (holds, does not hold, or open), computed from the measurements."""

import dataclasses
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from jaxbandits.analysis.intervals import Estimate, Intervals, infinite_estimate
from jaxbandits.base.errors import InputError, UnknownNameError, unknown_name
from jaxbandits.base.text import count_of
from jaxbandits.reproduction.engine.claim import Claim, Kind, Measurements
from jaxbandits.results.result import Result

Decision = Literal["holds", "does not hold", "open"]
_KEY = TypeVar("_KEY")
_VALUE = TypeVar("_VALUE")

METHOD = (
    "A row holds if the 95 % confidence interval of its statistic lies inside the claimed region, and does not hold if "
    "the interval lies outside. It is open in all other cases, and whenever the run has fewer seeds or rounds than "
    "the row needs or a trial failed. The interval of a mean, or of a ratio or slope of means, is Student's "
    "t-interval, widened to include a bootstrap-t interval with half the tail probability. Intervals of medians and of "
    "times are Student's t-intervals. A claim of equivalence is tested by two one-sided tests at 2.5 % each. A share "
    "of trials has the exact interval of Clopper and Pearson, and its p-value is twice the smaller binomial tail. "
    "Every other p-value is computed from the 95 % interval, on the assumption that the tails beyond it are those of "
    "Student's distribution with 6 degrees of freedom. The numerical thresholds behind words such as 'comparable' are "
    "in jaxbandits/reproduction/engine/thresholds.py."
)
ALPHA = 0.05  # level of a single claim, and family-wise level of all sentences of a paper
TAIL = 6  # degrees of freedom for p-values beyond the 95 % interval; means of 64 lognormal values have similar tails
WORDS: Mapping[Kind, Mapping[str, str]] = {  # wording by kind and decision
    "statement": {"holds": "holds", "does not hold": "does not hold"},
    "time": {"holds": "holds here", "does not hold": "not so here"},
    "theorem": {"holds": "satisfied", "does not hold": "violated"},
    "observation": {"holds": "observed", "does not hold": "not observed"},
}


def word(kind: Kind, decision: str) -> str:
    """Return the words for a decision on a claim of this kind, such as "violated" for a theorem that does not hold."""
    return WORDS[kind].get(decision, decision)


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Verdict on a claim, computed from measurements.

    Attributes:
      claim: the claim.
      decision: decision on this claim alone, at the 5 % level.
      value: estimate of the statistic.
      low: lower end of the 95 % interval of the statistic.
      high: upper end of the 95 % interval of the statistic.
      n: number of seeds, or of repeats of timings.
      failed: number of trials with values that are not finite.
      enough_rounds: True if the run had at least as many rounds as the experiment declares.
      p: smallest alpha at which the claim is decided (`p_value`); NaN if nothing was tested.
      deterministic: True if all seeds gave the same number, or if the statistic does not depend on seeds.
      missing: True if a label that the claim needs was left out, if the claim needs times and none were measured, or
        if the claim has a fault.
      applies: True if the claim is about the preset that was run.
      companions: pairs of a name and a number that are shown with the estimate.
      panels: panels that the statistic read.
      stand_ins: names of the real data sets that synthetic data replace in these panels.
      marks: reconstructed learners and guessed settings on which the verdict rests.
      fault: reason why the statistic cannot be computed from any run, such as an unknown metric; "" if it can.
    """

    claim: Claim
    decision: Decision
    value: float
    low: float
    high: float
    n: int
    failed: int = 0
    enough_rounds: bool = True
    p: float = math.nan
    deterministic: bool = False
    missing: bool = False
    applies: bool = True
    companions: tuple[tuple[str, float], ...] = ()
    panels: tuple[str, ...] = ()
    stand_ins: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    fault: str = ""

    @property
    def rests_on(self) -> tuple[str, ...]:
        """Replaced data, reconstructed learners and guessed settings on which the verdict rests."""
        return (*(f"a stand-in for {name}" for name in self.stand_ins), *self.marks)

    @property
    def word(self) -> str:
        """Words for the decision, such as "holds", "violated" or "cannot be judged"."""
        if self.claim.cannot_be_judged:
            return "cannot be judged"
        return "cannot fail" if self.claim.cannot_fail else word(self.claim.kind, self.decision)

    @property
    def is_early(self) -> bool:
        """True if there are fewer seeds (or repeats) than the claim needs and the estimate is not deterministic."""
        return self.n < self.claim.least and not self.deterministic

    @property
    def reason(self) -> str:
        """Clause for tables: the numbers of the verdict, or the reason why there are none."""
        if not self.applies:
            return f"this row is about the preset {' or '.join(self.claim.presets)}"
        if self.missing:
            return self.fault or "not measured in this run"
        if self.failed:
            return f"{count_of(self.failed, 'trial')} {'is' if self.failed == 1 else 'are'} not finite"
        if math.isnan(self.value) and self.decision != "open":
            return "the numbers of this run were not recorded"
        if self.is_early:
            return f"needs {self.claim.least} {self.claim.unit}, has {self.n}"
        if math.isnan(self.value):
            return f"the statistic is not a number on these {self.n} seeds, claimed {self.claim.region}"
        numbers = f"{self.value:.4g}, the same in every trial" if self.deterministic else self.interval
        parts = [f"{numbers}, claimed {self.claim.region}"]
        parts += [f"{_words_for(name)}: {number:.4g}" for name, number in self.companions]
        parts += [] if self.enough_rounds else ["with fewer rounds than the experiment declares"]
        return ", ".join(parts)

    @property
    def interval(self) -> str:
        """Estimate with its interval, in the form "0.12 in [0.1, 0.14]"."""
        return f"{self.value:.4g} in [{self.low:.4g}, {self.high:.4g}]"


def _words_for(companion: str) -> str:
    """Return the wording of a companion, whose name is a key of the ledger."""
    return companion.replace("share of the axis to ", "difference divided by the mean regret of ")


def judge(
    claim: Claim,
    measured: Measurements,
    enough_rounds: bool = True,
    preset: str | None = None,
    left_out: Collection[str] = (),
    timing: bool = True,
) -> Verdict:
    """Return the verdict on a claim.

    The claim holds if the 95 % interval of its statistic lies inside `(claim.low, claim.high)`, and does not hold if
    the interval lies outside. Otherwise it is open. It is also open if there are too few seeds, if the horizon is
    shorter than declared, if a trial failed, if the claim is about another preset, or if the statistic is NaN. A
    deterministic estimate (`Estimate.deterministic`) needs no minimum number of seeds.

    Args:
      claim: claim to judge.
      measured: measurements of the experiment.
      enough_rounds: True if the run had at least as many rounds as the experiment declares.
      preset: preset that was run; None: a preset that the claim is about.
      left_out: labels that this run leaves out; a claim that needs one of them is not measured, but has no fault.
      timing: False if this run leaves out the times.
    """
    panels: dict[str, None] = {}
    watched = Measurements(
        _WatchedResults(measured.results, panels, str), _WatchedMapping(measured.times, panels, lambda key: str(key[0]))
    )
    applies = preset is None or not claim.presets or preset in claim.presets
    missing, fault = False, ""
    try:
        estimate = claim.statistic(watched)
        _require_number(estimate)
    except InputError as error:
        missing, estimate = True, infinite_estimate(claim.least)
        is_left_out = isinstance(error, UnknownNameError) and error.unknown in left_out
        if applies and not is_left_out and (timing or claim.unit != "repeats"):
            fault = str(error)
    value, low, high = (float(number) for number in estimate[:3])
    enough = estimate.n >= claim.least or estimate.deterministic
    tested = enough and enough_rounds and applies and not estimate.failed and not math.isnan(value)
    return Verdict(
        claim,
        decide(claim, low, high) if tested else "open",
        value,
        low,
        high,
        n=estimate.n,
        failed=estimate.failed,
        enough_rounds=enough_rounds,
        p=p_value(claim, estimate) if tested else math.nan,
        deterministic=estimate.deterministic,
        missing=missing,
        applies=applies,
        companions=estimate.companions,
        panels=tuple(panels) or claim.panels,
        fault=fault,
    )


def _require_number(estimate: Estimate) -> None:
    if shape := max(map(np.shape, estimate[:3]), key=len):
        raise InputError(f"the statistic must be a single number, got an array of shape {shape}")


def decide(claim: Claim, low: float, high: float) -> Decision:
    """Return the decision on a claim whose statistic has the interval `[low, high]`."""
    if low > claim.low and high < claim.high:
        return "holds"
    if high <= claim.low or low >= claim.high:
        return "does not hold"
    return "open"


def p_value(claim: Claim, estimate: Estimate) -> float:
    """Return the smallest level alpha at which the interval decides the claim; 0 if the interval has length zero.

    Exact intervals are evaluated at every level. For any other estimate only the 95 % interval is used, since the error
    of a mean at much smaller levels cannot be estimated from 64 skewed values. The distance from the estimate to the
    nearest finite end of the claimed region, in half-widths of that interval, is multiplied by the 97.5 % quantile of
    Student's distribution with `TAIL` degrees of freedom. The result is the two-sided tail probability of this
    distribution beyond the product; a distance of one half-width gives 0.05. The distance is measured on the linear or
    the logarithmic scale, whichever gives the smaller one.
    """
    value, low, high = (float(number) for number in estimate[:3])
    if estimate.deterministic or low == high:
        return 0.0
    if estimate.exact and estimate.interval_at is not None:
        return _exact_p(claim, estimate.interval_at)
    ends = [end for end in (claim.low, claim.high) if math.isfinite(end)]
    return _tail(min((_reaches(value, low, high, end) for end in ends), default=math.inf))


def _exact_p(claim: Claim, interval_at: Intervals) -> float:
    """Return the smallest alpha at which the interval decides, by bisection."""
    low, high = 1e-12, 1.0 - 1e-9

    def decides(alpha: float) -> bool:
        return decide(claim, *map(float, interval_at(1.0 - alpha))) != "open"

    if not decides(high):
        return 1.0
    for _ in range(50):  # bisect on the logarithmic scale
        middle = math.sqrt(low * high)
        low, high = (low, middle) if decides(middle) else (middle, high)
    return high


def _reaches(value: float, low: float, high: float, end: float) -> float:
    """Return the distance from an estimate to an end of the claimed region, in half-widths of the 95 % interval."""

    def ratio(value: float, low: float, high: float, end: float) -> float:
        reach = high - value if end > value else value - low
        return abs(end - value) / reach if reach > 0.0 else math.inf

    linear = ratio(value, low, high, end)
    if min(value, low, end) <= 0.0 or math.isinf(high):
        return linear
    return min(linear, ratio(*map(math.log, (value, low, high, end))))


def _tail(reaches: float) -> float:
    """Return the two-sided Student tail (`TAIL`) beyond `reaches` half-widths of a 95 % interval: 0.05 at 1."""
    from scipy import special  # takes 0.1 to 0.2 s, which not every run needs

    return min(1.0, 2.0 * float(special.stdtr(TAIL, -reaches * special.stdtrit(TAIL, 0.975))))


class _WatchedMapping(Mapping[_KEY, _VALUE]):
    """Mapping that records the keys that are read."""

    def __init__(self, of: Mapping[_KEY, _VALUE], seen: dict[str, None], name: Callable[[Any], str]) -> None:
        self._of, self._seen, self._name = of, seen, name

    def __getitem__(self, key: _KEY) -> _VALUE:
        found = self._of[key]
        self._seen[self._name(key)] = None
        return found

    def __iter__(self) -> Iterator[_KEY]:
        return iter(self._of)

    def __len__(self) -> int:
        return len(self._of)


class _WatchedResults(_WatchedMapping[str, Result]):
    """Results by panel, in which an unknown panel is an error that a user understands."""

    def __getitem__(self, key: str) -> Result:
        if key not in self._of:
            raise unknown_name("panel", key, self._of)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        return key in self._of

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self._of else default


def holm(ps: Sequence[float], alpha: float = ALPHA) -> list[bool]:
    """Return, for each p-value, True if its test is decided at a family-wise error of at most `alpha`.

    Holm's step-down procedure compares the smallest of m p-values with alpha / m, the next with alpha / (m - 1), and so
    on. It stops at the first p-value that exceeds its threshold. NaN stands for a claim that was not tested, and does
    not count in m.
    """
    order = sorted((i for i, p in enumerate(ps) if not math.isnan(p)), key=lambda i: ps[i])
    decides = [False] * len(ps)
    for rank, i in enumerate(order):
        if ps[i] > alpha / (len(order) - rank):
            break
        decides[i] = True
    return decides
