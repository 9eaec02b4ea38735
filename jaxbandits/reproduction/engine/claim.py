"""Claims: sentences of a paper as statistical tests, and their verdicts, one by one and all of a paper together."""

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from jaxbandits.base.errors import InputError
from jaxbandits.results.intervals import Estimate, Intervals, unbounded
from jaxbandits.results.result import Result
from jaxbandits.simulation import RoundTimes

Decision = Literal["holds", "does not hold", "not decided"]
Kind = Literal["statement", "time", "theorem", "observation"]
_KEY = TypeVar("_KEY")
_VALUE = TypeVar("_VALUE")

METHOD = (
    "A claim holds when the 95 % interval of its statistic lies inside the claimed region, does not hold when it lies "
    "outside, and is not decided otherwise, on fewer seeds or rounds than it needs, or when a trial failed. Intervals "
    "of means, ratios and slopes are those of Student widened to a bootstrap-t interval of half the tails; claims of "
    "equivalence are two one-sided tests at 2.5 % each; shares of trials have the exact interval of Clopper and "
    "Pearson, and twice the smaller binomial tail as p. Any other p follows from the 95 % interval, as if beyond it "
    "the tails were those of Student's law with 6 degrees of freedom. The adjusted verdict is that of Holm's "
    "procedure over all claims of a paper that were tested, at 5 % together. What words such as 'comparable' mean as "
    "numbers stands in jaxbandits/reproduction/engine/thresholds.py."
)  # every manifest has it: a change of it is a change of how verdicts are reached
ALPHA = 0.05  # of one claim, and of all claims of a paper together
TAIL = 6  # degrees of freedom of the law of p beyond the 95 % interval: means of 64 lognormal values have such tails
KINDS: Mapping[Kind, str] = {
    "statement": "statements of the paper about its experiments",
    "time": "what the paper says of times, in this implementation",
    "theorem": "theorems and certificates, checked by running",
    "observation": "observations of ours",
}
WORDS: Mapping[Kind, Mapping[str, str]] = {  # kind to decision to the word for it
    "statement": {"holds": "holds", "does not hold": "does not hold"},
    "time": {"holds": "holds in this implementation", "does not hold": "otherwise in this implementation"},
    "theorem": {"holds": "satisfied", "does not hold": "violated"},
    "observation": {"holds": "observed", "does not hold": "not observed"},
}
_EXPERIMENTAL = re.compile(r"(v2 )?(Figures?|Tables?|Section 5|Section 7)\b")  # begins the place of a statement
REPEATS = 3  # least number of timings, and of nothing else
_MOST_SEEDS = 1e7  # more than these are no help


def kind_of(place: str, is_time: bool = False) -> Kind:
    """Return the kind of a claim, by its place in the paper.

    Args:
      place: `Claim.source`.
      is_time: whether it compares times.
    """
    if place.startswith("ours"):
        return "observation"
    if not _EXPERIMENTAL.match(place):
        return "theorem"
    return "time" if is_time else "statement"


def word(kind: Kind, decision: str) -> str:
    """Return the word for a decision about a claim of this kind: only a statement of a paper "does not hold"."""
    return WORDS[kind].get(decision, decision)


class Measured(NamedTuple):
    """Measurements of an experiment."""

    results: Mapping[str, Result]  # panel name to result
    times: Mapping[tuple[str, int], RoundTimes]  # (panel, trials side by side) to time per round; empty if not timed


