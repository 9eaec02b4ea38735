"""Claims made from one statement: sentence, statistic and threshold are written together, so that they agree.

Each function takes one panel or several, and one rival or several, and returns a claim for each pair of them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.statistic import (
    Statistic,
    mean_difference,
    mean_ratio,
    median_difference,
    share_below,
)
from jaxbandits.experiments.engine.thresholds import COMPARABLE

Panels = str | Iterable[str] | Mapping[str, str]


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
        Claim(f"{text} below {amount}", place, statistic, high=0.0, **fields)
        for text, amount, statistic in _comparisons(first, second, on, says, factor, average, metric)
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
        Claim(f"{text} above {amount}", place, statistic, low=0.0, **fields)
        for text, amount, statistic in _comparisons(first, second, on, says, factor, average, metric)
    )


def equivalent(
    first: str, second: str, *, on: Panels, says: str, place: str, within: float = COMPARABLE, metric: str = "regret"
) -> tuple[Claim, ...]:
    """Claim of equivalence: the ratio of two mean metrics lies between 1/within and within; arguments as in `lower`."""
    return tuple(
        Claim(
            f"{says}: mean {_words(metric)} within {within:g} times either way{where}",
            place,
            mean_ratio(panel, first, second, metric),
            low=1.0 / within,
            high=within,
        )
        for panel, where in _panels(on)
    )


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
    return tuple(
        Claim(
            f"{says}; here: in over {100.0 * share:g} % of trials{where}",
            place,
            share_below(panel, name, metric, threshold),
            low=share,
            **fields,
        )
        for panel, where in _panels(on)
    )


def _comparisons(
    first: str, second: str | Iterable[str], on: Panels, says: str, factor: float, average: str, metric: str
) -> Iterable[tuple[str, str, Statistic]]:
    """Yield the sentence up to the comparison, what stands behind it, and the paired difference."""
    times = "" if factor == 1.0 else f"1/{1.0 / factor:g} of " if factor < 1.0 else f"{factor:g} times "
    for panel, where in _panels(on):
        for other in _several(second):
            text = f"{says.format(second=other)}: {average} {_words(metric)} of {first}"
            yield text, f"{times}that of {other}{where}", _AVERAGES[average](panel, first, other, factor, metric)


_AVERAGES: Mapping[str, Callable[[str, str, str, float, str], Statistic]] = {
    "mean": mean_difference,
    "median": median_difference,
}


def _panels(on: Panels) -> Iterable[tuple[str, str]]:
    """Yield each panel with its title in brackets."""
    titles = on if isinstance(on, Mapping) else {panel: panel for panel in _several(on)}
    return ((panel, f" ({title})") for panel, title in titles.items())


def _several(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _words(metric: str) -> str:
    return metric.replace("_", " ")
