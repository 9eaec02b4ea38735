"""Estimates over seeds: t-intervals of means, exact ones of shares, bootstrap ones of means, ratios and medians."""

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value

_FEW = 4  # largest number of estimates that `repr` writes out
_RESAMPLES, _CHUNK = 39_999, 2_000
_PART = 2**16  # counts multiplied at once; with many more, BLAS would start threads, which cost more than they save
_MOST = 2_048  # largest number of rows that are resampled; more rows are first averaged in blocks
_MEDIANS = 999  # number of resamples for the standard error of a median
_KEY = 20_240_101  # seed of the resampling, so that the same data have the same interval

Intervals: TypeAlias = Callable[[float], tuple[Any, Any]]  # function from a level of coverage to both ends


class Estimate(NamedTuple):
    """Estimate over seeds of a number, or of every entry of an array, with an interval.

    Example:
      >>> t_interval(np.array([[1.0, 10.0], [2.0, 10.5], [4.0, 9.5]]))
      Estimate(2.333 [-1.461, 6.128], 10 [8.758, 11.24], n=3)
    """

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: int
    failed: int = 0  # number of omitted trials: trials that failed or have no value
    interval_at: Intervals | None = None  # the interval at any other level; None if it is not known
    companions: tuple[tuple[str, float], ...] = ()  # further numbers to show with a mean, such as a median or a share
    deterministic: bool = False  # True if every seed gave the same number
    exact: bool = False  # True if the coverage of `interval_at` is right even at levels very close to 1

    def __repr__(self) -> str:
        """Return up to four estimates with four digits each, or the number and the range of more estimates."""
        rows = [np.ravel(np.asarray(part, float)) for part in np.broadcast_arrays(*self[:3])]
        if len(rows[0]) <= _FEW:
            body = [f"{mean:.4g} [{low:.4g}, {high:.4g}]" for mean, low, high in zip(*rows, strict=True)]
        else:
            body = [f"{len(rows[0]):,} means in [{rows[0].min():.4g}, {rows[0].max():.4g}]"]
        failed = [f"failed={self.failed}"] if self.failed else []
        return f"Estimate({', '.join([*body, f'n={self.n}', *failed])})"

    @property
    def half_width(self) -> np.ndarray:
        """Half the length of the interval."""
        return (self.high - self.low) / 2.0


def infinite_estimate(n: int, mean: ArrayLike = np.nan) -> Estimate:
    """Return an estimate with an infinite interval, for n values that do not determine an interval."""
    return Estimate(*map(np.asarray, (mean, -np.inf, np.inf)), n=n)


def t_interval(values: np.ndarray, axis: int = 0, level: float = 0.95) -> Estimate:
    """Estimate a mean over `axis` with Student's two-sided interval, which is infinite for fewer than two values.

    Its coverage is `level` for normal values. Skewed values need larger samples: for 50 lognormal values (sigma 1) an
    interval of level 0.95 has coverage 0.90. If all values are equal, the estimate is marked as `deterministic`. Its
    interval then has length zero, and gives no information about values that occur with a probability below 1 / n.

    Args:
      values: finite numbers.
      axis: the axis of independent trials.
      level: coverage, in (0, 1).

    Raises:
      InputError: if the level is not in (0, 1).
    """
    level = checked_level(level)
    n = values.shape[axis]
    mean = values.mean(axis=axis) if n else np.full(np.delete(values.shape, axis), np.nan)
    if n < 2:
        return Estimate(mean, np.full_like(mean, -np.inf), np.full_like(mean, np.inf), n)
    power = power_of_two(np.abs(values).max(axis=axis))
    scaled = np.ldexp(values, -np.expand_dims(power, axis)) if power.any() else values
    with np.errstate(over="ignore"):
        error = np.ldexp(scaled.std(axis=axis, ddof=1) / np.sqrt(n), power)
    at = functools.partial(_student_ends, mean, error, n)  # not a closure, which could not be pickled
    same = bool((np.ptp(values, axis=axis) == 0.0).all())
    return Estimate(mean, *at(level), n, interval_at=at, deterministic=same)


