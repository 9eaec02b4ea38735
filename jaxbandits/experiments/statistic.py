"""Statistics for claims: each maps what an experiment measured to an estimate with a confidence interval."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy import special

from jaxbandits.core.errors import unknown
from jaxbandits.experiments.declare import Measured
from jaxbandits.results.intervals import Estimate, t_interval
from jaxbandits.simulation import Result, RoundTimes

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
        (a, failed_a), (b, failed_b) = (_final(measured.results[panel], metric, name) for metric in (first, second))
        return t_interval(a - factor * b)._replace(failed=max(failed_a, failed_b))

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
        return exponent(measured.results[panel], name, metric, since)

    return statistic


def exponent(result: Result, name: str, metric: str = "regret", since: float = 0.1) -> Estimate:
    """`growth_exponent` of one result."""
    curves_all = result.get(metric, name)[0]
    index = result.algorithms.index(name)
    good = result.usable(metric)[index, 0]
    late = result.records >= since * result.records[-1]
    failed = int(result.failed(metric)[index].sum())
    if late.sum() < 3:
        return Estimate(*_NOTHING, n=int(good.sum()), failed=failed)
    log_t = np.log(result.records[late])
    return _jackknife(lambda curves: _slope(log_t, curves), curves_all[good][:, late])._replace(failed=failed)


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
        result = measured.results[panel]
        values = result.get(metric, name)[0]
        index = result.algorithms.index(name)
        curves = values[result.usable(metric)[index, 0]]
        half = int(np.argmin(np.abs(result.records - 0.5 * result.records[-1])))
        if half == len(result.records) - 1:
            return Estimate(*_NOTHING, n=len(curves))
        rate = (curves[:, -1] - curves[:, half]) / (result.records[-1] - result.records[half])
        return t_interval(rate)._replace(failed=int(result.failed(metric)[index].sum()))

    return statistic


def point_difference(
    panel: str, first: dict[str, float], second: dict[str, float], factor: float = 1.0, metric: str = "regret"
) -> Statistic:
    """Mean over seeds of `first - factor * second`, two points of a sweep."""

    def statistic(measured: Measured) -> Estimate:
        result = measured.results[panel]
        rows = [_point(result, point) for point in (first, second)]
        good = result.usable(metric)[0, rows].all(axis=0)
        a, b = result.final(metric)[0, rows][:, good]
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
        raise unknown("timed algorithm", name, times.ns)
    return times, times.ns[name]


def _side_by_side(measured: Measured, panels: Sequence[str], name: str, metric: str) -> tuple[np.ndarray, int]:
    """`[S, panels]` final values of an algorithm over the seeds where it failed in no panel, and how many it did in."""
    results = [measured.results[panel] for panel in panels]
    values = np.stack([result.final(metric, name)[0] for result in results], axis=-1)
    index = [result.algorithms.index(name) for result in results]
    good = np.stack([r.usable(metric)[i, 0] for r, i in zip(results, index, strict=True)]).all(axis=0)
    ran = np.stack([r.ran[i, 0] for r, i in zip(results, index, strict=True)]).all(axis=0)
    return values[good], int((ran & ~good).sum())


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


def _point(result: Result, point: dict[str, float]) -> int:
    return next(i for i, p in enumerate(result.points) if all(np.isclose(p[k], v, rtol=1e-9) for k, v in point.items()))


def _final(result: Result, metric: str, name: str) -> tuple[np.ndarray, int]:
    """Final values of an algorithm over the seeds where it did not fail, and how many failed."""
    values = result.final(metric, name)[0]
    index = result.algorithms.index(name)
    values = values[result.usable(metric)[index, 0]]
    return values, int(result.failed(metric)[index].sum())


def _finals(result: Result, metric: str, first: str, second: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Final values of two algorithms over the seeds where neither failed, and how many seeds that leaves out."""
    a, b = (result.final(metric, name)[0] for name in (first, second))
    pair = [result.algorithms.index(name) for name in (first, second)]
    both, good = result.ran[pair, 0].all(axis=0), result.usable(metric)[pair, 0].all(axis=0)
    return a[good], b[good], int(both.sum() - good.sum())
