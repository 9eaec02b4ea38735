"""Summary of a metric at the last record point, with a row for each label, hyperparameter point and entry.

An entry is a position in a vector metric; a scalar metric has one entry.
"""

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxbandits.analysis import intervals
from jaxbandits.analysis.trials import Trials, unsound_values, usable_entry
from jaxbandits.base.text import count_of

_QUANTILES = (0.5, 0.1, 0.25, 0.75, 0.9)
_FEW = 50  # number of trials below which t-intervals of skewed regret are too short


class Row(NamedTuple):
    """One line of a summary table."""

    label: str
    point: dict[str, Any]
    entry: dict[str, int]  # index on each axis of a vector metric, by the name of the axis; empty for scalars
    mean: float
    low: float
    high: float
    median: float
    q10: float
    q25: float
    q75: float
    q90: float
    trials: int
    failed: int  # number of failed trials (`Trials.failures`), which the other numbers omit
    ns_per_round: float  # wall time of a worker per round and trial, without compilation: median over batches


def rows(metric: str, of: Mapping[str, Trials], level: float, at: Mapping[str, int]) -> Iterator[Row]:
    """Generate the summary rows of a metric, ordered by label, then point, then entry of a vector metric.

    Args:
      metric: name of the metric.
      of: mapping from labels to trials.
      level: coverage of the intervals, in (0, 1).
      at: mapping from axes of a vector metric to indices; other axes give a row per index.
    """
    for label, trials in of.items():
        yield from _rows_of(label, trials, metric, level, at)


def _rows_of(label: str, trials: Trials, metric: str, level: float, at: Mapping[str, int]) -> Iterator[Row]:
    batches = trials.timing.get("ns_per_round", ())
    per_round = float(np.median(batches)) if len(batches) else np.nan
    failed = trials.failures(metric)
    entries = [(entry, values, usable_entry(values, failed)) for entry, values in trials.entries(metric, at)]
    for h, point in enumerate(trials.points):
        for entry, values, usable in entries:
            good = values[h, usable[h], -1]
            mean = intervals.metric_interval(good, level=level, is_indicator=metric in trials.indicators)
            quantiles = np.quantile(good, _QUANTILES) if len(good) else np.full(len(_QUANTILES), np.nan)
            yield Row(
                label,
                point,
                entry,
                *map(float, (mean.mean, mean.low, mean.high)),
                *map(float, quantiles),
                trials=len(good),
                failed=int(failed[h].sum()),
                ns_per_round=per_round,
            )


def kind_of_interval(metric: str, of: Mapping[str, Trials]) -> str:
    """Return the name that tables and figures give to the intervals of `intervals.metric_interval`."""
    kinds = {"exact interval" if metric in trials.indicators else "t-interval" for trials in of.values()}
    return kinds.pop() if len(kinds) == 1 else "interval"


def _since(metric: str, of: Mapping[str, Trials]) -> str:
    """Return the first record point at which a metric makes a trial fail, as text; "" if only states hold a NaN."""
    lost = []
    for trials in of.values():
        unsound = unsound_values(trials, metric)
        if unsound.any():
            where = unsound.any(axis=tuple(i for i in range(unsound.ndim) if i != 2))
            lost.append(int(trials.record_points[where].min()))
    return f", the first of them by round {min(lost):,}" if lost else ""


def _count_running(trials: Trials) -> int:
    """Return the number of trials whose learner had not stopped at the horizon."""
    if "stopped" not in trials.metrics:
        return 0
    return int((trials.usable("stopped") & (trials.final("stopped") < 1.0)).sum())


def warn(metric: str, of: Mapping[str, Trials], stacklevel: int) -> None:
    """Issue warnings for failed or censored trials, missing values, inadmissible decisions, and few seeds."""
    failed = np.concatenate([trials.failures(metric).ravel() for trials in of.values()])
    if failed.any():
        warnings.warn(
            f"{int(failed.sum())} of {failed.size} trials have NaN or infinite values{_since(metric, of)}; they are "
            "left out and counted in the column 'failed'; check_algorithm finds the first NaN in a learner's state",
            stacklevel=stacklevel + 1,
        )
    for label, trials in of.items():
        missing = ~(trials.usable(metric) | trials.failures(metric))
        if missing.any():
            have, left_out = "have no value of", "these trials are left out"
            if trials.get(metric).ndim > 3:
                have, left_out = "have no value of some entries of", "these values are left out"
            warnings.warn(
                f"{label}: {int(missing.sum())} of {missing.size} trials {have} {metric!r}, because none of their "
                f"rounds counted; {left_out}",
                stacklevel=stacklevel + 1,
            )
        running = _count_running(trials) if metric == "stopping_time" else 0
        if running:
            warnings.warn(
                f"{label}: {running} of {missing.size} trials had not stopped by round {trials.horizon:,}, at which "
                "their stopping times are censored, so the mean is too small: use a longer horizon",
                stacklevel=stacklevel + 1,
            )
        strayed = int((trials.inadmissible > 0).sum())
        if strayed:
            warnings.warn(
                f"{label}: {strayed} of {trials.inadmissible.size} trials made inadmissible decisions, in up to "
                f"{int(trials.inadmissible.max()):,} of {trials.horizon:,} rounds",
                stacklevel=stacklevel + 1,
            )
    counts = {label: len(trials.seeds) for label, trials in of.items()}
    is_exact = all(metric in trials.indicators for trials in of.values())
    for few in dict.fromkeys(n for n in counts.values() if n < _FEW and not is_exact):
        names = ", ".join(label for label, n in counts.items() if n == few)
        who = "" if set(counts.values()) == {few} else f" of {names}"
        warnings.warn(
            f"only {count_of(few, 'seed')}{who}: confidence intervals of skewed quantities need about {_FEW} seeds",
            stacklevel=stacklevel + 1,
        )