def _student_ends(mean: np.ndarray, error: np.ndarray, n: int, level: float) -> tuple[Any, Any]:
    half = student_quantile(n - 1, 0.5 + checked_level(level) / 2.0) * error
    return mean - half, mean + half


def power_of_two(largest: np.ndarray) -> np.ndarray:
    """Return e, where values are divided by 2^e so that squares and cubes stay in float64; 0 for values of usual size.

    Args:
      largest: largest absolute value of each sample.
    """
    is_usual = (largest > 2.0**-200) & (largest < 2.0**200)
    return np.where(is_usual, 0, np.frexp(largest)[1])


def share_interval(successes: ArrayLike, n: int, alpha: float = 0.05, ties: ArrayLike = 0.0) -> Estimate:
    """Estimate shares of successes with the exact interval of Clopper and Pearson, of coverage at least `1 - alpha`.

    A tie counts half in the share. For the interval, a tie is regarded as a trial that a fair coin decides, so that the
    number of successes is binomial. To be conservative, all ties count as failures for the lower end and as successes
    for the upper end.

    The p-value of a claim about the share is the smallest alpha at which the interval decides the claim. It is twice
    the smaller of the two binomial tails at the end of the claimed region, so verdict and p-value agree. If all n
    trials succeed, the share is above s at the 5 % level as soon as s^n < 0.025.

    Args:
      successes: numbers of successful trials.
      n: number of trials.
      alpha: 1 minus the coverage, in (0, 1).
      ties: numbers of trials that count half.
    """
    fewest = np.asarray(successes, float)
    most = fewest + np.asarray(ties, float)
    at = functools.partial(_share_ends, fewest, most, n)  # not a closure, which could not be pickled
    mean = 0.5 * (fewest + most) / n if n else np.full(most.shape, np.nan)
    return Estimate(mean, *_binomial_ends(fewest, most, n, alpha), n, interval_at=at, exact=True)


def _share_ends(fewest: np.ndarray, most: np.ndarray, n: int, level: float) -> tuple[Any, Any]:
    return _binomial_ends(fewest, most, n, 1.0 - checked_level(level))


def _binomial_ends(fewest: np.ndarray, most: np.ndarray, n: int, alpha: float) -> tuple[Any, Any]:
    from scipy import special  # slow to import

    tail = 0.5 * alpha
    low = special.betaincinv(np.maximum(fewest, 1.0), n - fewest + 1.0, tail)
    high = special.betainccinv(most + 1.0, np.maximum(n - most, 1.0), tail)
    low, high = np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=1.0)  # NaN for some tails below 1e-150
    return np.where(fewest > 0.0, low, 0.0), np.where(most < n, high, 1.0)


def metric_interval(values: np.ndarray, axis: int = 0, level: float = 0.95, is_indicator: bool = False) -> Estimate:
    """Estimate the mean of a metric: by `share_interval` for an indicator, otherwise by `t_interval`.

    For an indicator Student's interval could pass 0 or 1, and would have length zero if all values are equal. For other
    metrics it is cut at zero if no value is negative: it ignores signs, and for a few skewed losses extends below zero,
    although their mean cannot be negative. Cutting it at zero does not change its coverage. Differences use
    `t_interval`, since they can have either sign even if all values of a sample have the same sign. Claims use
    `mean_interval`, which draws about 40,000 resamples per number.

    Args:
      values: finite numbers.
      axis: the axis of independent trials.
      level: coverage, in (0, 1).
      is_indicator: True for a metric whose values are 0 or 1 (`Trials.indicators`).

    Raises:
      InputError: if the level is not in (0, 1).
    """
    if is_indicator:
        return share_interval(values.sum(axis=axis), values.shape[axis], 1.0 - checked_level(level))
    found = t_interval(values, axis, level)
    inside = found.interval_at
    if inside is None or (values < 0.0).any():
        return found
    at = functools.partial(_ends_above_zero, inside)
    return found._replace(low=np.maximum(found.low, 0.0), interval_at=at)


