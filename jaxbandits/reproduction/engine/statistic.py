"""Statistics for claims. A statistic maps the measurements of an experiment to an estimate with a confidence interval.

The functions decorated by `as_statistic` make statistics. They are called without their first argument, `measured`:
`final_mean("max", "OFUL")` returns a statistic, a function from measurements to the mean final regret of OFUL in panel
"max".
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec

import numpy as np

from jaxbandits.analysis.intervals import (
    Estimate,
    Intervals,
    infinite_estimate,
    log_ratio_interval,
    mean_interval,
    median_interval,
    share_interval,
    smooth_interval,
    t_interval,
)
from jaxbandits.analysis.trials import Trials
from jaxbandits.base.errors import InputError, unknown_name
from jaxbandits.reproduction.engine.claim import Measurements
from jaxbandits.results.result import Result
from jaxbandits.simulation import RoundTimes

Statistic = Callable[[Measurements], Estimate]
_P = ParamSpec("_P")

_FEWEST = 40  # smallest number of seeds for intervals of slopes, ratios and medians
_UNIFORM = "uniform"  # label of the learner whose time is that of the environment alone


def as_statistic(estimate: Callable[Concatenate[Measurements, _P], Estimate]) -> Callable[_P, Statistic]:
    """Decorate a function of measurements and settings, so that it takes the settings alone and returns a statistic.

    For example, `final_mean(measured, panel, name)` is called as `final_mean(panel, name)(measured)`.
    """

    @functools.wraps(estimate)
    def with_settings(*args: _P.args, **kwargs: _P.kwargs) -> Statistic:
        def statistic(measured: Measurements) -> Estimate:
            return estimate(measured, *args, **kwargs)

        statistic.__name__ = estimate.__name__
        return statistic

    return with_settings


@as_statistic
def mean_difference(
    measured: Measurements, panel: str, first: str, second: str, factor: float = 1.0, metric: str = "regret"
) -> Estimate:
    """Estimate the mean of `first - factor * second` over paired seeds, for final values of a metric of two learners.

    If `factor` is not 1, the difference is hard to interpret, so the ratio of the two means is added to the companions
    of the estimate (`Estimate.companions`).
    """
    a, b, failed = common_finals(measured.results[panel], metric, first, second)
    found = paired_mean(a - factor * b)
    if factor != 1.0 and len(b) and b.mean() > 0.0:
        found = found._replace(companions=(("ratio of means", float(a.mean() / b.mean())), *found.companions))
    return found._replace(failed=failed)


@as_statistic
def mean_ratio(measured: Measurements, panel: str, first: str, second: str, metric: str = "regret") -> Estimate:
    """Estimate the ratio of the mean final values of a metric for `first` and for `second`, over paired seeds.

    Use this ratio for claims of equivalence: with margins such as 1/2 and 2, the claim stays the same if the learners
    are exchanged. The estimate is NaN if a mean is not positive.
    """
    a, b, failed = common_finals(measured.results[panel], metric, first, second)
    beside = _companions(a - b) if len(a) else ()
    return log_ratio_interval(a, b)._replace(failed=failed, companions=beside)


def paired_mean(differences: np.ndarray) -> Estimate:
    """Estimate the mean of paired differences `[n]`, with their median and their share below 0 as companions.

    Half of the differences that are 0 count as below 0.
    """
    return mean_interval(differences)._replace(companions=_companions(differences) if len(differences) else ())


def _companions(differences: np.ndarray) -> tuple[tuple[str, float], ...]:
    share = np.mean(differences < 0.0) + 0.5 * np.mean(differences == 0.0)
    return (("median difference", float(np.median(differences))), ("share below 0", float(share)))


@as_statistic
def metric_difference(
    measured: Measurements, panel: str, name: str, first: str, second: str, factor: float = 1.0
) -> Estimate:
    """Estimate the mean over seeds of `first - factor * second`, for the final values of two metrics of one learner."""
    trials = _check_scalars(check_single_point(measured.results[panel][name]), first, second)
    good = (trials.usable(first) & trials.usable(second))[0]
    a, b = (trials.final(metric)[0, good] for metric in (first, second))
    return paired_mean(a - factor * b)._replace(failed=int((~good).sum()))


@as_statistic
def median_difference(
    measured: Measurements, panel: str, first: str, second: str, factor: float = 1.0, metric: str = "regret"
) -> Estimate:
    """Estimate the median final value of a metric for `first`, minus `factor` times the median for `second`.

    Seeds are paired. With fewer than 40 of them the estimate is NaN.
    """
    a, b, failed = common_finals(measured.results[panel], metric, first, second)
    if len(a) < _FEWEST:
        return infinite_estimate(len(a))._replace(failed=failed)
    return median_interval(a, b, factor)._replace(failed=failed)


@as_statistic
def win_share(measured: Measurements, panel: str, first: str, second: str, metric: str = "regret") -> Estimate:
    """Estimate the share of paired seeds in which `first` has a smaller final value than `second`.

    A tie counts half.
    """
    a, b, failed = common_finals(measured.results[panel], metric, first, second)
    return share_interval(np.sum(a < b), len(a), ties=np.sum(a == b))._replace(failed=failed)


@as_statistic
def share_below(measured: Measurements, panel: str, name: str, metric: str, threshold: float = 1.0) -> Estimate:
    """Estimate the share of seeds whose final value of a metric is at most `threshold`."""
    values, failed = _final(measured.results[panel], metric, name)
    return share_interval(np.sum(values <= threshold), len(values))._replace(failed=failed)


@as_statistic
def growth_exponent(
    measured: Measurements, panel: str, name: str, metric: str = "regret", since: float = 0.1
) -> Estimate:
    """Estimate the slope of log(mean metric) against log(round) over the rounds from `since * horizon` onwards."""
    return exponent(measured.results[panel][name], metric, since)


def exponent(trials: Trials, metric: str = "regret", since: float = 0.1) -> Estimate:
    """Estimate the growth exponent of a metric from the trials of one label, by least squares.

    The exponent is defined as in `growth_exponent`. The estimate is NaN with fewer than 40 seeds, with fewer than
    three record points from round `since * horizon` onwards, or if a mean is not positive.
    """
    good = _check_scalars(check_single_point(trials), metric).usable(metric)[0]
    late = trials.record_points >= since * trials.horizon
    failed = int((~good).sum())
    if late.sum() < 3:
        return infinite_estimate(int(good.sum()))._replace(failed=failed)
    log_t, curves = np.log(trials.record_points[late]), trials.get(metric)[0, good][:, late]
    return _slope(log_t, curves)._replace(failed=failed)


@as_statistic
def log_slope(
    measured: Measurements, panel: str, name: str, unit: float = 1.0, metric: str = "regret", since: float = 0.1
) -> Estimate:
    """Estimate the slope of a mean metric against log(round), divided by `unit`, from round `since * horizon` onwards.

    The slope is fitted by least squares, which is linear in the curves. The estimate is therefore the mean over seeds
    of the slopes of single trials.
    """
    trials = _check_scalars(check_single_point(measured.results[panel][name]), metric)
    good = trials.usable(metric)[0]
    late = trials.record_points >= since * trials.horizon
    failed = int((~good).sum())
    if late.sum() < 3:
        return infinite_estimate(int(good.sum()))._replace(failed=failed)
    centred = np.log(trials.record_points[late])
    centred = centred - centred.mean()
    slopes = trials.get(metric)[0, good][:, late] @ centred / (unit * np.sum(centred**2))
    return mean_interval(slopes)._replace(failed=failed)


@as_statistic
def growth_across(measured: Measurements, panels: Mapping[str, float], name: str, metric: str = "regret") -> Estimate:
    """Estimate the slope of log(mean final metric) against log(abscissa) over panels, by least squares.

    `panels` maps the names of panels to their abscissae (> 0). Only seeds without a failure in any panel are used.
    """
    values, failed = _side_by_side(measured, tuple(panels), name, metric)
    log_x = np.log(list(panels.values()))
    return _slope(log_x, values)._replace(failed=failed)


def exponent_of(law: Callable[[float], float], at: Sequence[float]) -> float:
    """Return the least-squares slope of log(law(x)) against log(x) at the points `at`.

    This is the exponent that `growth_across` finds for values that follow the law exactly. If a bound has the form
    T^a log T, compare measured growth with this exponent, which includes the logarithm over the measured range, and not
    with a.

    Args:
      law: function from an abscissa to the bound, including its logarithms and constants; > 0.
      at: two or more abscissae, > 0.
    """
    log_x = np.log(np.asarray(at, np.float64))
    weights = (log_x - log_x.mean()) / np.sum((log_x - log_x.mean()) ** 2)
    return float(np.log([law(float(x)) for x in at]) @ weights)


@as_statistic
def final_mean(measured: Measurements, panel: str, name: str, metric: str = "regret") -> Estimate:
    """Estimate the mean over seeds of the final value of a metric."""
    values, failed = _final(measured.results[panel], metric, name)
    return mean_interval(values)._replace(failed=failed)


@as_statistic
def worst_ratio(
    measured: Measurements, panels: Sequence[str], over: Sequence[str], name: str, metric: str = "regret"
) -> Estimate:
    """Estimate the largest mean final metric over `panels`, divided by the largest over the panels `over`.

    The estimate is NaN with fewer than 40 seeds, or if a mean is not positive.
    """
    values, failed = _side_by_side(measured, (*panels, *over), name, metric)
    return _largest_ratio(values, len(panels))._replace(failed=failed)


@as_statistic
def relative_change(measured: Measurements, panel: str, over: str, name: str, metric: str = "regret") -> Estimate:
    """Estimate (a - b) / |b| for the mean final metrics a in `panel` and b in `over`, which may have either sign.

    Seeds are paired. The estimate is NaN with fewer than 40 seeds, or if b is within four standard errors of 0.
    """
    values, failed = _side_by_side(measured, (panel, over), name, metric)
    n, base = len(values), values[:, 1]
    if n < _FEWEST or not abs(base.mean()) > 4.0 * base.std(ddof=1) / np.sqrt(n):
        return infinite_estimate(n)._replace(failed=failed)

    def change(means: np.ndarray) -> np.ndarray:
        return (means[..., 0] - means[..., 1]) / np.abs(means[..., 1])

    def gradient(means: np.ndarray) -> np.ndarray:
        a, b = means[..., 0], means[..., 1]
        return np.stack([1.0 / np.abs(b), -a / (b * np.abs(b))], axis=-1)

    return smooth_interval(values, change, gradient)._replace(failed=failed)


@as_statistic
def ratio_of_ratios(
    measured: Measurements, panel: str, over: str, first: str, second: str, metric: str = "regret"
) -> Estimate:
    """Estimate `(a / b) / (c / d)` for mean final values of a metric.

    Here a and b are the means of `first` in the panels `panel` and `over`, and c and d are the means of `second` in the
    same two panels. Seeds are paired. The estimate is NaN with fewer than 40 seeds, or if a mean is not positive.
    """
    several = [measured.results[at][name] for name in (first, second) for at in (panel, over)]
    values, failed = _pair(several, metric)
    signs = np.asarray([1.0, -1.0, -1.0, 1.0])
    found = _smooth(values, lambda means: np.log(means) @ signs, lambda means: signs / means)
    return _exponential(found)._replace(failed=failed)


def _largest_ratio(rows: np.ndarray, n_above: int) -> Estimate:
    """Estimate `worst_ratio` from rows `[S, panels]`, of which the first `n_above` columns form the numerator.

    The interval is computed for the logarithm, in which only the two largest means have a nonzero derivative.
    """
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
    """Map an estimate of x to an estimate of exp(x); NaN stays NaN."""
    if np.isnan(of.mean):
        return of
    return of._replace(
        mean=np.exp(of.mean), low=np.exp(of.low), high=np.exp(of.high), interval_at=_map(np.exp, of.interval_at)
    )


@as_statistic
def late_rate(measured: Measurements, panel: str, name: str, metric: str = "regret") -> Estimate:
    """Estimate the mean increase of a metric per round over the second half of the rounds."""
    trials = _check_scalars(check_single_point(measured.results[panel][name]), metric)
    good = trials.usable(metric)[0]
    curves = trials.get(metric)[0, good]
    half = int(np.argmin(np.abs(trials.record_points - 0.5 * trials.horizon)))
    failed = int((~good).sum())
    if half == len(trials.record_points) - 1:
        return infinite_estimate(len(curves))._replace(failed=failed)
    rate = (curves[:, -1] - curves[:, half]) / (trials.horizon - trials.record_points[half])
    return mean_interval(rate)._replace(failed=failed)


@as_statistic
def point_difference(
    measured: Measurements,
    panel: str,
    first: dict[str, float],
    second: dict[str, float],
    factor: float = 1.0,
    metric: str = "regret",
) -> Estimate:
    """Estimate the mean over seeds of `first - factor * second`, for final values at two points of a sweep.

    The panel must have a single label, whose algorithm is swept.
    """
    result = measured.results[panel]
    if len(result.trials) != 1:
        raise InputError(
            f"panel {panel} must have a single label, whose algorithm is swept; it has {', '.join(result)}"
        )
    trials = _check_scalars(result.one(None), metric)
    rows = [trials.index(point) for point in (first, second)]
    good = trials.usable(metric)[rows].all(axis=0)
    a, b = trials.final(metric)[rows][:, good]
    return paired_mean(a - factor * b)._replace(failed=int((~good).sum()))


@as_statistic
def exact_value(measured: Measurements, value: Callable[[], float]) -> Estimate:
    """Return a number that does not depend on trials, as an estimate whose interval has length 0."""
    del measured
    number = np.asarray(value())
    return Estimate(number, number, number, n=0, deterministic=True)


@as_statistic
def time_growth(measured: Measurements, panel: str, name: str, since: float = 0.1) -> Estimate:
    """Estimate the slope of log(time per round) against log(round) over the rounds from `since * horizon` onwards.

    In each repeat the slope is the median over all pairs of segments (Theil-Sen), which is robust to segments in which
    the machine was busy. The estimate is the mean over repeats.
    """
    times, rows = _round_times(measured, panel, name)
    return _time_slope(times.stretch_ends, _log(rows), since)


@as_statistic
def advantage_growth(measured: Measurements, panel: str, slow: str, fast: str, since: float = 0.1) -> Estimate:
    """Estimate the slope of log(time of `slow` / time of `fast`) against log(round), by the method of `time_growth`."""
    (times, a), (_, b) = (_round_times(measured, panel, name) for name in (slow, fast))
    turns = min(len(a), len(b))
    return _time_slope(times.stretch_ends, _log(a[:turns]) - _log(b[:turns]), since)


def _time_slope(stops: np.ndarray, log_ns: np.ndarray, since: float) -> Estimate:
    middles = stops - np.diff(stops, prepend=0) / 2.0
    late = middles >= since * stops[-1]
    if late.sum() < 3:
        return infinite_estimate(0)
    i, j = np.triu_indices(int(late.sum()), k=1)
    log_t, log_ns = np.log(middles[late]), log_ns[:, late]
    slopes = (log_ns[:, j] - log_ns[:, i]) / (log_t[j] - log_t[i])
    return t_interval(np.nanmedian(slopes[np.isfinite(slopes).any(axis=1)], axis=1))


@as_statistic
def total_time(measured: Measurements, panel: str, name: str) -> Estimate:
    """Estimate the duration of a trial in seconds, as a geometric mean over repeats.

    The time of the environment is subtracted if it is known, that is, if uniform play was timed too.
    """
    times, rows = _round_times(measured, panel, name)
    return _geometric_mean(_log(rows @ np.diff(times.stretch_ends, prepend=0) / 1e9))


@as_statistic
def total_time_ratio(measured: Measurements, slow: tuple[str, str], fast: tuple[str, str]) -> Estimate:
    """Estimate the time of a trial of `slow` divided by that of `fast`, as a geometric mean over repeats.

    `slow` and `fast` are pairs of a panel and a label. Times are computed as in `total_time`.
    """
    pair = [_round_times(measured, *who) for who in (slow, fast)]
    turns = min(len(rows) for _, rows in pair)
    a, b = (_log(rows[:turns] @ np.diff(times.stretch_ends, prepend=0)) for times, rows in pair)
    return _geometric_mean(a - b)


def _geometric_mean(logs: np.ndarray) -> Estimate:
    """Estimate the geometric mean of numbers from their logarithms, of which only finite ones are used."""
    estimate = t_interval(logs[np.isfinite(logs)])
    return Estimate(*map(np.exp, estimate[:3]), n=estimate.n, interval_at=_map(np.exp, estimate.interval_at))


def scale(intervals: Intervals | None, factor: float) -> Intervals | None:
    """Return the intervals of `factor` (> 0) times an estimate from those of the estimate; None stays None."""
    return _map(lambda end: end * factor, intervals)


def _map(function: Callable[[Any], Any], intervals: Intervals | None) -> Intervals | None:
    """Return the intervals of an increasing function of an estimate; None stays None."""
    if intervals is None:
        return None
    return lambda level: tuple(map(function, intervals(level)))  # pyright: ignore[reportReturnType]


def _log(ns: np.ndarray) -> np.ndarray:
    """Return logarithms of times; NaN for times too short to be distinguished from the overhead of a call."""
    return np.log(np.where(ns > 0.0, ns, np.nan))


def _round_times(measured: Measurements, panel: str, name: str) -> tuple[RoundTimes, np.ndarray]:
    """Return the timings of a panel (of single trials if available), and the times `[repeats, n]` of an algorithm.

    If uniform play was also timed, its median over repeats, which is the time of the environment, is subtracted.
    """
    timed = [key for key in measured.times if key[0] == panel]
    if not timed:
        raise InputError(f"panel {panel} was not timed: the field `timed` of an experiment names the panels to time")
    times = measured.times[min(timed)]
    if name not in times.ns:
        raise unknown_name("timed label", name, times.ns)
    rows = times.ns[name]
    if _UNIFORM in times.ns and name != _UNIFORM:
        rows = rows - np.median(times.ns[_UNIFORM], axis=0)
    return times, rows


def check_single_point(trials: Trials) -> Trials:
    """Return the trials of a label unchanged, after checking that its hyperparameters are not swept.

    Raises:
      InputError: if there are several points, since a statistic of one label would silently read the first of them.
    """
    if len(trials.points) > 1:
        raise InputError(
            f"a statistic of one label needs one hyperparameter point, but {', '.join(trials.points[0])} takes "
            f"{len(trials.points)} values: use point_difference, or give each value a label"
        )
    return trials


def _check_scalars(trials: Trials, *metrics: str) -> Trials:
    """Return the trials of a label unchanged, after checking that these metrics have one value per trial and round.

    Raises:
      InputError: for an unknown metric, or for a metric with further axes, of which a statistic would mix entries.
    """
    for metric in metrics:
        if names := trials.axis_names(trials.metric(metric)):
            raise InputError(f"metric {metric!r} has the axis {', '.join(names)}: derive a metric without axes from it")
    return trials


def _side_by_side(measured: Measurements, panels: Sequence[str], name: str, metric: str) -> tuple[np.ndarray, int]:
    """Return `[S, panels]` final values of a label over seeds without failure, and the number of other seeds."""
    return _pair([measured.results[panel][name] for panel in panels], metric)


def _slope(log_x: np.ndarray, rows: np.ndarray) -> Estimate:
    """Estimate the least-squares slope of log(mean) for rows `[seeds, abscissae]`; NaN with too few rows."""
    weights = (log_x - log_x.mean()) / np.sum((log_x - log_x.mean()) ** 2)
    return _smooth(rows, lambda means: np.log(means) @ weights, lambda means: weights / means)


def _smooth(
    rows: np.ndarray, value: Callable[[np.ndarray], np.ndarray], gradient: Callable[[np.ndarray], np.ndarray]
) -> Estimate:
    """Estimate a smooth function of means by `smooth_interval`; NaN with too few rows, or if a mean is not positive."""
    if len(rows) < _FEWEST or not (rows.mean(axis=0) > 0.0).all():
        return infinite_estimate(len(rows))
    return smooth_interval(rows, value, gradient)


def _final(result: Result, metric: str, name: str) -> tuple[np.ndarray, int]:
    """Return the final values of a label over the seeds in which it did not fail, and the number of failures."""
    trials = _check_scalars(check_single_point(result[name]), metric)
    good = trials.usable(metric)[0]
    return trials.final(metric)[0, good], int((~good).sum())


def common_finals(result: Result, metric: str, first: str, second: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the final values of two labels over the seeds in which neither failed, and the number of omitted seeds.

    Only seeds that both labels ran are considered.
    """
    values, failed = _pair([result[first], result[second]], metric)
    return values[:, 0], values[:, 1], failed


