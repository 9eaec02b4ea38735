"""All pairs of contestants on the seeds they share: differences and shares of wins, with simultaneous intervals.

By Bonferroni's inequality each of n pairs may spend an n-th of the error `1 - level`. If each interval keeps its level,
all of them hold at once with probability at least `level`, for any dependence between them. Verdicts are read off these
intervals, "lower" from those that leave zero out and "comparable" from those within a margin, so that all verdicts hold
at once too. After a run whose seeds were added until every pair was decided, a pair spends its part over the looks,
little at first (`spending`). The intervals of means are corrected for skewness (`skewed`): regret is skewed, and far
out in the tails Student's interval errs several times as often as it says. Differences that are equal on all seeds
decide nothing: the interval is infinite, and the share of wins says what is known.

Error of all intervals of four contestants together, in %, at most, at level 0.95, where their losses have one law and
sizes 1, 0.5, 0.1 and 0.01 (tests/engine/test_levels.py):

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
from jaxbandits.analysis.trials import PointSelection, Trials
from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError

MOST = 20  # contestants: 190 pairs


class Contestant(NamedTuple):
    """A label at one of its points."""

    name: str
    trials: Trials
    point: int


class Pair(NamedTuple):
    """Two contestants, compared at the horizon on the seeds that both ran."""

    first: str
    second: str
    difference: Estimate  # mean of first - second
    improvement: Estimate  # share of seeds in which first ends below second, ties counted half
    decided: bool  # the interval of the difference leaves zero out, and no trial failed
    comparable: bool = False  # it lies within the margin on both sides of zero, and no trial failed

    @property
    def is_settled(self) -> bool:
        """Return whether a pair is decided: one is lower, or the difference is smaller than what matters."""
        return self.decided or self.comparable


def contestants(of: Mapping[str, Trials], points: PointSelection) -> list[Contestant]:
    """Return every label at every point, or at some points of the labels that sweep.

    Raises:
      InputError: for more than 20 of them, or unknown points.
    """
    found = []
    for label, trials in of.items():
        for h in trials.indices(points if trials.points[0] else None):
            found.append(Contestant(point_label(label, trials.points[h]), trials, h))
    if len(found) > MOST:
        raise InputError(
            f"{len(found):,} points are too many to compare in pairs ({MOST}): choose with points={{field: value}}"
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
    """Compare every pair of contestants, in the order of their names.

    Args:
      who: contestants; each two must have seeds in common.
      metric: a scalar metric that all of them measured.
      level: coverage of all intervals together, in (0, 1).
      looks: number of interim analyses, the last one included.
      group: seeds that are added from look to look; None: one look at what there is.
      margin: largest irrelevant difference, in units of the metric; 0: every difference matters.

    Raises:
      InputError: for fewer than two contestants, a vector metric, or no common seeds.
    """
    level, margin = intervals.checked_level(level), float(ranges.numbers("margin", margin, "[0, inf)"))
    if len(who) < 2:
        raise InputError("at least two labels or points are needed to compare")
    several = list(itertools.combinations(who, 2))
    spent = spending((1.0 - level) / len(several), looks)
    rows = [_pair(a, b, metric, spent, group, margin) for a, b in several]
    at = f"{100.0 * level:g} % simultaneous"
    header = [
        "first",
        "second",
        f"mean {metric.replace('_', ' ')}, first - second",
        at,
        "first wins",
        at,
        "seeds",
        "verdict",
    ]
    return ResultTable(rows, header, _cells, left=2)


def _cells(pair: Pair) -> list[str]:
    n = str(pair.difference.n) + (f" ({pair.difference.failed} failed)" if pair.difference.failed else "")
    verdict = "first lower" if pair.difference.mean < 0.0 else "second lower"
    if pair.comparable:
        verdict = f"{verdict}, by little" if pair.decided else "comparable"
    elif not pair.decided:
        verdict = "undecided"
        if pair.difference.n > 1 and np.isinf(pair.difference.high):
            verdict = "undecided: equal on all seeds"
    return [pair.first, pair.second, *interval(pair.difference), *interval(pair.improvement), n, verdict]


def spending(alpha: float, looks: int) -> np.ndarray:
    """Return `[looks]` the error that each look may spend of `alpha`, as O'Brien and Fleming: little at first.

    The increments of 2 - 2 Phi(z / sqrt(s)) over shares s of the looks, z the two-sided quantile of `alpha`. They add
    up to `alpha`: that is all that a bound by their sum needs.
    """
    from scipy import special  # slow to import

    quantile = special.ndtri(0.5 * alpha)
    return np.diff(2.0 * special.ndtr(quantile / np.sqrt(np.arange(1, looks + 1) / looks)), prepend=0.0)


def skewed_mean(values: np.ndarray, alpha: float) -> Estimate:
    """Estimate a mean over the last axis with an interval of asymptotic coverage `1 - alpha`, for skewed values.

    It is the hull of Student's and Hall's intervals, lengthened on the side of the longer tail. Hall's corrects for
    skewness, which Student's ignores, but trusts the skewness of the sample, which heavy tails make a matter of chance.
    P. Hall, On the Removal of Skewness by Transformation, JRSS B 1992: with U = (mean - mu) / s and the skewness g,
    sqrt(n) (U + g U^2 / 3 + g^2 U^3 / 27 + g / (6 n)) is nearly Student's, and has an inverse. A sample lacks the
    values of a long tail that are rarer than 1 / n. So the side of the longer tail of the sample gains 4 / n times the
    amount by which its tails differ in length: as much as four more values at its end would move the mean. In the limit
    this costs nothing.

    Misses of the mean in %, at most, at alpha = 5 % and at 0.5 % (tests/engine/test_levels.py):

        values                16           50           200
        normal                5, 0.5       5, 0.5       5, 0.5
        Student t (2.5)       5, 0.5       5, 0.5       5, 0.5
        exponential           5, 1         5, 0.5       5, 0.5
        lognormal (1)         5, 2         5, 0.5       5, 0.5
        Pareto (2.5)          6, 2.5       5, 1         5, 0.5
        lognormal (1.5)       8, 3         5, 1.5       5, 0.5
        coin (0.3)            5, 0.5       5, 0.5       5, 0.5

    Infinite width for fewer than two values, and for equal ones, which say nothing about others rarer than 1 / n.
    """
    from scipy import special  # slow to import

    n = values.shape[-1]
    mean = values.mean(axis=-1) if n else np.full(values.shape[:-1], np.nan)
    if n < 2:
        return Estimate(mean, np.full_like(mean, -np.inf), np.full_like(mean, np.inf), n)
    centred = values - mean[..., None]
    spread = centred.std(axis=-1)
    least, most = values.min(axis=-1), values.max(axis=-1)
    g = (centred**3).mean(axis=-1) / np.where(spread > 0.0, spread, 1.0) ** 3
    quantile = -special.stdtrit(n - 1, 0.5 * alpha)  # not of 1 - alpha / 2, which may round to 1
    unbiased = spread * np.sqrt(n / (n - 1))
    low, high = (mean - unbiased * _invert_transform(q / np.sqrt(n) - g / (6 * n), g) for q in (quantile, -quantile))
    half = unbiased * quantile / np.sqrt(n)
    longer = 4.0 / n * ((most - mean) - (mean - least))  # on the right if positive
    low = np.minimum(low, mean - half) + np.minimum(longer, 0.0)
    high = np.maximum(high, mean + half) + np.maximum(longer, 0.0)
    same = most - least <= 1e-12 * np.maximum(np.abs(most), np.abs(least))  # but for rounding
    return Estimate(mean, np.where(same, -np.inf, low)[()], np.where(same, np.inf, high)[()], n)


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
    difference = skewed_mean(a - b, alpha)._replace(failed=failed)
    whole = failed == 0 and len(a) > 1
    decided = bool(whole and (difference.low > 0.0 or difference.high < 0.0))
    comparable = bool(whole and -margin < difference.low and difference.high < margin)
    improvement = share(float(np.sum(a < b)), len(a), alpha, ties=float(np.sum(a == b)))._replace(failed=failed)
    return Pair(first.name, second.name, difference, improvement, decided, comparable)


def common(first: Contestant, second: Contestant, metric: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Return `[n]` final values of both on their common seeds without failed trials, and the number of failures.

    Raises:
      InputError: for a vector metric, or no seed in common.
    """
    for one in (first, second):
        if one.trials.get(metric).ndim > 3:
            axes = ", ".join(one.trials.axis_names(metric))
            raise InputError(f"metric {metric!r} is a vector ({axes}): pairs need a number")
    both, at_a, at_b = np.intersect1d(first.trials.seeds, second.trials.seeds, assume_unique=True, return_indices=True)
    if not len(both):
        raise InputError(f"{first.name} and {second.name} have no seed in common")
    good = first.trials.usable(metric)[first.point, at_a] & second.trials.usable(metric)[second.point, at_b]
    a, b = first.trials.final(metric)[first.point, at_a], second.trials.final(metric)[second.point, at_b]
    return a[good], b[good], int((~good).sum())


def share(successes: float, n: int, alpha: float, ties: float = 0.0) -> Estimate:
    """Estimate a share, with the exact interval of Clopper and Pearson of coverage `1 - alpha` or more.

    A tie counts half in the share. For the interval it is a trial that a fair coin decides, which makes the count
    binomial, and all coins fall against the end in question: ties fail at the lower end and succeed at the upper one.
    """
    from scipy import special  # slow to import

    if not n:
        return Estimate(*map(np.asarray, (np.nan, 0.0, 1.0)), n=0)
    tail, most = 0.5 * alpha, successes + ties
    low = special.betaincinv(successes, n - successes + 1.0, tail) if successes else 0.0
    high = special.betainccinv(most + 1.0, n - most, tail) if most < n else 1.0
    return Estimate(*map(np.asarray, ((successes + 0.5 * ties) / n, low, high)), n=n)