def _ends_above_zero(inside: Intervals, level: float) -> tuple[Any, Any]:
    low, high = inside(level)
    return np.maximum(low, 0.0), high


def mean_interval(values: np.ndarray, level: float = 0.95) -> Estimate:
    """Estimate a skewed mean by Student's interval, extended to a bootstrap-t interval with half the tail probability.

    Student's interval is too short for skewed quantities (coverage 0.90 instead of 0.95 for lognormal values at n =
    64). The bootstrap-t interval, which studentises each resample by its own standard deviation, is longer but still
    too short. With half the tail probability it covers at least `level` - 0.01 from 64 values on, up to the skewness of
    lognormal values of sigma 1.5 or of Pareto values of index 2.5, and more than `level` without skewness. Resamples
    are drawn with a fixed seed, so that equal data have equal intervals. At levels above 0.9999, which the number of
    resamples cannot resolve, intervals are unbounded. If all values are equal, the interval has length zero. For rare
    values the coverage is much smaller: 0.7 instead of 0.95 for 64 tosses of a coin with probability 0.02, which are
    all equal in a quarter of the samples.

    Args:
      values: `[n]` finite numbers.
      level: coverage, in (0, 1).

    Raises:
      InputError: if the level is not in (0, 1).
    """
    values = np.asarray(values, np.float64)
    if len(values) < 2 or np.ptp(values) == 0.0:
        return _without_spread(values, level)
    n, mean, error = len(values), values.mean(), values.std(ddof=1) / np.sqrt(len(values))
    centred = values - mean
    block = _blocks(centred)
    means, squares = resampled_means(np.stack([block, block**2], axis=-1)).T
    variance = np.where(_have_equal_rows(block[:, None]), 0.0, squares - means**2)
    return bootstrap_t_hull(mean, error, n, _ratio(means - block.mean(), variance, len(block)), level)


def log_ratio_interval(first: np.ndarray, second: np.ndarray, level: float = 0.95) -> Estimate:
    """Estimate `mean(first) / mean(second)` of paired quantities, with an interval like that of `mean_interval`.

    The interval is computed for the logarithm of the ratio, which is studentised by the delta method.

    Args:
      first: `[n]` finite numbers.
      second: `[n]` finite numbers; if one of the two means is not positive, the estimate is NaN.
      level: coverage, in (0, 1).
    """
    n, means = len(first), (np.mean(first), np.mean(second)) if len(first) else (np.nan, np.nan)
    if n < 2 or not (means[0] > 0.0 and means[1] > 0.0):
        return infinite_estimate(n)
    a, b = np.asarray(first, np.float64) / means[0], np.asarray(second, np.float64) / means[1]
    centre = np.log(means[0] / means[1])
    if np.ptp(a - b) == 0.0:
        one, same = np.asarray(np.exp(centre)), bool(np.ptp(a) == 0.0)
        if not same and np.mean(resampled_means(_blocks(a)) > 0.0) < 0.99:  # few pairs are not 0
            return infinite_estimate(n, one)
        return Estimate(one, one, one, n, deterministic=same)
    error = np.sqrt(np.sum((a - b) ** 2) / (n - 1) / n)
    a, b = _blocks(a), _blocks(b)
    is_equal = _have_equal_rows(np.stack([a, b], axis=-1))
    middle = np.log(a.mean() / b.mean())
    first_, second_, aa, ab, bb = resampled_means(np.stack([a, b, a * a, a * b, b * b], axis=-1)).T
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = aa / first_**2 - 2.0 * ab / (first_ * second_) + bb / second_**2
        variance = np.where(is_equal, 0.0, variance)
        found = bootstrap_t_hull(centre, error, n, _ratio(np.log(first_ / second_) - middle, variance, len(a)), level)

    def at(level: float) -> tuple[Any, Any]:
        low, high = found.interval_at(level)  # pyright: ignore[reportOptionalCall]
        return np.exp(low), np.exp(high)

    return Estimate(np.exp(found.mean), np.exp(found.low), np.exp(found.high), n, interval_at=at)


