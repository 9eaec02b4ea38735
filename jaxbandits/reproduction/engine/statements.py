"""Claims made from one statement: sentence, statistic and threshold are written together, so that they agree.

Each function takes one panel or several, and one rival or several, and returns a claim for each pair of them.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from jaxbandits.reproduction.engine.claim import Claim
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
    total_time_ratio,
    win_share,
    worst_ratio,
)
from jaxbandits.reproduction.engine.thresholds import COMPARABLE, FLAT, GROWS

Panels = str | Iterable[str] | Mapping[str, str]
Side = str | Mapping[str, Sequence[str]]  # a panel; or what several have in common, for the sentence, and their names


def lower(
    first: str,
    second: str | Iterable[str],
    *,
    on: Panels,
    says: str,
    place: str,
    factor: float = 1.0,
    average: str = "mean",
    metric: str = "regret",
    **fields: Any,
) -> tuple[Claim, ...]:
    """Claim that the final metric of one learner is below `factor` times that of another, on average.

    Args:
      first: label of the learner.
      second: label of the other one, or of several.
      on: panel, or several; a mapping gives their titles for the sentence.
      says: the paper's words, which begin the sentence; `{second}` stands for the other learner.
      place: figure or section of the paper; "ours" in front where it has no such sentence.
      factor: > 0.
      average: "mean" or "median".
      metric: name of the metric.
      **fields: further fields of `Claim`.
    """
    return tuple(
        _claim(f"{text} below {amount}", where, place, statistic, high=0.0, **fields)
        for text, amount, where, statistic in _comparisons(first, second, on, says, factor, average, metric)
    )


def higher(
    first: str,
    second: str | Iterable[str],
    *,
    on: Panels,
    says: str,
    place: str,
    factor: float = 1.0,
    average: str = "mean",
    metric: str = "regret",
    **fields: Any,
) -> tuple[Claim, ...]:
    """Claim that the final metric of one learner is above `factor` times that of another; arguments as in `lower`."""
    return tuple(
        _claim(f"{text} above {amount}", where, place, statistic, low=0.0, **fields)
        for text, amount, where, statistic in _comparisons(first, second, on, says, factor, average, metric)
    )


def equivalent(
    first: str,
    second: str | Iterable[str],
    *,
    on: Panels,
    says: str,
    place: str,
    within: float = COMPARABLE,
    metric: str = "regret",
    **fields: Any,
) -> tuple[Claim, ...]:
    """Claim of equivalence: the ratio of two mean metrics lies between 1/within and within; arguments as in `lower`."""
    return tuple(
        _claim(
            f"{says.format(second=other)}: mean {_words(metric)} within {within:g} times either way",
            where,
            place,
            mean_ratio(panel, first, other, metric),
            low=1.0 / within,
            high=within,
            **fields,
        )
        for panel, where in _panels(on)
        for other in _several(second)
    )


def not_worse(
    first: str,
    second: str | Iterable[str],
    *,
    on: Panels,
    says: str,
    place: str,
    within: float = COMPARABLE,
    metric: str = "regret",
    **fields: Any,
) -> tuple[Claim, ...]:
    """Claim non-inferiority: the ratio of two mean metrics is below `within`; arguments as in `lower`."""
    return tuple(
        _between(
            f"{says.format(second=other)}: mean {_words(metric)} of {first} over that of {other}",
            mean_ratio(panel, first, other, metric),
            where,
            place=place,
            high=within,
            **fields,
        )
        for panel, where in _panels(on)
        for other in _several(second)
    )


def wins(
    first: str,
    second: str | Iterable[str],
    *,
    on: Panels,
    says: str,
    place: str,
    share: float = 0.5,
    metric: str = "regret",
    **fields: Any,
) -> tuple[Claim, ...]:
    """Claim that one learner ends below another in more than this share of the trials; arguments as in `lower`."""
    return tuple(
        _claim(
            f"{says.format(second=other)}: {_words(metric)} of {first} ends below that of {other} in over "
            f"{100.0 * share:g} % of trials",
            where,
            place,
            win_share(panel, first, other, metric),
            low=share,
            **fields,
        )
        for panel, where in _panels(on)
        for other in _several(second)
    )


def at_point(
    changes: Mapping[str, float],
    nominal: Mapping[str, float],
    *,
    on: str,
    says: str,
    place: str,
    below: float | None = None,
    above: float | None = None,
    metric: str = "regret",
    **fields: Any,
) -> Claim:
    """Claim that a final metric at one point of a sweep is below, or above, so many times that at another, on average.

    Args:
      changes: fields and values in which the point differs from the other one.
      nominal: the other point.
      on: panel, where only one learner is swept.
      says: as in `lower`.
      place: as in `lower`.
      below: factor; either this or `above`.
      above: factor.
      metric: name of the metric.
      **fields: further fields of `Claim`.
    """
    if below is not None:
        factor, how, end = below, "below", {"high": 0.0}
    else:
        assert above is not None, "one of below and above"
        factor, how, end = above, "above", {"low": 0.0}
    point = {**nominal, **changes}
    values = ", ".join(f"{name} = {value:.4g}" for name, value in changes.items())
    others = ", ".join(f"{nominal[name]:.4g}" for name in changes)
    return Claim(
        f"{says}: mean {_words(metric)} at {values} {how} {_times(factor)}that at {others}",
        place,
        point_difference(on, point, dict(nominal), factor, metric),
        **end,
        **fields,
    )


def difference(
    first: str, second: str | Iterable[str], *, on: Panels, says: str, metric: str = "regret", **fields: Any
) -> tuple[Claim, ...]:
    """Claim that the mean final metric of a learner less that of another is in `(low, high)`.

    Args:
      first: label of the learner.
      second: label of the other one, or of several.
      on: as in `lower`.
      says: as in `lower`.
      metric: name of the metric.
      **fields: `place` as in `lower`, `low` and `high` (one of them may be left out), and further fields of `Claim`.
    """
    return tuple(
        _between(
            f"{says.format(second=other)}: mean {_words(metric)} of {first} less that of {other}",
            mean_difference(panel, first, other, metric=metric),
            where,
            **fields,
        )
        for panel, where in _panels(on)
        for other in _several(second)
    )


def difference_of_metrics(
    name: str, first: str, second: str, *, on: Panels, says: str, factor: float = 1.0, **fields: Any
) -> tuple[Claim, ...]:
    """Claim that one mean final metric of a learner less `factor` times another one is in `(low, high)`.

    Args:
      name: label of the learner.
      first: name of the metric.
      second: name of the metric that is subtracted.
      on: as in `lower`.
      says: as in `lower`.
      factor: > 0.
      **fields: as in `difference`.
    """
    text = f"{says}: mean {_words(first)} of {name} less {_times(factor)}its {_words(second)}"
    statistic = partial(metric_difference, name=name, first=first, second=second, factor=factor)
    return _within(text, statistic, on, **fields)


def mostly_below(
    name: str,
    metric: str,
    *,
    on: Panels,
    says: str,
    place: str,
    share: float = 0.99,
    threshold: float = 1.0,
    **fields: Any,
) -> tuple[Claim, ...]:
    """Claim that the final metric is at most `threshold` in more than this share of the trials.

    Args:
      name: label of the learner.
      metric: name of the metric.
      on: as in `lower`.
      says: as in `lower`; the share follows it.
      place: as in `lower`.
      share: in (0, 1).
      threshold: on the metric.
      **fields: further fields of `Claim`.
    """
    text = f"{says}; here: in over {100.0 * share:g} % of trials"
    return tuple(
        _claim(text, where, place, share_below(panel, name, metric, threshold), low=share, **fields)
        for panel, where in _panels(on)
    )


def mean_within(name: str, metric: str, *, on: Panels, says: str, **fields: Any) -> tuple[Claim, ...]:
    """Claim that the mean final metric of a learner lies in `(low, high)`; `fields` as in `difference`."""
    text = f"{says}: mean {_words(metric)} of {name}"
    return _within(text, partial(final_mean, name=name, metric=metric), on, **fields)


def growth(name: str, *, on: Panels, says: str, metric: str = "regret", **fields: Any) -> tuple[Claim, ...]:
    """Claim that a mean metric grows as t^a over the last decade, a in `(low, high)`; `fields` as in `difference`."""
    text = f"{says}: log-log slope of mean {_words(metric)} of {name}"
    return _within(text, partial(growth_exponent, name=name, metric=metric), on, **fields)


def log_growth(
    name: str, *, on: Panels, says: str, unit: float, what: str, metric: str = "regret", **fields: Any
) -> tuple[Claim, ...]:
    """Claim that a mean metric grows as a `unit` log t over the last decade, a in `(low, high)`.

    Args:
      name: label of the learner.
      on: as in `lower`.
      says: as in `lower`.
      unit: > 0.
      what: what `unit` is, for the sentence.
      metric: name of the metric.
      **fields: as in `difference`.
    """
    text = f"{says}: slope of mean {_words(metric)} of {name} in log t, over {what},"
    return _within(text, partial(log_slope, name=name, unit=unit, metric=metric), on, **fields)


def rate(name: str, *, on: Panels, says: str, metric: str = "regret", **fields: Any) -> tuple[Claim, ...]:
    """Claim that a mean metric grows by `(low, high)` a round over the last half; `fields` as in `difference`."""
    text = f"{says}: mean {_words(metric)} a round in the last half ({name})"
    return _within(text, partial(late_rate, name=name, metric=metric), on, **fields)


def growth_over_panels(
    name: str, panels: Mapping[str, float], axis: str, *, says: str, metric: str = "regret", **fields: Any
) -> Claim:
    """Claim that the mean final metric grows over panels as a power in `(low, high)` of what they differ in.

    Args:
      name: label of the learner.
      panels: name to the value that differs, > 0.
      axis: what that value is, for the sentence.
      says: as in `lower`.
      metric: name of the metric.
      **fields: as in `difference`.
    """
    text = f"{says}: log-log slope of mean {_words(metric)} of {name} against {axis}"
    return _between(text, growth_across(panels, name, metric), **fields)


def panel_ratio(name: str, panel: Side, over: Side, *, says: str, metric: str = "regret", **fields: Any) -> Claim:
    """Claim that a learner's mean final metric in one panel is between `low` and `high` times that in another.

    Args:
      name: label of the learner.
      panel: whose mean is divided; of several panels the largest one.
      over: whose mean divides it.
      says: as in `lower`.
      metric: name of the metric.
      **fields: as in `difference`.
    """
    (at, panels), (other, overs) = _side(panel), _side(over)
    text = f"{says}: {'largest ' * (len(panels) > 1)}mean {_words(metric)} of {name} at {at}"
    return _between(text, worst_ratio(panels, overs, name, metric), unit=f" times that at {other}", **fields)


def trial_time_ratio(name: str, panel: str, over: str, *, says: str, **fields: Any) -> Claim:
    """Claim about the times of a whole trial of one learner in two panels; arguments as in `panel_ratio`."""
    text = f"{says}: time of a trial of {name} at {panel}"
    return _between(
        text, total_time_ratio((panel, name), (over, name)), unit=f" times that at {over}", trials=3, **fields
    )


def slower(
    slow: str | Iterable[str],
    fast: str | Iterable[str],
    *,
    on: str,
    place: str,
    says: str = "",
    times: float = 1.0,
    at_most: float = math.inf,
) -> tuple[Claim, ...]:
    """Claim that a trial of one learner takes between `times` and `at_most` times as long as one of another.

    Args:
      slow: label of the learner, or several.
      fast: label of the other one, or several.
      on: timed panel.
      place: as in `lower`.
      says: as in `lower`, with `{slow}` and `{fast}`; "": nothing.
      times: > 0.
      at_most: > `times`.
    """
    amount = "longer than" if times == 1.0 else f"more than {times:g} times as long as"
    limit = "" if math.isinf(at_most) else f", and less than {at_most:g} times"
    return tuple(
        _claim(
            (says.format(slow=a, fast=b) + ": " if says else "") + f"a trial of {a} takes {amount} one of {b}{limit}",
            f" ({on})",
            place,
            total_time_ratio((on, a), (on, b)),
            low=times,
            high=at_most,
            trials=3,
        )
        for a in _several(slow)
        for b in _several(fast)
    )


def faster(first: str, second: str, *, on: str, says: str, place: str, times: float = 1.0) -> Claim:
    """Claim that a trial of a learner takes less than `times` times as long as one of another; `on` as in `slower`."""
    amount = "less time than" if times == 1.0 else f"less than {times:.3g} times as long as"
    text = f"{says}: a trial of {first} takes {amount} one of {second}"
    return _claim(text, f" ({on})", place, total_time_ratio((on, first), (on, second)), high=times, trials=3)


def round_cost(name: str, *, on: str, place: str, grows: bool) -> Claim:
    """Claim that a round of a learner costs more the later it is, or that it does not; `on` is a timed panel."""
    how, low, high = ("more", GROWS, math.inf) if grows else ("no more", -math.inf, FLAT)
    text = f"a round of {name} costs {how} the later it is: log-log slope of its time"
    return _between(text, time_growth(on, name), place=place, low=low, high=high, trials=3)


def _comparisons(
    first: str, second: str | Iterable[str], on: Panels, says: str, factor: float, average: str, metric: str
) -> Iterable[tuple[str, str, str, Statistic]]:
    """Yield the sentence up to the comparison, what stands behind it, the panel, and the paired difference."""
    for panel, where in _panels(on):
        for other in _several(second):
            text = f"{says.format(second=other)}: {average} {_words(metric)} of {first}"
            yield (
                text,
                f"{_times(factor)}that of {other}",
                where,
                _AVERAGES[average](panel, first, other, factor, metric),
            )


_AVERAGES: Mapping[str, Callable[[str, str, str, float, str], Statistic]] = {
    "mean": mean_difference,
    "median": median_difference,
}


def _panels(on: Panels) -> Iterable[tuple[str, str]]:
    """Yield each panel with its title in brackets."""
    titles = on if isinstance(on, Mapping) else {panel: panel for panel in _several(on)}
    return ((panel, f" ({title})") for panel, title in titles.items())


def _side(side: Side) -> tuple[str, tuple[str, ...]]:
    """Return what a sentence calls one panel or several, and their names."""
    if isinstance(side, str):
        return side, (side,)
    ((title, panels),) = side.items()
    return title, tuple(panels)


def _times(factor: float) -> str:
    """Return the words for a factor in front of what is multiplied."""
    whole = factor < 1.0 and (1.0 / factor).is_integer()
    return "" if factor == 1.0 else f"1/{1.0 / factor:g} of " if whole else f"{factor:g} times "


def _several(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _claim(sentence: str, where: str, place: str, statistic: Statistic, /, **fields: Any) -> Claim:
    """Return the claim of a sentence in one panel, which stands in brackets behind it."""
    return Claim(f"{sentence}{where}", place, statistic, **{"sentence": sentence, **fields})


def _words(metric: str) -> str:
    return metric.replace("_", " ")


def _within(text: str, statistic: Callable[[str], Statistic], on: Panels, **fields: Any) -> tuple[Claim, ...]:
    """Return a claim for each panel, by a statistic that still takes the panel."""
    return tuple(_between(text, statistic(panel), where, **fields) for panel, where in _panels(on))


def _between(
    text: str,
    statistic: Statistic,
    where: str = "",
    *,
    place: str,
    unit: str = "",
    low: float = -math.inf,
    high: float = math.inf,
    **fields: Any,
) -> Claim:
    """Return the claim that a statistic lies in `(low, high)`, which is said between `text` and `unit`."""
    if math.isinf(low):
        region = f"below {high:g}"
    else:
        region = f"above {low:g}" if math.isinf(high) else f"between {low:.3g} and {high:.3g}"
    return _claim(f"{text} {region}{unit}", where, place, statistic, low=low, high=high, **fields)
