"""Statistics for claims: each maps what an experiment measured to an estimate with a confidence interval."""

import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy import special

from jaxbandits.core.errors import unknown
from jaxbandits.experiments.claim import Measured
from jaxbandits.results.intervals import Estimate, t_interval
from jaxbandits.results.result import Result
from jaxbandits.results.trials import Trials
from jaxbandits.simulation import RoundTimes

Statistic = Callable[[Measured], Estimate]

_GROUPS = 20  # of seeds, for the jackknife
_NOTHING = tuple(map(np.asarray, (np.nan, -np.inf, np.inf)))  # what is known without enough data


def mean_difference(panel: str, first: str, second: str, factor: float = 1.0, metric: str = "regret") -> Statistic:
    """Mean over paired seeds of `first - factor * second`, final values of a metric."""

    def statistic(measured: Measured) -> Estimate:
        a, b, failed = _finals(measured.results[panel], metric, first, second)
        return t_interval(a - factor * b)._replace(failed=failed)

    return statistic


def metric_difference(panel: str, name: str, first: str, second: str, factor: float = 1.0) -> Statistic:
    """Mean over seeds of `first - factor * second`, final values of two metrics of one algorithm."""

    def statistic(measured: Measured) -> Estimate:
        trials = measured.results[panel][name]
        good = (trials.usable(first) & trials.usable(second))[0]
        a, b = (trials.final(metric)[0, good] for metric in (first, second))
        return t_interval(a - factor * b)._replace(failed=int((~good).sum()))

    return statistic


def median_difference(panel: str, first: str, second: str, factor: float = 1.0, metric: str = "regret") -> Statistic:
    """Median of `first` less `factor` times the median of `second`, over paired seeds; the interval is a jackknife."""

    def statistic(measured: Measured) -> Estimate:
        a, b, failed = _finals(measured.results[panel], metric, first, second)

        def difference(rows: np.ndarray) -> float:
            return float(np.median(rows[:, 0]) - factor * np.median(rows[:, 1]))

        # Leaving out one group of 20, not one seed: for a median only that is consistent.
        return _jackknife(difference, np.stack([a, b], axis=-1))._replace(failed=failed)

    return statistic


def win_share(panel: str, first: str, second: str, metric: str = "regret") -> Statistic:
    """Share of paired seeds in which `first` ends below `second` (a tie counts half), with Wilson's interval."""

    def statistic(measured: Measured) -> Estimate:
        a, b, failed = _finals(measured.results[panel], metric, first, second)
        return wilson(float(np.sum(a < b) + 0.5 * np.sum(a == b)), len(a))._replace(failed=failed)

    return statistic


def share_below(panel: str, name: str, metric: str, threshold: float = 1.0) -> Statistic:
    """Share of seeds whose final value of a metric is at most `threshold`, with Wilson's interval."""

    def statistic(measured: Measured) -> Estimate:
        values, failed = _final(measured.results[panel], metric, name)
        return wilson(float(np.sum(values <= threshold)), len(values))._replace(failed=failed)

    return statistic


def growth_exponent(panel: str, name: str, metric: str = "regret", since: float = 0.1) -> Statistic:
    """Slope of log(mean metric) against log(round) over rounds from `since` times the horizon on.

    Least squares over the record points; the interval is a delete-one-group jackknife over 20 groups of seeds.
    """

    def statistic(measured: Measured) -> Estimate:
        return exponent(measured.results[panel][name], metric, since)

    return statistic


def exponent(trials: Trials, metric: str = "regret", since: float = 0.1) -> Estimate:
    """`growth_exponent` of the trials of one label."""
    good = trials.usable(metric)[0]
    late = trials.records >= since * trials.horizon
    failed = int((~good).sum())
    if late.sum() < 3:
        return Estimate(*_NOTHING, n=int(good.sum()), failed=failed)
    log_t, curves = np.log(trials.records[late]), trials.get(metric)[0, good][:, late]
    return _jackknife(lambda rows: _slope(log_t, rows), curves)._replace(failed=failed)


