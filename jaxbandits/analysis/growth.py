"""Growth of a mean along a run, and times at which a metric reaches a threshold."""

import functools
import numbers
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxbandits.analysis.intervals import Estimate, infinite_estimate, share_interval
from jaxbandits.analysis.result_table import ResultTable, interval, point_label
from jaxbandits.analysis.table import digits_of_fields, mean_of, number
from jaxbandits.analysis.trials import Trials
from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.text import count_of

_LEAST_RECORDS = 3  # smallest number of record points for a slope


class Growth(NamedTuple):
    """Growth of a mean over the late rounds of a run."""

    label: str
    point: dict[str, Any]
    exponent: Estimate  # slope of log(mean) against log(round), by least squares over the record points


class HittingTime(NamedTuple):
    """First record points at which trials had a metric at or below (or at or above) a threshold."""

    label: str
    point: dict[str, Any]
    rounds: np.ndarray  # [S] round of that record point; inf if a trial has none; failed trials are omitted
    share: Estimate  # share of trials that reached the threshold
    median: Estimate  # lower median of `rounds`, with an interval by order statistics; inf if under half reached it


def growth(of: Mapping[str, Trials], metric: str, since: float, level: float) -> ResultTable[Growth]:
    """Estimate the growth exponent of a mean for every label and point, with intervals by the delete-one jackknife.

    Args:
      of: mapping from labels to trials.
      metric: name of a scalar metric.
      since: fraction of the horizon, in [0, 1); earlier record points are ignored.
      level: coverage of the intervals, in (0, 1).

    Raises:
      InputError: if `since` is out of range, a label has fewer than three record points at or after round
        `since * horizon`, or the metric is not scalar.
    """
    if not _is_number(since) or not 0.0 <= since < 1.0:
        raise InputError(f"since must lie in [0, 1), such as 0.1, got {format_value(since)}")
    rows = []
    for label, trials in of.items():
        _scalar(trials, metric)
        late = trials.record_points >= since * trials.horizon * (1.0 - 1e-12)  # 0.55 * 100 is above 55
        if late.sum() < _LEAST_RECORDS:
            found = count_of(int(late.sum()), "record point")
            raise InputError(
                f"{label} has {found} at or after round {since * trials.horizon:g} (since={since:g}); a growth "
                f"exponent needs at least {_LEAST_RECORDS}"
            )
        for h, point in enumerate(trials.points):
            good = trials.usable(metric)[h]
            curves = trials.get(metric)[h, good][:, late]
            found = _slope(np.log(trials.record_points[late]), curves, level)._replace(failed=int((~good).sum()))
            rows.append(Growth(label, point, found))
    header = ["label", f"growth exponent of {mean_of(metric)}", f"{100.0 * level:g} %", "seeds"]
    digits = {label: digits_of_fields(trials.points) for label, trials in of.items()}
    return ResultTable(rows, header, functools.partial(_growth_cells, digits))


def _growth_cells(digits: Mapping[str, Mapping[str, int]], row: Growth) -> list[str]:
    return [point_label(row.label, row.point, digits[row.label]), *interval(row.exponent), str(row.exponent.n)]


def _slope(log_t: np.ndarray, curves: np.ndarray, level: float) -> Estimate:
    """Estimate the slope of the log of the mean of curves `[S, M]`.

    The interval is infinite if a mean is not positive, or if only a few of many curves are not 0 at a record point.
    """
    from scipy import special  # slow to import

    n, total = len(curves), curves.sum(axis=0)
    if n < 2:
        return infinite_estimate(n)
    means = np.vstack([total / n, (total - curves) / (n - 1)])  # mean of all curves, then means without one curve
    if not (means > 0.0).all():  # a missing value is not positive either
        return infinite_estimate(n)
    least = int(np.count_nonzero(curves, axis=0).min())
    # The few curves determine the slope, but the jackknife counts all n as evidence. As in `smooth_interval`, less than
    # one resample in a hundred may consist of zeros.
    if (1.0 - least / n) ** n > 0.01:
        slope = np.log(means[0]) @ (log_t - log_t.mean()) / np.sum((log_t - log_t.mean()) ** 2)
        return infinite_estimate(n, slope)
    centred = log_t - log_t.mean()
    slopes = np.log(means) @ centred / (centred @ centred)
    spread = np.sqrt((n - 1) / n * np.sum((slopes[1:] - slopes[1:].mean()) ** 2))
    half = special.stdtrit(n - 1, 0.5 + level / 2.0) * spread
    return Estimate(*map(np.asarray, (slopes[0], slopes[0] - half, slopes[0] + half)), n=n)


def hitting_times(
    of: Mapping[str, Trials], metric: str, threshold: float, above: bool, level: float
) -> ResultTable[HittingTime]:
    """Estimate the hitting times of a threshold for every label and point.

    Args:
      of: mapping from labels to trials.
      metric: name of a scalar metric.
      threshold: the threshold.
      above: True for the first value at or above the threshold, False for the first at or below it.
      level: coverage of the intervals, in (0, 1).

    Raises:
      InputError: if the threshold is not a finite number, `above` is not a bool, or the metric is not scalar.
    """
    ranges.flag("above", above)
    if not _is_number(threshold) or not np.isfinite(threshold):
        raise InputError(f"a threshold must be a finite number, got {format_value(threshold)}")
    rows = []
    for label, trials in of.items():
        _scalar(trials, metric)
        for h, point in enumerate(trials.points):
            good = trials.usable(metric)[h]
            values = trials.get(metric)[h, good]
            there = values >= threshold if above else values <= threshold
            first = np.where(there.any(axis=1), trials.record_points[there.argmax(axis=1)], np.inf)
            failed = int((~good).sum())
            part = share_interval(np.isfinite(first).sum(), len(first), 1.0 - level)._replace(failed=failed)
            rows.append(HittingTime(label, point, first, part, _median(first, level)._replace(failed=failed)))
    what = f"{metric.replace('_', ' ')} {'>=' if above else '<='} {number(float(threshold))}"
    header = ["label", f"share with {what}", f"{100.0 * level:g} %", "median round", f"{100.0 * level:g} %", "seeds"]
    digits = {label: digits_of_fields(trials.points) for label, trials in of.items()}
    return ResultTable(rows, header, functools.partial(_hitting_cells, digits))


def _hitting_cells(digits: Mapping[str, Mapping[str, int]], row: HittingTime) -> list[str]:
    name = point_label(row.label, row.point, digits[row.label])
    return [name, *interval(row.share), *interval(row.median), str(row.share.n)]


def _median(values: np.ndarray, level: float) -> Estimate:
    """Estimate a median with an interval between two order statistics, by the binomial law of values below it."""
    n, ordered = len(values), np.sort(values)
    if not n:
        return infinite_estimate(0)
    from scipy import special  # slow to import

    below = special.bdtr(np.arange(n), n, 0.5)  # P(at most k of n lie below the median)
    k = int(np.searchsorted(below, 0.5 * (1.0 - level), side="right"))  # number of values left out at each end
    low, high = (ordered[k - 1], ordered[n - k]) if k else (-np.inf, np.inf)
    return Estimate(*map(np.asarray, (ordered[(n - 1) // 2], low, high)), n=n)


def _scalar(trials: Trials, metric: str) -> None:
    if trials.get(metric).ndim > 3:
        axes = ", ".join(trials.axis_names(metric))
        raise InputError(
            f"metric {metric!r} is a vector with axes ({axes}); growth exponents and hitting times need a scalar metric"
        )


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