def _pair(several: Sequence[Trials], metric: str) -> tuple[np.ndarray, int]:
    """Return `[S, n]` final values over the seeds without failure, and the number of seeds with failures.

    Only seeds that all n sets of trials ran are considered. A seed gives the same instance and noise for every label,
    and the same random numbers in all panels.
    """
    several = [_check_scalars(check_single_point(trials), metric) for trials in several]
    common = functools.reduce(np.intersect1d, [trials.seeds for trials in several])
    rows = [np.searchsorted(trials.seeds, common) for trials in several]
    together = list(zip(several, rows, strict=True))
    values = np.stack([trials.final(metric)[0, at] for trials, at in together], axis=-1)
    good = np.stack([trials.usable(metric)[0, at] for trials, at in together]).all(axis=0)
    return values[good], int((~good).sum())


@as_statistic
def with_axis_share(
    measured: Measurements, statistic: Statistic, panel: str, first: str, second: str, top: str, metric: str = "regret"
) -> Estimate:
    """Add a companion to another statistic: `(first - second) / top`, for mean final values of a metric.

    A difference of two small regrets is invisible in a figure whose axis extends to the regret of a third learner,
    `top`. The companion shows how large the difference is on this axis. If `top` was not run, or if there is no axis
    (no seed without failure, or a mean of zero), no companion is added.
    """
    found, result = statistic(measured), measured.results[panel]
    if top not in result:
        return found
    several, _ = _pair([result[label] for label in (first, second, top)], metric)
    a, b, height = several.mean(axis=0) if len(several) else (0.0, 0.0, 0.0)
    if not height:
        return found
    return found._replace(companions=(*found.companions, (f"share of the axis to {top}", float((a - b) / height))))