def growth_across(panels: Mapping[str, float], name: str, metric: str = "regret") -> Statistic:
    """Slope of log(mean final metric) against log(abscissa) over panels; the interval is a jackknife over paired seeds.

    Args:
      panels: panel name to abscissa.
      name: the algorithm.
      metric: the metric, positive in the mean.
    """

    def statistic(measured: Measured) -> Estimate:
        values, failed = _side_by_side(measured, tuple(panels), name, metric)
        log_x = np.log(list(panels.values()))
        return _jackknife(lambda rows: _slope(log_x, rows), values)._replace(failed=failed)

    return statistic


def final_mean(panel: str, name: str, metric: str = "regret") -> Statistic:
    """Mean over seeds of the final value of a metric."""

    def statistic(measured: Measured) -> Estimate:
        values, failed = _final(measured.results[panel], metric, name)
        return t_interval(values)._replace(failed=failed)

    return statistic


def worst_ratio(panels: Sequence[str], over: Sequence[str], name: str, metric: str = "regret") -> Statistic:
    """The largest mean final metric over some panels, divided by the largest over others; jackknife over seeds."""

    def statistic(measured: Measured) -> Estimate:
        values, failed = _side_by_side(measured, (*panels, *over), name, metric)

        def ratio(rows: np.ndarray) -> float:
            means = rows.mean(axis=0)
            return float(means[: len(panels)].max() / means[len(panels) :].max())

        return _jackknife(ratio, values)._replace(failed=failed)

    return statistic


def late_rate(panel: str, name: str, metric: str = "regret") -> Statistic:
    """Mean increase of a metric per round over the second half of the rounds."""

    def statistic(measured: Measured) -> Estimate:
        trials = measured.results[panel][name]
        good = trials.usable(metric)[0]
        curves = trials.get(metric)[0, good]
        half = int(np.argmin(np.abs(trials.records - 0.5 * trials.horizon)))
        if half == len(trials.records) - 1:
            return Estimate(*_NOTHING, n=len(curves))
        rate = (curves[:, -1] - curves[:, half]) / (trials.horizon - trials.records[half])
        return t_interval(rate)._replace(failed=int((~good).sum()))

    return statistic


def point_difference(
    panel: str, first: dict[str, float], second: dict[str, float], factor: float = 1.0, metric: str = "regret"
) -> Statistic:
    """Mean over seeds of `first - factor * second`, two points of the only label's sweep."""

    def statistic(measured: Measured) -> Estimate:
        trials = measured.results[panel].one(None)
        rows = [trials.index(point) for point in (first, second)]
        good = trials.usable(metric)[rows].all(axis=0)
        a, b = trials.final(metric)[rows][:, good]
        return t_interval(a - factor * b)._replace(failed=int((~good).sum()))

    return statistic


def time_growth(panel: str, name: str, since: float = 0.1) -> Statistic:
    """Slope of log(time per round) against log(round), from `since` times the horizon on.

    Theil and Sen's median over pairs of stretches: a stretch in which the machine was busy does not tilt it.
    """

    def statistic(measured: Measured) -> Estimate:
        times, rows = _timed(measured, panel, name)
        middles = times.stops - np.diff(times.stops, prepend=0) / 2.0
        late = middles >= since * times.stops[-1]
        if late.sum() < 3:
            return Estimate(*_NOTHING, n=0)
        i, j = np.triu_indices(int(late.sum()), k=1)
        log_t, log_ns = np.log(middles[late]), _log(rows[:, late])
        slopes = (log_ns[:, j] - log_ns[:, i]) / (log_t[j] - log_t[i])
        return t_interval(np.nanmedian(slopes[np.isfinite(slopes).any(axis=1)], axis=1))

    return statistic