def smooth_interval(
    rows: np.ndarray,
    value: Callable[[np.ndarray], np.ndarray],
    gradient: Callable[[np.ndarray], np.ndarray],
    level: float = 0.95,
) -> Estimate:
    """Estimate a smooth function of several means (a slope, a ratio), with an interval like that of `mean_interval`.

    The estimate is studentised by the delta method, with a new gradient in every resample. The interval is infinite if
    the estimate is not finite, or if the function is not finite for more than a hundredth of the resamples.

    Args:
      rows: `[n, k]` finite numbers, one row per seed.
      value: function from means `[..., k]` to values `[...]`.
      gradient: function from means `[..., k]` to derivatives `[..., k]`.
      level: coverage, in (0, 1).
    """
    n, means = len(rows), rows.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre, steps = float(value(means)), gradient(means)
        error = rows.dot(steps).std(ddof=1) / np.sqrt(n)
        block = _blocks(rows)
        m, middle, ratios = len(block), value(block.mean(axis=0)), []
        if np.isfinite(centre) and error <= 1e-12 * np.abs(rows).dot(np.abs(steps)).max():  # rounding
            one, same = np.asarray(centre), bool((rows == rows[0]).all())
            # Multiples of one row have no spread, but tell little if few of them are not 0.
            is_known = same or np.mean(np.concatenate([np.isfinite(value(p @ block / m)) for p in _parts(m)])) >= 0.99
            return Estimate(one, one, one, n, deterministic=same) if is_known else infinite_estimate(n, centre)
        for part in _parts(m):
            resampled = part @ block / m
            slopes = gradient(resampled) @ block.T  # [resamples, m]
            first, second = np.sum(part * slopes, axis=1) / m, np.sum(part * slopes**2, axis=1) / m
            ratios.append(_ratio(value(resampled) - middle, second - first**2, m))
    found = np.concatenate(ratios)
    if not np.isfinite(centre) or np.mean(np.isfinite(found)) < 0.99:
        return infinite_estimate(n, centre)
    return bootstrap_t_hull(centre, error, n, found, level)