@dataclasses.dataclass(frozen=True)
class Claim:
    """A sentence of a paper as a statistical test.

    A claim with both ends finite is one of equivalence ("comparable", "close"): two one-sided tests with the margins
    `low` and `high`, both at 2.5 %, which is what an interval of 95 % inside the margins is.

    Attributes:
      text: the sentence, paraphrased, with the threshold that makes it testable.
      source: the place of that sentence in the paper; "ours" in front where the paper has no such sentence.
      statistic: from what was measured to a scalar estimate with its confidence interval.
      low: the claim says that the statistic lies in `(low, high)`.
      high: see `low`.
      trials: seeds (of timings: repeats) below which nothing is decided.
      presets: those that the sentence speaks about; empty: whichever is run.
      sentence: the text without its panel, by which panels count as one sentence; "": the whole text.
      cannot_fail: why no run could violate it at the constants used; "": a run could.
      remark: for readers of a statement that does not hold: what its verdict depends on.
    """

    text: str
    source: str
    statistic: Callable[[Measured], Estimate]
    low: float = -math.inf
    high: float = math.inf
    trials: int = 50
    presets: tuple[str, ...] = ()
    sentence: str = ""
    cannot_fail: str = ""
    remark: str = ""

    @property
    def kind(self) -> Kind:
        """Kind of the claim, by its place and its unit."""
        return kind_of(self.source, self.trials <= REPEATS)

    @property
    def equivalence(self) -> bool:
        """True where both ends are margins."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def judge(self, measured: Measured, enough_rounds: bool = True, preset: str | None = None) -> "Verdict":
        """Return the verdict: holds when the whole interval is inside `(low, high)`, does not hold when it is outside.

        Nothing is decided on too few seeds, on a shorter horizon than the paper's, when a trial failed, about another
        preset than the claim's, or when the statistic is not a number. What no seed can change
        (`Estimate.deterministic`) needs no number of seeds.

        Args:
          measured: what the experiment measured.
          enough_rounds: whether it ran as long as the paper's.
          preset: that was run; None: one that the claim speaks about.
        """
        panels: dict[str, None] = {}
        watched = Measured(
            _Watched(measured.results, panels, str), _Watched(measured.times, panels, lambda key: str(key[0]))
        )
        missing = False
        try:
            estimate = self.statistic(watched)
        except InputError:  # a label that was left out of this run
            missing, estimate = True, unbounded(self.trials)
        value, low, high = (float(number) for number in estimate[:3])
        applies = preset is None or not self.presets or preset in self.presets
        enough = estimate.n >= self.trials or estimate.deterministic
        tested = enough and enough_rounds and applies and not estimate.failed and not math.isnan(value)
        return Verdict(
            self,
            self._decided(low, high) if tested else "not decided",
            value,
            low,
            high,
            n=estimate.n,
            failed=estimate.failed,
            enough_rounds=enough_rounds,
            p=self.p_value(estimate) if tested else math.nan,
            deterministic=estimate.deterministic,
            missing=missing,
            applies=applies,
            companions=estimate.companions,
            panels=tuple(panels),
        )

    def _decided(self, low: float, high: float) -> Decision:
        if low > self.low and high < self.high:
            return "holds"
        if high <= self.low or low >= self.high:
            return "does not hold"
        return "not decided"

    def p_value(self, estimate: Estimate) -> float:
        """Return the least alpha whose interval decides; 0 without spread.

        Exact intervals are asked at every level. Of any other estimate the 95 % interval alone counts, since 64 skewed
        values do not show how far their mean may be off once in a thousand samples: the distance to the nearest end of
        the claim, in reaches of that interval, is taken for a quantile of a law with heavy tails (`TAIL`), on the
        linear scale or on that of logarithms, whichever is nearer.
        """
        value, low, high = (float(number) for number in estimate[:3])
        if estimate.deterministic or low == high:
            return 0.0
        if estimate.exact and estimate.interval_at is not None:
            return self._exact_p(estimate.interval_at)
        ends = [end for end in (self.low, self.high) if math.isfinite(end)]
        return _tail(min((_reaches(value, low, high, end) for end in ends), default=math.inf))

    def _exact_p(self, interval_at: Intervals) -> float:
        """Return the least alpha whose interval decides, by bisection."""
        low, high = 1e-12, 1.0 - 1e-9

        def decides(alpha: float) -> bool:
            return self._decided(*map(float, interval_at(1.0 - alpha))) != "not decided"

        if not decides(high):
            return 1.0
        for _ in range(50):  # by halves of the logarithm
            middle = math.sqrt(low * high)
            low, high = (low, middle) if decides(middle) else (middle, high)
        return high


def _reaches(value: float, low: float, high: float, end: float) -> float:
    """Return the distance from an estimate to an end of its claim, in units of the reach of its 95 % interval."""

    def ratio(value: float, low: float, high: float, end: float) -> float:
        reach = high - value if end > value else value - low
        return abs(end - value) / reach if reach > 0.0 else math.inf

    linear = ratio(value, low, high, end)
    if min(value, low, end) <= 0.0 or math.isinf(high):
        return linear
    return min(linear, ratio(*map(math.log, (value, low, high, end))))


def _tail(reaches: float) -> float:
    """Return both tails of `TAIL` beyond so many reaches of a 95 % interval: 0.05 at 1."""
    from scipy import special  # 0.1 to 0.2 s, which not every run needs

    return min(1.0, 2.0 * float(special.stdtr(TAIL, -reaches * special.stdtrit(TAIL, 0.975))))


class _Watched(Mapping[_KEY, _VALUE]):
    """A mapping that notes whose entries were looked up."""

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


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A claim with its verdict: always computed from results, never written in.

    Attributes:
      claim: which.
      decision: of this claim alone, at 5 %.
      value: the statistic.
      low: lower end of its interval of 95 %.
      high: upper end.
      n: seeds, or repeats of timings.
      failed: trials that are not finite.
      enough_rounds: whether it ran as long as the paper's.
      p: the least alpha at which there is a verdict (`Claim.p_value`); NaN where nothing was tested.
      deterministic: whether all seeds gave the same number.
      missing: whether a label that it needs was left out.
      applies: whether it speaks about the preset that was run.
      companions: further numbers, by name.
      panels: that the statistic looked at.
      stand_ins: data sets that synthetic data stand for in these panels.
      marks: reconstructed learners and guessed settings that it rests on.
    """

    claim: Claim
    decision: Decision
    value: float
    low: float
    high: float
    n: int
    failed: int
    enough_rounds: bool
    p: float = math.nan
    deterministic: bool = False
    missing: bool = False
    applies: bool = True
    companions: tuple[tuple[str, float], ...] = ()
    panels: tuple[str, ...] = ()
    stand_ins: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Of the claim, with the data that were not the paper's, reconstructed learners and guessed settings."""
        standing = (f"on a stand-in for {name}" for name in self.stand_ins)
        return "; ".join((self.claim.source, *standing, *self.marks))

    @property
    def word(self) -> str:
        """Word for the decision about a claim of this kind."""
        return "cannot fail" if self.claim.cannot_fail else word(self.claim.kind, self.decision)

    @property
    def reason(self) -> str:
        """One clause for the ledger."""
        if not self.applies:
            return f"is about the preset {' or '.join(self.claim.presets)}"
        if self.missing:
            return "not measured in this run"
        if self.failed:
            return f"{self.failed} trials are not finite"
        if self.n < self.claim.trials and not self.deterministic:
            return f"needs {self.claim.trials} {self.unit}, has {self.n}"
        if math.isnan(self.value):
            return f"the statistic is not a number on these {self.n} seeds, claimed {region(self.claim)}"
        numbers = f"{self.value:.4g}, the same in every trial" if self.deterministic else self._interval()
        parts = [f"{numbers}, claimed {region(self.claim)}"]
        parts += [f"{name} {number:.4g}" for name, number in self.companions]
        if not self.enough_rounds:
            parts.append("at fewer rounds than the paper's")
        elif self.decision == "not decided":
            parts.append(self.seeds_needed)
        return ", ".join(parts)

    @property
    def unit(self) -> str:
        """Unit of n: seeds, or repeats of timings, of which fewer are needed."""
        return "seeds" if self.claim.trials > REPEATS else "repeats"

    def _interval(self) -> str:
        return f"{self.value:.4g} in [{self.low:.4g}, {self.high:.4g}]"

    @property
    def seeds_needed(self) -> str:
        """Describe how many more seeds would decide if mean and spread stayed: intervals shrink as 1/sqrt(n)."""
        wanted = self.needed()
        if math.isinf(wanted):
            return f"more {self.unit} would hardly decide: the statistic is where the claim ends"
        return f"about {wanted - self.n:,.0f} more {self.unit} would decide"

    def needed(self) -> float:
        """Return the number of seeds with which the interval would leave out all ends; inf where no number would do."""
        below, above = self.value - self.low, self.high - self.value  # reach of the interval on either side
        factors = []
        for end in (self.claim.low, self.claim.high):
            if math.isfinite(end):
                reach, distance = (below, self.value - end) if self.value > end else (above, end - self.value)
                factors.append((reach / distance) ** 2 if distance > 0.0 else math.inf)
        wanted = self.n * max(factors, default=math.inf)
        return max(math.ceil(wanted), self.n + 1) if wanted < _MOST_SEEDS else math.inf