def total_time_ratio(slow: tuple[str, str], fast: tuple[str, str]) -> Statistic:
    """Time of a whole trial of `slow` over `fast`, each a panel and an algorithm.

    Geometric mean over repeats.
    """

    def statistic(measured: Measured) -> Estimate:
        pair = [_timed(measured, *who) for who in (slow, fast)]
        turns = min(len(rows) for _, rows in pair)
        a, b = (_log(rows[:turns] @ np.diff(times.stops, prepend=0)) for times, rows in pair)
        estimate = t_interval((a - b)[np.isfinite(a - b)])
        return Estimate(*map(np.exp, estimate[:3]), n=estimate.n)

    return statistic


def wilson(successes: float, n: int, level: float = 0.95) -> Estimate:
    """A share with Wilson's score interval."""
    z = special.ndtri(0.5 + level / 2.0)
    share = successes / n if n else np.nan
    centre = (successes + z * z / 2.0) / (n + z * z)
    half = z / (n + z * z) * np.sqrt(n * share * (1.0 - share) + z * z / 4.0) if n else np.inf
    return Estimate(*map(np.asarray, (share, centre - half, centre + half)), n=n)


def _log(ns: np.ndarray) -> np.ndarray:
    """NaN where a time was too short to be told from the cost of calling."""
    return np.log(np.where(ns > 0.0, ns, np.nan))


def _timed(measured: Measured, panel: str, name: str) -> tuple[RoundTimes, np.ndarray]:
    """The timings of a panel, of single trials where there are, and of one algorithm among them `[repeats, n]`."""
    times = measured.times[min(key for key in measured.times if key[0] == panel)]
    if name not in times.ns:
        raise unknown("timed label", name, times.ns)
    return times, times.ns[name]


def _side_by_side(measured: Measured, panels: Sequence[str], name: str, metric: str) -> tuple[np.ndarray, int]:
    """`[S, panels]` final values of a label over the seeds where it failed in no panel, and in how many it did."""
    return _paired([measured.results[panel][name] for panel in panels], metric)


def _jackknife(value: Callable[[np.ndarray], float], rows: np.ndarray) -> Estimate:
    """A function of rows (one a seed) with its delete-one-group interval; nothing is known from few rows."""
    n = len(rows)
    if n < 2 * _GROUPS:
        return Estimate(*_NOTHING, n=n)
    without = [value(np.delete(rows, group, axis=0)) for group in np.array_split(np.arange(n), _GROUPS)]
    spread = np.sqrt((_GROUPS - 1) / _GROUPS * np.sum((np.asarray(without) - np.mean(without)) ** 2))
    centre, half = value(rows), special.stdtrit(_GROUPS - 1, 0.975) * spread
    return Estimate(*map(np.asarray, (centre, centre - half, centre + half)), n=n)


def _slope(log_t: np.ndarray, curves: np.ndarray) -> float:
    """Of log(mean) against log(t); NaN where a mean is not positive."""
    means = curves.mean(axis=0)
    return float(np.polyfit(log_t, np.log(means), 1)[0]) if (means > 0.0).all() else np.nan


def _final(result: Result, metric: str, name: str) -> tuple[np.ndarray, int]:
    """Final values of a label over the seeds where it did not fail, and how many failed."""
    good = result[name].usable(metric)[0]
    return result[name].final(metric)[0, good], int((~good).sum())


def _finals(result: Result, metric: str, first: str, second: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Final values of two labels over the seeds where neither failed, and how many seeds that leaves out."""
    values, failed = _paired([result[first], result[second]], metric)
    return values[:, 0], values[:, 1], failed


def _paired(several: Sequence[Trials], metric: str) -> tuple[np.ndarray, int]:
    """`[S, n]` final values of n sets of trials over the seeds that all of them ran and none failed; the failed ones.

    One seed is the same instance and noise whatever the label, and the same random numbers in all panels.
    """
    common = functools.reduce(np.intersect1d, [trials.seeds for trials in several])
    rows = [np.searchsorted(trials.seeds, common) for trials in several]
    pairs = list(zip(several, rows, strict=True))
    values = np.stack([trials.final(metric)[0, at] for trials, at in pairs], axis=-1)
    good = np.stack([trials.usable(metric)[0, at] for trials, at in pairs]).all(axis=0)
    return values[good], int((~good).sum())
