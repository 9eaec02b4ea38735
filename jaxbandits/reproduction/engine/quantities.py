"""Quantities that claims compare: `mean("Hvt-UCB") < 0.5 * mean("OFUL", "CRTM")` makes one test per rival.

A quantity has a statistic for any panel and a description in words. A comparison adds the region in which the statistic
is claimed to lie. `engine.sentence.claims` makes the rows of a sentence from comparisons and panels.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple, Self

from jaxbandits.base.errors import InputError
from jaxbandits.reproduction.engine.claim import REPEATS, Unit, quote_label
from jaxbandits.reproduction.engine.statistic import (
    Statistic,
    final_mean,
    growth_across,
    growth_exponent,
    late_rate,
    log_slope,
    mean_difference,
    mean_ratio,
    median_difference,
    metric_difference,
    point_difference,
    share_below,
    time_growth,
    total_time,
    total_time_ratio,
    win_share,
    worst_ratio,
)
from jaxbandits.reproduction.engine.thresholds import COMPARABLE

_WORDS = {  # wording of metrics whose names are those of columns, too short for a sentence
    "area GLB-OMD": "area of the region",
    "area OFUGLB": "area of OFUGLB's region from the plays",
    "conversion_share": "change of gradients, divided by its bound,",
    "ellipses": "area of the ellipse, divided by that of GLM-UCB,",
    "error": "indicator of a wrong answer,",
    "error_sq": "squared error",
    "excess_share": "largest excess risk of a group, divided by its bound,",
    "feasible_regret": "regret against the best feasible point",
    "first_risk": "risk on the first group",
    "gap_excess": "excess over the Frank-Wolfe gap",
    "inequality_7": "excess in inequality (7)",
    "largest_share": "largest regret, divided by its bound,",
    "last_risk": "risk on the last group",
    "lemma_2_excess": "excess over the bound of Lemma 2",
    "lemma_4": "distance from the minimum, divided by the bound of Lemma 4,",
    "max_risk": "maximal risk",
    "meta_excess": "meta regret minus its bound",
    "meta_precondition": "largest 64 beta_k |l_j - h_j|",
    "model_share_of_likely": "model regret, divided by its high-probability bound,",
    "model_share_of_mean": "model regret, divided by the bound on its mean,",
    "negative_slack": "violation of the path-wise inequality",
    "norm": "largest norm of a play",
    "objective_at_preset": "objective at the horizon of the fixed steps",
    "optimum_first_risk": "risk on the first group at the optimum of the maximal risk",
    "optimum_other_risk": "mean risk on the other groups at the optimum of the maximal risk",
    "other_risk": "mean risk on the other groups",
    "precondition": "largest left side of a precondition, divided by its right side,",
    "radius_over_root": "radius, divided by sqrt(T),",
    "regret_share": "regret, divided by its bound,",
    "restarts_over_half_log": "number of updates, divided by log2(T) / 2 + 2,",
    "restarts_over_log": "number of updates, divided by log2(T),",
    "scaled_regret": "pseudo-regret, divided by s sqrt(T),",
    "share_of_41": "violation, divided by its bound in (41),",
    "share_of_bound": "regret, divided by its bound,",
    "share_of_exact": "regret, divided by its expectation,",
    "share_of_likely": "gap, divided by its high-probability bound,",
    "share_of_mean": "gap, divided by the bound on its mean,",
    "share_of_uniform": "regret, in percent of that of uniform play,",
    "slope": "ratio of the estimate to the gradient,",
    "stability": "violation of the stability inequality",
    "top_k_optimum_first_risk": "risk on the first group at the optimum of the k largest risks",
    "top_k_optimum_other_risk": "mean risk on the other groups at the optimum of the k largest risks",
    "top_k_risk": "mean of the k largest risks",
    "truncated_share": "share of truncated rewards",
    "unfinished": "indicator of an unfinished block,",
    "violation_rate": "violation per round",
    "violation_share": "violation, divided by its bound,",
    "weight": "weight of the constraint, relative to the loss,",
    "weights_share_of_likely": "weight regret, divided by its high-probability bound,",
    "weights_share_of_mean": "weight regret, divided by the bound on its mean,",
}
Panels = str | Mapping[str, Sequence[str]]  # a panel; or {description: names} of several panels


class Test(NamedTuple):
    """Comparison of quantities that can be tested in any panel."""

    words: str
    statistic: Callable[[str], Statistic]  # function from a panel to the statistic
    low: float
    high: float
    labels: tuple[str, ...]
    rival: str = ""
    kind: str = ""  # distinguishes the tests of one sentence if labels do not
    unit: Unit = "seeds"


class Tests(tuple[Test, ...]):
    """Tests of one comparison: one for each pair of learners, or for each learner that is compared with a number."""

    def __bool__(self) -> bool:
        raise InputError("a comparison of quantities has no truth value: use `between(low, high)`, or two tests")


@dataclasses.dataclass(frozen=True, eq=False)
class Quantity:
    """Number that is estimated from runs, for one or several learners.

    Attributes:
      each: triples of a wording, a function from a panel to the statistic, and the labels, one for each learner or
        pair.
      unit: unit in which samples are counted, such as seeds.
      template: wording of a test, with `{of}` (the quantity) and `{region}`.
      kind: word for the kind of quantity, which distinguishes tests of one sentence.
    """

    each: tuple[tuple[str, Callable[[str], Statistic], tuple[str, ...]], ...]
    unit: Unit = "seeds"
    template: str = "{of} {region}"
    kind: str = ""

    def between(self, low: float = -math.inf, high: float = math.inf) -> Tests:
        """Return the tests of the claim that the quantity lies in `(low, high)`."""
        _require(bool(self.each), "a quantity needs the label of a learner")
        _require(math.isfinite(low) or math.isfinite(high), "between needs low, high, or both")
        return Tests(
            Test(
                words=_phrase(self.template, words, _region(low, high)),
                statistic=statistic,
                low=low,
                high=high,
                labels=labels,
                rival=labels[1] if len(labels) == 2 else "",
                kind=self.kind,
                unit=self.unit,
            )
            for words, statistic, labels in self.each
        )

    def with_companions(self, show: Callable[[str, Statistic], Statistic]) -> "Quantity":
        """Return the quantity with companions, which are further numbers that are shown with its estimate.

        Args:
          show: function from a panel and a statistic to the statistic with companions.
        """

        def with_companion(statistic: Callable[[str], Statistic]) -> Callable[[str], Statistic]:
            return lambda panel: show(panel, statistic(panel))

        each = ((words, with_companion(statistic), labels) for words, statistic, labels in self.each)
        return dataclasses.replace(self, each=tuple(each))

    def __lt__(self, high: float) -> Tests:
        return self.between(high=high)

    def __gt__(self, low: float) -> Tests:
        return self.between(low=low)


@dataclasses.dataclass(frozen=True, eq=False)
class Average:
    """Mean or median over trials of the final value of a metric, for one or several learners.

    Attributes:
      labels: labels of the learners.
      of: name of the metric; "" for the metric of the left side on the right of a comparison, or else regret.
      factor: factor of the mean or median, > 0.
      average: "mean" or "median".
    """

    labels: tuple[str, ...]
    of: str
    factor: float = 1.0
    average: str = "mean"

    def __rmul__(self, factor: float) -> Self:
        _require(factor > 0.0, f"a factor must be above 0, got {factor:g}")
        return dataclasses.replace(self, factor=factor * self.factor)

    def __lt__(self, other: "Average | float") -> Tests:
        return self._compare(other, "below")

    def __gt__(self, other: "Average | float") -> Tests:
        return self._compare(other, "above")

    def between(self, low: float = -math.inf, high: float = math.inf) -> Tests:
        """Return the tests of the claim that the mean lies in `(low, high)`."""
        return self._against_number().between(low, high)

    def __truediv__(self, other: "Average") -> Quantity:
        """Return the ratio of the means of two learners, over the seeds that both played."""
        _require(self._is_plain() and other._is_plain(), "a ratio needs two means without factors")
        return self._pairs(
            other, "divided by that of {b}", lambda a, b: partial(mean_ratio, first=a, second=b, metric=self.metric)
        )

    def __sub__(self, other: "Average") -> Quantity:
        """Return the difference of two means: those of two learners, or those of two metrics of one learner."""
        _require(
            self._is_plain() and other.average == "mean", "a difference needs two means, the first without a factor"
        )
        if self.labels == other.labels:
            _require(self.metric != other.metric, "a learner's mean less itself is 0: name another learner or metric")
            words = f"{_words_for(self.metric)} minus {_times(other.factor)}{_words_for(other.metric)}"
            both = {"first": self.metric, "second": other.metric, "factor": other.factor}
            return Quantity(
                tuple(
                    (f"{quote_label(a)}: {words}, mean over trials,", partial(metric_difference, name=a, **both), (a,))
                    for a in self.labels
                )
            )
        return self._pairs(
            other,
            f"minus {_times(other.factor)}that of {{b}}",
            lambda a, b: partial(mean_difference, first=a, second=b, factor=other.factor, metric=self.metric),
        )

    def close_to(self, other: "Average", within: float = COMPARABLE) -> Tests:
        """Return the tests of the claim of equivalence that the ratio of the means is in `(1 / within, within)`."""
        _require(within > 1.0, f"within must be above 1, got {within:g}")
        region = f"between 1/{within:g} and {within:g} times that of"
        ratio = (self / other).between(1.0 / within, within)
        return Tests(
            test._replace(words=f"{self._words(test.labels[0])} {region} {quote_label(test.rival)}") for test in ratio
        )

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.of or "regret"

    def _is_plain(self) -> bool:
        return self.factor == 1.0 and self.average == "mean"

    def _words(self, label: str) -> str:
        words = _words_for(self.metric)
        average = f"{self.average} over trials of the" if words.startswith("mean ") else self.average
        return f"{average} {words} of {quote_label(label)}"

    def _against_number(self) -> Quantity:
        _require(
            self._is_plain(), "a number is compared with a mean without a factor; a median is compared with a median"
        )
        return Quantity(
            tuple((self._words(a), partial(final_mean, name=a, metric=self.metric), (a,)) for a in self.labels),
            kind=self.average,
        )

    def _pairs(self, other: "Average", how: str, statistic: Callable[[str, str], Callable[..., Statistic]]) -> Quantity:
        _require(other.of in ("", self.metric), f"the means must be of one metric, got {self.metric} and {other.of}")
        pairs = _different(self.labels, other.labels)
        return Quantity(
            tuple(
                (f"{self._words(a)} {how.replace('{b}', quote_label(b))}", statistic(a, b), (a, b)) for a, b in pairs
            ),
            kind=self.average,
        )

    def _compare(self, other: "Average | float", how: str) -> Tests:
        if not isinstance(other, Average):
            _require(isinstance(other, (int, float)), f"a mean is compared with a mean or a number, got {other!r:.60}")
            return self._against_number().between(**{"high" if how == "below" else "low": float(other)})
        alike = other.of in ("", self.metric) and self.average == other.average
        _require(
            alike,
            f"a {self.average} of {self.metric} can be compared only with another one, got a {other.average} of "
            f"{other.metric}",
        )
        low, high = (-math.inf, 0.0) if how == "below" else (0.0, math.inf)
        factor = other.factor / self.factor
        difference = {"mean": mean_difference, "median": median_difference}[self.average]
        settings = {"factor": factor, "metric": self.metric}
        return Tests(
            Test(
                words=f"{self._words(a)} {how} {_times(factor)}that of {quote_label(b)}",
                statistic=partial(difference, first=a, second=b, **settings),
                low=low,
                high=high,
                labels=(a, b),
                rival=b,
                kind=self.average,
            )
            for a, b in _different(self.labels, other.labels)
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Time:
    """Time of a whole trial, for one or several learners.

    Attributes:
      labels: labels of the learners.
      factor: factor of the time, > 0.
    """

    labels: tuple[str, ...]
    factor: float = 1.0

    def __rmul__(self, factor: float) -> Self:
        _require(factor > 0.0, f"a factor must be above 0, got {factor:g}")
        return dataclasses.replace(self, factor=factor * self.factor)

    def __lt__(self, other: "Time | float") -> Tests:
        if not isinstance(other, Time):
            _require(self.factor == 1.0, "a time that is compared with seconds takes no factor")
            each = tuple((f"a trial of {quote_label(a)} takes", partial(total_time, name=a), (a,)) for a in self.labels)
            return Quantity(each, "repeats", "{of} less than " + f"{other:g} s").between(high=other)
        times = other.factor / self.factor
        amount = "less time than" if times == 1.0 else f"less than {times:.3g} times as long as"
        return self._compare(other, amount, high=times)

    def __gt__(self, other: "Time") -> Tests:
        return self.more_than(other)

    def more_than(self, other: "Time", at_most: float = math.inf) -> Tests:
        """Return the tests of the claim that a trial takes longer than a trial of another learner.

        Args:
          other: time of the other learner, possibly multiplied by a factor.
          at_most: upper limit that is claimed as well, as a multiple of the other learner's time; inf for none.
        """
        times = other.factor / self.factor
        amount = "longer than" if times == 1.0 else f"more than {times:g} times as long as"
        high = at_most / self.factor
        limit = "" if math.isinf(at_most) else f", but less than {high:g} times as long"
        return self._compare(other, amount, limit, low=times, high=high)

    def _compare(self, other: "Time", amount: str, limit: str = "", **ends: float) -> Tests:
        low, high = ends.get("low", -math.inf), ends.get("high", math.inf)
        return Tests(
            Test(
                words=f"a trial of {quote_label(a)} takes {amount} one of {quote_label(b)}{limit}",
                statistic=lambda panel, a=a, b=b: total_time_ratio((panel, a), (panel, b)),
                low=low,
                high=high,
                labels=(a, b),
                rival=b,
                kind="time",
                unit="repeats",
            )
            for a, b in _different(self.labels, other.labels)
        )


def mean(*labels: str, of: str = "") -> Average:
    """Return the mean over trials of the final value of a metric.

    If `of` is "", the metric is regret, or on the right of a comparison the metric of its left side.
    """
    return Average(labels, of)


def median(*labels: str, of: str = "") -> Average:
    """Return the median over trials of the final value of a metric.

    If `of` is "", the metric is regret, or on the right of a comparison the metric of its left side.
    """
    return Average(labels, of, average="median")


def time(*labels: str) -> Time:
    """Return the time of a whole trial on one core, in a timed panel."""
    return Time(labels)


def share(*labels: str, of: str, at_most: float = 1.0) -> Quantity:
    """Return the share of trials whose final value of a metric is at most `at_most`."""
    each = (
        (
            f"share of trials with {_words_for(of)} of {quote_label(a)} at most {at_most:g}",
            partial(share_below, name=a, metric=of, threshold=at_most),
            (a,),
        )
        for a in labels
    )
    return Quantity(tuple(each), template="{of}: {region}", kind="share")


def wins(first: str, *others: str, of: str = "regret") -> Quantity:
    """Return, for each of `others`, the share of trials in which `first` has the smaller final value of a metric."""
    each = (
        (
            f"share of trials in which the {_words_for(of)} of {quote_label(first)} ends below that of "
            f"{quote_label(b)}",
            partial(win_share, first=first, second=b, metric=of),
            (first, b),
        )
        for _, b in _different((first,), others)
    )
    return Quantity(tuple(each), template="{of}: {region}", kind="wins")


def growth(*labels: str, of: str = "regret") -> Quantity:
    """Return the exponent a of a mean metric that grows as t^a over the last decade of rounds."""
    return _slopes("log-log slope, against t, of mean {of} of {label}", labels, of, growth_exponent)


def log_growth(*labels: str, unit: float, what: str, of: str = "regret") -> Quantity:
    """Return the factor a of a mean metric that grows as a * `unit` * log t over the last decade of rounds.

    Args:
      *labels: labels of the learners.
      unit: coefficient of log t, > 0.
      what: description of `unit`.
      of: name of the metric.
    """
    _require(unit > 0.0, f"unit must be above 0, got {unit:g}")
    words = f"slope of mean {{of}} of {{label}} in log t, divided by {what},"
    return _slopes(words, labels, of, partial(log_slope, unit=unit))


def rate(*labels: str, of: str = "regret") -> Quantity:
    """Return the mean increase of a metric per round over the second half of the rounds."""
    words = "mean increase per round of the {of} of {label} over the second half of the rounds"
    return _slopes(words, labels, of, late_rate)


def growth_over(panels: Mapping[str, float], axis: str, *labels: str, of: str = "regret") -> Quantity:
    """Return the exponent with which a mean final metric grows with a value that differs between panels.

    Args:
      panels: mapping from a panel to this value, > 0.
      axis: description of the value.
      *labels: labels of the learners.
      of: name of the metric.
    """
    each = (
        (
            f"log-log slope, against {axis}, of mean {_words_for(of)} of {quote_label(a)}",
            _anywhere(growth_across(panels, a, of)),
            (a,),
        )
        for a in labels
    )
    return Quantity(tuple(each), kind="slope")


def panel_ratio(label: str, panel: Panels, over: Panels, of: str = "regret") -> Quantity:
    """Return the ratio of a mean final metric in `panel` to the mean in `over`.

    Both are a panel, or `{description: names}` for several panels, of which the one with the largest mean counts.
    """
    (at, panels), (other, overs) = _side(panel), _side(over)
    words = f"{'largest ' * (len(panels) > 1)}mean {_words_for(of)} of {quote_label(label)} {at}"
    statistic = _anywhere(worst_ratio(panels, overs, label, of))
    return Quantity(((words, statistic, (label,)),), template=f"{{of}} {{region}} times that {other}", kind="panels")


def time_over_panels(label: str, panel: str, over: str) -> Quantity:
    """Return the time of a trial in `panel`, divided by the time of a trial in `over`."""
    statistic = _anywhere(total_time_ratio((panel, label), (over, label)))
    each = ((f"time of a trial of {quote_label(label)} in panel {panel}", statistic, (label,)),)
    return Quantity(each, "repeats", f"{{of}} {{region}} times that in panel {over}", "time")


def time_slope(*labels: str) -> Quantity:
    """Return the exponent with which the time of a round grows with the round number."""
    each = (
        (f"log-log slope, against t, of the time per round of {quote_label(a)}", partial(time_growth, name=a), (a,))
        for a in labels
    )
    return Quantity(tuple(each), "repeats", kind="slope")


def at_point(
    changes: Mapping[str, float], nominal: Mapping[str, float], factor: float = 1.0, of: str = "regret"
) -> Quantity:
    """Return the mean at one point of a panel's only sweep, minus `factor` times the mean at a nominal point.

    Args:
      changes: mapping from the fields in which the first point differs from the nominal point to their values.
      nominal: mapping from all swept fields to their nominal values.
      factor: factor of the mean at the nominal point, > 0.
      of: name of the metric.
    """
    _require(factor > 0.0, f"a factor must be above 0, got {factor:g}")
    values = ", ".join(f"{name} = {value:.4g}" for name, value in changes.items())
    others = ", ".join(f"{nominal[name]:.4g}" for name in changes)
    words = f"mean {_words_for(of)} at {values} minus {_times(factor)}that at {others}"
    settings = {"first": {**nominal, **changes}, "second": dict(nominal), "factor": factor, "metric": of}
    return Quantity(((words, partial(point_difference, **settings), ()),))


def measure(
    words: str,
    statistic: Statistic | Callable[[str], Statistic],
    labels: Iterable[str] = (),
    *,
    in_panel: bool = False,
    unit: Unit = "seeds",
    template: str = "{of} {region}",
) -> Quantity:
    """Return a quantity with a statistic and a wording of its own.

    Args:
      words: description of the statistic; "" if the sentence describes it.
      statistic: the statistic; with `in_panel`, a function from a panel to the statistic.
      labels: labels of the learners that the quantity is about.
      in_panel: True if the statistic depends on the panel.
      unit: unit in which samples are counted, such as seeds.
      template: wording of the test, with `{of}` and `{region}`.
    """
    of_panel: Any = statistic if in_panel else _anywhere(statistic)
    return Quantity(((words, of_panel, tuple(labels)),), unit, template)


def least_of(unit: Unit) -> dict[str, int]:
    """Return the field `least` of a claim whose samples are counted in `unit`; {} for the default of `Claim`."""
    return {"least": REPEATS} if unit == "repeats" else {}


def _different(first: Sequence[str], second: Sequence[str]) -> list[tuple[str, str]]:
    """Return all pairs of a learner in the first list and a different learner in the second list."""
    pairs = [*product(first, second)]
    _require(bool(pairs), "a comparison needs the label of a learner on each side")
    _require(all(a != b for a, b in pairs), f"a learner is compared with itself: {', '.join(first)}")
    return pairs


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise InputError(message)


def _slopes(words: str, labels: Sequence[str], of: str, statistic: Callable[..., Statistic]) -> Quantity:
    each = (
        (
            words.replace("{of}", _words_for(of)).replace("{label}", quote_label(a)),
            partial(statistic, name=a, metric=of),
            (a,),
        )
        for a in labels
    )
    return Quantity(tuple(each), kind="slope")


def _anywhere(statistic: Any) -> Callable[[str], Statistic]:
    """Return a function that ignores its panel, for a statistic that names its own panels."""
    return lambda panel: statistic


def _side(side: Panels) -> tuple[str, tuple[str, ...]]:
    if isinstance(side, str):
        return f"in panel {side}", (side,)
    ((title, panels),) = side.items()
    return f"at {title}", tuple(panels)


def _words_for(metric: str) -> str:
    return _WORDS.get(metric, metric.replace("_", " "))


def _times(factor: float) -> str:
    """Return the wording of a factor in front of a quantity."""
    whole = factor < 1.0 and (1.0 / factor).is_integer()
    return "" if factor == 1.0 else f"1/{1.0 / factor:g} of " if whole else f"{factor:g} times "


def _phrase(template: str, quantity: str, region: str) -> str:
    """Fill a template, where "above 1 times that" is shortened to "above that"."""
    filled = template.replace("{of}", quantity).replace("{region}", region)
    return (
        filled.replace(f"{region} times that", region.removesuffix(" 1") + " that") if region[-2:] == " 1" else filled
    )


def _region(low: float, high: float) -> str:
    if math.isinf(low):
        return f"below {high:g}"
    return f"above {low:g}" if math.isinf(high) else f"between {low:.4g} and {high:.4g}"