def region(claim: Claim) -> str:
    """Describe the claimed region of the statistic for the ledger."""
    if math.isinf(claim.low):
        return f"< {claim.high:g}"
    return f"> {claim.low:g}" if math.isinf(claim.high) else f"in ({claim.low:g}, {claim.high:g})"


def holm(ps: Sequence[float], alpha: float = ALPHA) -> list[bool]:
    """Return which tests decide if all of them together are wrong with probability at most `alpha`.

    Holm's step-down: the least p against alpha / m, the next against alpha / (m - 1), and so on until one is larger.
    NaN is no test, and does not count.
    """
    order = sorted((i for i, p in enumerate(ps) if not math.isnan(p)), key=lambda i: ps[i])
    decides = [False] * len(ps)
    for rank, i in enumerate(order):
        if ps[i] > alpha / (len(order) - rank):
            break
        decides[i] = True
    return decides


def adjusted(judged: Sequence[Verdict]) -> list[Decision]:
    """Return the verdicts of claims that stand together (those of a paper) which Holm's procedure decides too.

    A claim that no trial decides (`deterministic`) is no test. One without other levels than 95 % keeps no verdict.
    """
    decides = holm([math.nan if item.deterministic else item.p for item in judged])
    return [
        item.decision if item.deterministic or decided else "not decided"
        for item, decided in zip(judged, decides, strict=True)
    ]
