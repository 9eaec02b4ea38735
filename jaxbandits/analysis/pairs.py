"""Comparisons of all pairs of contestants on their common seeds: mean differences and win shares.

All intervals hold simultaneously. By Bonferroni's inequality each of n pairs receives the share 1 / n of the error `1 -
level`. If each interval has its nominal coverage, all intervals hold simultaneously with probability at least `level`,
for any dependence between them. A verdict is "lower" if an interval excludes zero, and "comparable" if it lies within a
margin around zero, so all verdicts hold simultaneously as well. If seeds were added until every pair was decided, each
pair divides its share of the error among the interim analyses (looks), and spends little of it at the first looks
(`spending`). The intervals of means are corrected for skewness (`skewed_mean`): regret is skewed, and at levels close
to 1 Student's interval then misses the mean several times as often as its level says. A difference that is the same on
all seeds decides nothing: the interval of the mean is infinite, and only the share of wins is informative.

Upper limits, in %, of the probability that some interval misses, for four contestants at level 0.95. The losses of the
contestants have the same law, scaled by 1, 0.5, 0.1 and 0.01 (tests/engine/test_levels.py):

    seeds                 16       50       100
    normal                5        5        5
    exponential           5        5        5
    lognormal (1)         9        5        5
    Pareto (2.5)          13       6        5
    lognormal (1.5)       20       11       7
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxbandits.analysis import intervals
from jaxbandits.analysis.intervals import Estimate
from jaxbandits.analysis.result_table import ResultTable, interval, point_label
from jaxbandits.analysis.table import digits_of_fields, mean_of
from jaxbandits.analysis.trials import PointSelection, Trials
from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError

MOST = 20  # largest number of contestants: 190 pairs


class Contestant(NamedTuple):
    """One label at one of its hyperparameter points."""

    name: str
    trials: Trials
    point: int


class Pair(NamedTuple):
    """Two contestants, compared at the horizon on the seeds that both ran."""

    first: str
    second: str
    difference: Estimate  # mean of first - second
    improvement: Estimate  # share of seeds on which first ends below second; a tie counts half
    decided: bool  # the interval of the difference excludes zero, and no trial was left out
    comparable: bool = False  # the interval of the difference lies within the margin, and no trial was left out

    @property
    def is_settled(self) -> bool:
        """True if the pair is decided or comparable, so that it needs no more seeds."""
        return self.decided or self.comparable


def contestants(of: Mapping[str, Trials], points: PointSelection) -> list[Contestant]:
    """Return a contestant for every label and hyperparameter point; `points` selects the points of swept labels.

    Raises:
      InputError: if there are more than 20 contestants, or `points` names unknown points.
    """
    found = []
    for label, trials in of.items():
        digits = digits_of_fields(trials.points)
        for h in trials.indices(points if trials.points[0] else None):
            found.append(Contestant(point_label(label, trials.points[h], digits), trials, h))
    if len(found) > MOST:
        raise InputError(
            f"{len(found):,} points are too many to compare in pairs (at most {MOST}): choose some of them with "
            "points={field: value}"
        )
    return found


def pairs(
    who: Sequence[Contestant],
    metric: str,
    level: float = 0.95,
    looks: int = 1,
    group: int | None = None,
    margin: float = 0.0,
) -> ResultTable[Pair]:
    """Compare every pair of contestants; the pairs are listed in the order of `who`.

    Args:
      who: contestants; every pair must have seeds in common.
      metric: scalar metric that all contestants measured.
      level: probability that all intervals hold simultaneously, in (0, 1).
      looks: number of analyses, including the last.
      group: number of seeds that are added between looks; None for a single look at all seeds.
      margin: largest irrelevant difference, in units of the metric; 0 if every difference matters.

    Raises:
      InputError: if there are fewer than two contestants, the metric is a vector, or two contestants share no seed.
    """
    level, margin = intervals.checked_level(level), ranges.real("margin", margin, "[0, inf)")
    if len(who) < 2:
        raise InputError("a comparison in pairs needs at least two labels or points")
    several = list(itertools.combinations(who, 2))
    spent = spending((1.0 - level) / len(several), looks)
    rows = [_pair(a, b, metric, spent, group, margin) for a, b in several]
    at = f"{100.0 * level:g} % simultaneous"
    header = [
        "first",
        "second",
        f"{mean_of(metric)}, first - second",
        at,
        "first wins",
        at,
        "seeds",
        "verdict",
    ]
    return ResultTable(rows, header, _cells, left=2)


def _cells(pair: Pair) -> list[str]:
    n = str(pair.difference.n) + (f" ({pair.difference.failed} left out)" if pair.difference.failed else "")
    verdict = "first lower" if pair.difference.mean < 0.0 else "second lower"
    if pair.comparable:
        verdict = f"{verdict}, by a small difference" if pair.decided else "comparable"
    elif not pair.decided:
        verdict = "undecided"
        if pair.difference.deterministic:
            verdict = "undecided: same difference on all seeds"
    return [pair.first, pair.second, *interval(pair.difference), *interval(pair.improvement), n, verdict]


def spending(alpha: float, looks: int) -> np.ndarray:
    """Return how much of the error `alpha` each look may spend, `[looks]`, by the function of O'Brien and Fleming.

    The errors are the increments of 2 - 2 Phi(z / sqrt(s)) at s = 1 / looks, 2 / looks, ..., 1, where z is the
    two-sided normal quantile of `alpha`. They are small at the first looks and add up to `alpha`, as the union bound
    over the looks requires.
    """
    from scipy import special  # slow to import

    quantile = special.ndtri(0.5 * alpha)
    return np.diff(2.0 * special.ndtr(quantile / np.sqrt(np.arange(1, looks + 1) / looks)), prepend=0.0)


def skewed_mean(values: np.ndarray, alpha: float) -> Estimate:
    """Estimate a mean over the last axis with an interval of asymptotic coverage `1 - alpha`, for skewed values.

    The interval is the hull of Student's and Hall's intervals, extended on the side of the longer tail. Hall's interval
    corrects for skewness, which Student's ignores, but depends on the skewness of the sample, which is very variable
    for heavy tails. P. Hall, On the Removal of Skewness by Transformation, JRSS B 1992: with U = (mean - mu) / s and
    the skewness g, sqrt(n) (U + g U^2 / 3 + g^2 U^3 / 27 + g / (6 n)) has nearly Student's distribution, and is
    invertible in U. A sample rarely contains the values of a long tail that are rarer than 1 / n. The side of the
    longer tail of the sample is therefore extended by 4 / n times the difference of the lengths of both tails, which is
    about how far four more values at its end would move the mean. The extension vanishes as n grows.

    Upper limits, in %, of the probability that the interval misses the mean, at alpha = 5 % and at 0.5 %
    (tests/engine/test_levels.py):

        values                16           50           200
        normal                5, 0.5       5, 0.5       5, 0.5
        Student t (2.5)       5, 0.5       5, 0.5       5, 0.5
        exponential           5, 1         5, 0.5       5, 0.5
        lognormal (1)         5, 2         5, 0.5       5, 0.5
        Pareto (2.5)          6, 2.5       5, 1         5, 0.5
        lognormal (1.5)       8, 3         5, 1.5       5, 0.5
        coin (0.3)            5, 0.5       5, 0.5       5, 0.5

    The width is infinite for fewer than two values, and for equal values, since these contain no information about
    values that are rarer than 1 / n. It is also infinite if `alpha` is so small (0, or below 1e-200 for some n) that
    SciPy has no quantile.
    """
    from scipy import special  # slow to import

    n = values.shape[-1]
    if n < 2:
        mean = values.mean(axis=-1) if n else np.full(values.shape[:-1], np.nan)
        return Estimate(mean, np.full_like(mean, -np.inf), np.full_like(mean, np.inf), n)
    power = intervals.power_of_two(np.abs(values).max(axis=-1))
    values = np.ldexp(values, -power[..., None])
    mean = values.mean(axis=-1)
    centred = values - mean[..., None]
    spread = centred.std(axis=-1)
    least, most = values.min(axis=-1), values.max(axis=-1)
    g = (centred**3).mean(axis=-1) / np.where(spread > 0.0, spread, 1.0) ** 3
    quantile = -special.stdtrit(n - 1, 0.5 * alpha)  # the quantile of 1 - alpha / 2 would fail if that rounds to 1
    unbiased = spread * np.sqrt(n / (n - 1))
    has_quantile = np.isfinite(quantile)  # otherwise it is infinite, with either sign
    quantile = quantile if has_quantile else 0.0
    low, high = (mean - unbiased * _invert_transform(q / np.sqrt(n) - g / (6 * n), g) for q in (quantile, -quantile))
    half = unbiased * quantile / np.sqrt(n)
    longer = 4.0 / n * ((most - mean) - (mean - least))  # positive if the right tail is longer
    low = np.minimum(low, mean - half) + np.minimum(longer, 0.0)
    high = np.maximum(high, mean + half) + np.maximum(longer, 0.0)
    is_bounded = has_quantile & ~_are_equal(least, most)
    low, high = np.where(is_bounded, low, -np.inf), np.where(is_bounded, high, np.inf)
    with np.errstate(over="ignore"):
        return Estimate(*(np.ldexp(end, power)[()] for end in (mean, low, high)), n=n)


def _are_equal(least: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Return whether values, given their smallest and largest, are equal up to rounding."""
    return most - least <= 1e-12 * np.maximum(np.abs(most), np.abs(least))


