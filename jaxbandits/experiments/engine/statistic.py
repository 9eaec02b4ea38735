"""Statistics for claims: each maps what an experiment measured to an estimate with a confidence interval."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxbandits.base.errors import InputError, unknown_name
from jaxbandits.experiments.engine.claim import Measured
from jaxbandits.results import pairs
from jaxbandits.results.intervals import (
    Estimate,
    Intervals,
    log_ratio_interval,
    mean_interval,
    median_interval,
    smooth_interval,
    t_interval,
)
from jaxbandits.results.result import Result
from jaxbandits.results.trials import Trials
from jaxbandits.simulation import RoundTimes

Statistic = Callable[[Measured], Estimate]

_FEWEST = 40  # seeds below which slopes, ratios and medians are not known
_UNIFORM = "uniform"  # the label of a learner that costs nothing but the environment's rounds
_NOTHING = tuple(map(np.asarray, (np.nan, -np.inf, np.inf)))  # what is known without enough data


def mean_difference(panel: str, first: str, second: str, factor: float = 1.0, metric: str = "regret") -> Statistic:
    """Mean over paired seeds of `first - factor * second`, final values of a metric."""

    def statistic(measured: Measured) -> Estimate:
        a, b, failed = _finals(measured.results[panel], metric, first, second)
        return paired_mean(a - factor * b)._replace(failed=failed)

    return statistic


def mean_ratio(panel: str, first: str, second: str, metric: str = "regret") -> Statistic:
    """Mean of `first` over the mean of `second`, final values of a metric over paired seeds.

    For claims of equivalence: margins such as 1/2 and 2 treat both alike. NaN where a mean is not positive.
    """

    def statistic(measured: Measured) -> Estimate:
        a, b, failed = _finals(measured.results[panel], metric, first, second)
        beside = _beside(a - b) if len(a) else ()
        return log_ratio_interval(a, b)._replace(failed=failed, companions=beside)

    return statistic


def paired_mean(differences: np.ndarray) -> Estimate:
    """Mean of paired differences `[n]`, with their median and the share below 0 beside it."""
    return mean_interval(differences)._replace(companions=_beside(differences) if len(differences) else ())


def _beside(differences: np.ndarray) -> tuple[tuple[str, float], ...]:
    share = np.mean(differences < 0.0) + 0.5 * np.mean(differences == 0.0)
    return (("median difference", float(np.median(differences))), ("share below 0", float(share)))


def metric_difference(panel: str, name: str, first: str, second: str, factor: float = 1.0) -> Statistic:
    """Mean over seeds of `first - factor * second`, final values of two metrics of one algorithm."""

    def statistic(measured: Measured) -> Estimate:
        trials = measured.results[panel][name]
        good = (trials.usable(first) & trials.usable(second))[0]
        a, b = (trials.final(metric)[0, good] for metric in (first, second))
        return paired_mean(a - factor * b)._replace(failed=int((~good).sum()))

    return statistic


def median_difference(panel: str, first: str, second: str, factor: float = 1.0, metric: str = "regret") -> Statistic:
    """Median of `first` less `factor` times the median of `second`, over paired seeds."""

    def statistic(measured: Measured) -> Estimate:
        a, b, failed = _finals(measured.results[panel], metric, first, second)
        if len(a) < _FEWEST:
            return Estimate(*_NOTHING, n=len(a), failed=failed)
        return median_interval(a, b, factor)._replace(failed=failed)

    return statistic


def win_share(panel: str, first: str, second: str, metric: str = "regret") -> Statistic:
    """Share of paired seeds in which `first` ends below `second` (a tie counts half), with the exact interval."""

    def statistic(measured: Measured) -> Estimate:
        a, b, failed = _finals(measured.results[panel], metric, first, second)
        return exact_share(int(np.sum(a < b)), len(a), ties=int(np.sum(a == b)))._replace(failed=failed)

    return statistic


def share_below(panel: str, name: str, metric: str, threshold: float = 1.0) -> Statistic:
    """Share of seeds whose final value of a metric is at most `threshold`, with the exact interval."""

    def statistic(measured: Measured) -> Estimate:
        values, failed = _final(measured.results[panel], metric, name)
        return exact_share(int(np.sum(values <= threshold)), len(values))._replace(failed=failed)

    return statistic


def growth_exponent(panel: str, name: str, metric: str = "regret", since: float = 0.1) -> Statistic:
    """Slope of log(mean metric) against log(round) over rounds from `since` times the horizon on, by least squares."""

    def statistic(measured: Measured) -> Estimate:
        return exponent(measured.results[panel][name], metric, since)

    return statistic


def exponent(trials: Trials, metric: str = "regret", since: float = 0.1) -> Estimate:
    """`growth_exponent` of the trials of one label."""
    good = trials.usable(metric)[0]
    late = trials.record_points >= since * trials.horizon
    failed = int((~good).sum())
    if late.sum() < 3:
        return Estimate(*_NOTHING, n=int(good.sum()), failed=failed)
    log_t, curves = np.log(trials.record_points[late]), trials.get(metric)[0, good][:, late]
    return _slope(log_t, curves)._replace(failed=failed)


def growth_across(panels: Mapping[str, float], name: str, metric: str = "regret") -> Statistic:
    """Slope of log(mean final metric) against log(abscissa) over panels, by least squares; seeds are paired.

    Args:
      panels: panel name to abscissa.
      name: the algorithm.
      metric: the metric, positive in the mean.
    """

    def statistic(measured: Measured) -> Estimate:
        values, failed = _side_by_side(measured, tuple(panels), name, metric)
        log_x = np.log(list(panels.values()))
        return _slope(log_x, values)._replace(failed=failed)

    return statistic


def final_mean(panel: str, name: str, metric: str = "regret") -> Statistic:
    """Mean over seeds of the final value of a metric."""

    def statistic(measured: Measured) -> Estimate:
        values, failed = _final(measured.results[panel], metric, name)
        return mean_interval(values)._replace(failed=failed)

    return statistic


def worst_ratio(panels: Sequence[str], over: Sequence[str], name: str, metric: str = "regret") -> Statistic:
    """The largest mean final metric over some panels, divided by the largest over others; NaN for means below 0."""

    def statistic(measured: Measured) -> Estimate:
        values, failed = _side_by_side(measured, (*panels, *over), name, metric)
        return _largest_ratio(values, len(panels))._replace(failed=failed)

    return statistic


def relative_change(panel: str, over: str, name: str, metric: str = "regret") -> Statistic:
    """(a - b) / |b| for the mean final metric a in panel `panel` and b in panel `over`, of either sign.

    Seeds are paired; NaN where b is within four standard errors of 0.
    """

    def statistic(measured: Measured) -> Estimate:
        values, failed = _side_by_side(measured, (panel, over), name, metric)
        n, base = len(values), values[:, 1]
        if n < _FEWEST or not abs(base.mean()) > 4.0 * base.std(ddof=1) / np.sqrt(n):
            return Estimate(*_NOTHING, n=n, failed=failed)

        def change(means: np.ndarray) -> np.ndarray:
            return (means[..., 0] - means[..., 1]) / np.abs(means[..., 1])

        def gradient(means: np.ndarray) -> np.ndarray:
            a, b = means[..., 0], means[..., 1]
            return np.stack([1.0 / np.abs(b), -a / (b * np.abs(b))], axis=-1)

        return smooth_interval(values, change, gradient)._replace(failed=failed)

    return statistic


def ratio_of_ratios(panel: str, over: str, first: str, second: str, metric: str = "regret") -> Statistic:
    """Ratio of two changes from panel `over` to `panel`, that of `first` over that of `second`: means of final values.

    The mean of `first` in `panel` over its mean in `over`, divided by the same of `second`; seeds are paired.
    """
    signs = np.asarray([1.0, -1.0, -1.0, 1.0])

    def statistic(measured: Measured) -> Estimate:
        several = [measured.results[at][name] for name in (first, second) for at in (panel, over)]
        values, failed = _paired(several, metric)
        found = _smooth(values, lambda means: np.log(means) @ signs, lambda means: signs / means)
        return _exponential(found)._replace(failed=failed)

    return statistic


def _largest_ratio(rows: np.ndarray, n_above: int) -> Estimate:
    """On the scale of logarithms, on which the derivative is that of the two largest means alone."""
    k = rows.shape[1]
    signs = np.where(np.arange(k) < n_above, 1.0, -1.0)

    def value(means: np.ndarray) -> np.ndarray:
        return np.log(means[..., :n_above].max(axis=-1) / means[..., n_above:].max(axis=-1))

    def gradient(means: np.ndarray) -> np.ndarray:
        above, below = means[..., :n_above].argmax(axis=-1), n_above + means[..., n_above:].argmax(axis=-1)
        largest = (np.arange(k) == above[..., None]) | (np.arange(k) == below[..., None])
        return np.where(largest, signs / means, 0.0)

    return _exponential(_smooth(rows, value, gradient))


def _exponential(of: Estimate) -> Estimate:
    """The estimate of exp(x) from that of x; nothing stays nothing."""
    if np.isnan(of.mean):
        return of
    return of._replace(
        mean=np.exp(of.mean), low=np.exp(of.low), high=np.exp(of.high), interval_at=_mapped(np.exp, of.interval_at)
    )


def late_rate(panel: str, name: str, metric: str = "regret") -> Statistic:
    """Mean increase of a metric per round over the second half of the rounds."""

    def statistic(measured: Measured) -> Estimate:
        trials = measured.results[panel][name]
        good = trials.usable(metric)[0]
        curves = trials.get(metric)[0, good]
        half = int(np.argmin(np.abs(trials.record_points - 0.5 * trials.horizon)))
        if half == len(trials.record_points) - 1:
            return Estimate(*_NOTHING, n=len(curves))
        rate = (curves[:, -1] - curves[:, half]) / (trials.horizon - trials.record_points[half])
        return mean_interval(rate)._replace(failed=int((~good).sum()))

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
        return paired_mean(a - factor * b)._replace(failed=int((~good).sum()))

    return statistic


def time_growth(panel: str, name: str, since: float = 0.1) -> Statistic:
    """Slope of log(time per round) against log(round), from `since` times the horizon on.

    Theil and Sen's median over pairs of stretches: a stretch in which the machine was busy does not tilt it.
    """

    def statistic(measured: Measured) -> Estimate:
        times, rows = _timed(measured, panel, name)
        return _time_slope(times.stretch_ends, _log(rows), since)

    return statistic


def advantage_growth(panel: str, slow: str, fast: str, since: float = 0.1) -> Statistic:
    """Slope of log(time per round of `slow` over that of `fast`) against log(round), as `time_growth`."""

    def statistic(measured: Measured) -> Estimate:
        (times, a), (_, b) = (_timed(measured, panel, name) for name in (slow, fast))
        turns = min(len(a), len(b))
        return _time_slope(times.stretch_ends, _log(a[:turns]) - _log(b[:turns]), since)

    return statistic


def _time_slope(stops: np.ndarray, log_ns: np.ndarray, since: float) -> Estimate:
    middles = stops - np.diff(stops, prepend=0) / 2.0
    late = middles >= since * stops[-1]
    if late.sum() < 3:
        return Estimate(*_NOTHING, n=0)
    i, j = np.triu_indices(int(late.sum()), k=1)
    log_t, log_ns = np.log(middles[late]), log_ns[:, late]
    slopes = (log_ns[:, j] - log_ns[:, i]) / (log_t[j] - log_t[i])
    return t_interval(np.nanmedian(slopes[np.isfinite(slopes).any(axis=1)], axis=1))


def total_time(panel: str, name: str) -> Statistic:
    """Seconds of a whole trial, net of the environment if known; geometric mean over repeats."""

    def statistic(measured: Measured) -> Estimate:
        times, rows = _timed(measured, panel, name)
        seconds = _log(rows @ np.diff(times.stretch_ends, prepend=0) / 1e9)
        estimate = t_interval(seconds[np.isfinite(seconds)])
        return Estimate(*map(np.exp, estimate[:3]), n=estimate.n, interval_at=_mapped(np.exp, estimate.interval_at))

    return statistic


def total_time_ratio(slow: tuple[str, str], fast: tuple[str, str]) -> Statistic:
    """Time of a whole trial of `slow` over `fast`, each a panel and an algorithm, net of the environment if known.

    Geometric mean over repeats.
    """

    def statistic(measured: Measured) -> Estimate:
        pair = [_timed(measured, *who) for who in (slow, fast)]
        turns = min(len(rows) for _, rows in pair)
        a, b = (_log(rows[:turns] @ np.diff(times.stretch_ends, prepend=0)) for times, rows in pair)
        estimate = t_interval((a - b)[np.isfinite(a - b)])
        return Estimate(*map(np.exp, estimate[:3]), n=estimate.n, interval_at=_mapped(np.exp, estimate.interval_at))

    return statistic


def exact_share(successes: int, n: int, ties: int = 0, level: float = 0.95) -> Estimate:
    """A share of trials with exact intervals (`results.pairs.share`) at every level.

    The p of a claim about it, the least alpha whose interval decides, is twice the smaller of the two binomial tails
    at the claim's end: verdict and p are read off the same tails. Where all of n trials succeed, the share is above s
    at 5 % as soon as s^n < 0.025.
    """

    def at(level: float) -> tuple[np.ndarray, np.ndarray]:
        found = pairs.share(successes, n, 1.0 - level, ties)
        return found.low, found.high

    return pairs.share(successes, n, 1.0 - level, ties)._replace(interval_at=at)


def scaled(intervals: Intervals | None, factor: float) -> Intervals | None:
    """The intervals of `factor > 0` times an estimate."""
    return _mapped(lambda end: end * factor, intervals)


def _mapped(function: Callable[[Any], Any], intervals: Intervals | None) -> Intervals | None:
    """The intervals of an increasing function of an estimate."""
    if intervals is None:
        return None
    return lambda level: tuple(map(function, intervals(level)))  # pyright: ignore[reportReturnType]


def _log(ns: np.ndarray) -> np.ndarray:
    """NaN where a time was too short to be told from the cost of calling."""
    return np.log(np.where(ns > 0.0, ns, np.nan))


def _timed(measured: Measured, panel: str, name: str) -> tuple[RoundTimes, np.ndarray]:
    """The timings of a panel, of single trials where there are, and of one algorithm among them `[repeats, n]`.

    Net of the environment wherever uniform play, which does nothing else, was timed beside it (median over repeats).
    """
    timed = [key for key in measured.times if key[0] == panel]
    if not timed:
        raise InputError(f"panel {panel} was not timed")
    times = measured.times[min(timed)]
    if name not in times.ns:
        raise unknown_name("timed label", name, times.ns)
    rows = times.ns[name]
    if _UNIFORM in times.ns and name != _UNIFORM:
        rows = rows - np.median(times.ns[_UNIFORM], axis=0)
    return times, rows


def _side_by_side(measured: Measured, panels: Sequence[str], name: str, metric: str) -> tuple[np.ndarray, int]:
    """`[S, panels]` final values of a label over the seeds where it failed in no panel, and in how many it did."""
    return _paired([measured.results[panel][name] for panel in panels], metric)


def _slope(log_x: np.ndarray, rows: np.ndarray) -> Estimate:
    """Least squares of log(mean) on an abscissa, over rows `[seeds, abscissae]`; nothing is known from few rows."""
    weights = (log_x - log_x.mean()) / np.sum((log_x - log_x.mean()) ** 2)
    return _smooth(rows, lambda means: np.log(means) @ weights, lambda means: weights / means)


def _smooth(
    rows: np.ndarray, value: Callable[[np.ndarray], np.ndarray], gradient: Callable[[np.ndarray], np.ndarray]
) -> Estimate:
    """`smooth_interval` of positive means; NaN where one is not."""
    if len(rows) < _FEWEST or not (rows.mean(axis=0) > 0.0).all():
        return Estimate(*_NOTHING, n=len(rows))
    return smooth_interval(rows, value, gradient)


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
    together = list(zip(several, rows, strict=True))
    values = np.stack([trials.final(metric)[0, at] for trials, at in together], axis=-1)
    good = np.stack([trials.usable(metric)[0, at] for trials, at in together]).all(axis=0)
    return values[good], int((~good).sum())