def median_interval(first: np.ndarray, second: np.ndarray, factor: float, level: float = 0.95) -> Estimate:
    """Estimate `median(first) - factor * median(second)` of paired values `[n]`.

    The interval is Student's, with a bootstrap standard error. Its coverage is about `level` for values with a density.
    For tied values it can be much smaller: about 0.8 instead of 0.95 for 40 tosses of a coin with probability 0.45. If
    all resamples have the same median although the values differ, the interval has length zero at levels that the
    number of resamples can resolve, and is infinite at levels above 0.998.
    """
    n, rng = len(first), np.random.default_rng([_KEY, len(first)])
    centre = np.median(first) - factor * np.median(second)
    resampled, size = [], max(1, 1_000_000 // n)
    for start in range(0, _MEDIANS, size):
        drawn = rng.integers(n, size=(min(size, _MEDIANS - start), n))
        resampled.append(np.median(first[drawn], axis=1) - factor * np.median(second[drawn], axis=1))
    medians = np.concatenate(resampled)
    error = medians.std(ddof=1)
    same = bool((first == first[0]).all() and (second == second[0]).all())
    is_tied = not same and np.ptp(medians) == 0.0

    def at(level: float) -> tuple[Any, Any]:
        level = checked_level(level)
        if is_tied and (1.0 - level) / 2.0 * (_MEDIANS + 1) < 1.0:
            return np.asarray(-np.inf), np.asarray(np.inf)
        half = student_quantile(n - 1, 0.5 + level / 2.0) * error
        return np.asarray(centre - half), np.asarray(centre + half)

    return Estimate(np.asarray(centre), *at(level), n, interval_at=at, deterministic=same)


def bootstrap_t_hull(
    centre: np.ndarray | float, error: np.ndarray | float, n: int, resampled: np.ndarray, level: float
) -> Estimate:
    """Return an estimate whose interval is the hull of Student's interval and the bootstrap-t interval.

    Args:
      centre: the estimate.
      error: its standard error.
      n: number of values from which it was computed.
      resampled: studentised deviations of the resampled estimates from `centre`; infinite and NaN entries are ignored.
      level: coverage, in (0, 1).
    """
    ordered = np.sort(resampled[np.isfinite(resampled)])

    def at(level: float) -> tuple[Any, Any]:
        tail = (1.0 - checked_level(level)) / 2.0
        student = student_quantile(n - 1, 1.0 - tail)
        rank = int(np.floor(tail / 2.0 * (len(ordered) + 1))) - 1  # rank of half the tail probability
        if rank < 0:
            return np.asarray(-np.inf), np.asarray(np.inf)
        below, above = max(student, ordered[-1 - rank]), min(-student, ordered[rank])
        return np.asarray(centre - below * error), np.asarray(centre - above * error)

    return Estimate(np.asarray(centre), *at(level), n, interval_at=at)


def resampled_means(columns: np.ndarray) -> np.ndarray:
    """Return means `[resamples, k]` of columns `[n, k]` over resampled rows; the resamples depend only on n."""
    return np.concatenate([part @ columns for part in _parts(len(columns))]) / len(columns)


def _parts(n: int) -> Iterator[np.ndarray]:
    """Generate the rows of `_counts` in float64, in parts that stay in a core's cache."""
    counts, size = _counts(n), max(1, _PART // n)
    return (counts[i : i + size].astype(np.float64) for i in range(0, len(counts), size))


def _have_equal_rows(rows: np.ndarray) -> np.ndarray:
    """Return for every resample of rows `[n, k]` whether all its rows are equal, `[resamples]`.

    Differences of sums over such a resample are rounding errors instead of 0.
    """
    n, (_, kinds, counts) = len(rows), np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    likely = np.flatnonzero((counts / n) ** n > 1e-7)  # other kinds make up no resample
    if not len(likely):
        return np.zeros(_RESAMPLES, bool)
    return (resampled_means(kinds.reshape(n, 1) == likely) == 1.0).any(axis=1)


def _blocks(rows: np.ndarray) -> np.ndarray:
    """Return rows or, if there are many, means of blocks of consecutive rows, whose mean is about equally skewed."""
    size = -(-len(rows) // _MOST)
    kept = len(rows) // size
    return rows if size == 1 else rows[: kept * size].reshape(kept, size, *rows.shape[1:]).mean(axis=1)


@functools.lru_cache(maxsize=2)
def _counts(n: int) -> np.ndarray:
    """Return `[resamples, n]` counts of how often each row is drawn."""
    rng, rows = np.random.default_rng([_KEY, n]), []
    for start in range(0, _RESAMPLES, _CHUNK):
        size = min(_CHUNK, _RESAMPLES - start)
        drawn = rng.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
        rows.append(counts.astype(np.uint8))  # counts have about the law Poisson(1), far below 256
    return np.concatenate(rows)


def _ratio(means: np.ndarray, variances: np.ndarray, n: int) -> np.ndarray:
    """Studentise means by variances over n; NaN for a resample of equal values, whose variance is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return means * np.sqrt((n - 1) / np.where(variances > 0.0, variances, np.nan))


def _without_spread(values: np.ndarray, level: float) -> Estimate:
    """Estimate the mean of fewer than two values (infinite interval), or of equal values (interval of length zero)."""
    checked_level(level)
    if len(values) < 2:
        return t_interval(values, level=level)
    one = np.asarray(values[0])
    return Estimate(one, one, one, len(values), deterministic=True)


def student_quantile(df: int, probability: float) -> float:
    """Return a quantile of Student's t-distribution."""
    from scipy import special  # imported here, since it takes 0.1 to 0.2 s and not every run needs it

    return float(special.stdtrit(df, probability))


def checked_level(level: float) -> float:
    """Return a coverage level as a float.

    Raises:
      InputError: if the level is not in (0, 1), such as 95 instead of 0.95.
    """
    ranges.check_concrete("level", level)
    if not ranges.is_real(level) or np.ndim(level) or not 0.0 < float(level) < 1.0:
        raise InputError(f"level must lie in (0, 1), such as 0.95, got {format_value(level)}")
    return float(level)