def _invert_transform(x: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Solve `U + g U^2 / 3 + g^2 U^3 / 27 = x` for U."""
    some = np.abs(g) > 1e-6
    by = np.where(some, g, 1.0)
    return np.where(some, 3.0 / by * (np.cbrt(1.0 + by * x) - 1.0), x)


def _pair(
    first: Contestant, second: Contestant, metric: str, spent: np.ndarray, group: int | None, margin: float
) -> Pair:
    a, b, failed = common(first, second, metric)
    look = len(spent) if group is None else min(len(spent), max(1, (len(a) + failed) // group))
    alpha = float(spent[look - 1])
    same = len(a) > 1 and bool(_are_equal(np.min(a - b), np.max(a - b)))
    difference = skewed_mean(a - b, alpha)._replace(failed=failed, deterministic=same)
    whole = failed == 0 and len(a) > 1
    decided = bool(whole and (difference.low > 0.0 or difference.high < 0.0))
    comparable = bool(whole and -margin < difference.low and difference.high < margin)
    improvement = intervals.share_interval(np.sum(a < b), len(a), alpha, ties=np.sum(a == b))._replace(failed=failed)
    return Pair(first.name, second.name, difference, improvement, decided, comparable)


def common(first: Contestant, second: Contestant, metric: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the final values `[n]` of both contestants on common seeds, and the number of seeds that are left out.

    A seed is left out if a trial of either contestant failed or has no value.

    Raises:
      InputError: if the metric is a vector, or the contestants have no seed in common.
    """
    for one in (first, second):
        if one.trials.get(metric).ndim > 3:
            axes = ", ".join(one.trials.axis_names(metric))
            raise InputError(
                f"metric {metric!r} is a vector with axes ({axes}); comparisons in pairs need a scalar metric"
            )
    both, at_a, at_b = np.intersect1d(first.trials.seeds, second.trials.seeds, assume_unique=True, return_indices=True)
    if not len(both):
        raise InputError(f"{first.name} and {second.name} have no seed in common")
    good = first.trials.usable(metric)[first.point, at_a] & second.trials.usable(metric)[second.point, at_b]
    a, b = first.trials.final(metric)[first.point, at_a], second.trials.final(metric)[second.point, at_b]
    return a[good], b[good], int((~good).sum())
