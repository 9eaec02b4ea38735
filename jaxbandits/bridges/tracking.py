"""Export of results to Weights & Biases, MLflow or TensorBoard: mean curves with intervals, and the specification.

One run of a tracker contains a whole comparison, averaged over seeds, since one run per seed would give thousands of
runs.
"""

import functools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jaxbandits.analysis import intervals
from jaxbandits.analysis.trials import usable_entry
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.results.result import Result

_LONGEST = 5000  # largest number of characters of a text; MLflow allows 6000
_NOT_IN_NAMES = re.compile(r"[^\w\-./]")  # characters that MLflow or TensorBoard does not allow in names


def log_to(result: Result, run: Any, *, metrics: Sequence[str] | None = None, level: float = 0.95) -> None:
    """Log the curves and the specification of a result to a run of an experiment tracker.

    The mean of a metric over seeds is logged as `label/metric` at every record point, and the ends of its interval (as
    in `Result.summary`) as `label/metric/low` and `label/metric/high`. The name includes the point of a sweep, as in
    `oful_ridge-0.1/regret`, and the index of an entry of a vector metric, as in `risk_group-2`; characters that a
    tracker does not allow become `_`. Failed trials and missing values are omitted.

    Args:
      result: the result of `simulate`, `compare`, `sweep`, `play` or `SweepResult.load`.
      run: a run of Weights & Biases (`wandb.init()`), the module `mlflow` within a run, or a TensorBoard
        `SummaryWriter`; or any object with the method `log_metrics`, `add_scalar` or `log` of one of these.
      metrics: names of the metrics to log; None: all metrics.
      level: confidence level of the intervals.

    Raises:
      InputError: if `run` has none of these methods, if a metric is unknown, or if two curves would have the same name.
    """
    level = intervals.checked_level(level)
    for metric in metrics or ():
        result.labels_with_metric(metric)
    rows = _rows(result, metrics, level)
    if callable(getattr(run, "log_metrics", None)):  # MLflow; first, as some trackers also have `log`
        run.log_params(_facts(result))
        for t in sorted(rows):
            run.log_metrics(rows[t], step=t)
    elif callable(getattr(run, "add_scalar", None)):  # TensorBoard
        run.add_text("run", "\n".join(f"{name}: {value}  " for name, value in _facts(result).items()))
        for t in sorted(rows):
            for name, value in rows[t].items():
                run.add_scalar(name, value, t)
    elif callable(getattr(run, "log", None)):  # Weights & Biases, whose steps must increase
        if hasattr(run, "config"):
            run.config.update(_facts(result), allow_val_change=True)
        for t in sorted(rows):
            run.log(rows[t], step=t)
    else:
        raise InputError(
            "log_to needs a run of Weights & Biases, the module mlflow or a SummaryWriter, that is, an object with "
            f"a method log, log_metrics or add_scalar; got {format_value(run)}"
        )


def _rows(result: Result, metrics: Sequence[str] | None, level: float) -> dict[int, dict[str, float]]:
    """Return the finite values of all curves, as a dict from rounds to dicts from names to values."""
    rows: dict[int, dict[str, float]] = {}
    for name, rounds, values in _curves(result, metrics, level):
        for t, value in zip(rounds.tolist(), values.tolist(), strict=True):
            if np.isfinite(value):
                rows.setdefault(t, {})[name] = value
    return rows


def _curves(
    result: Result, metrics: Sequence[str] | None, level: float
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield the name, the rounds and the values of every curve."""
    sources: dict[str, Any] = {}  # label, point, metric and entry by name
    for label, trials in result.items():
        for metric in trials.metrics if metrics is None else [name for name in metrics if name in trials.values]:
            failed = trials.failures(metric)
            entries = [(entry, values, usable_entry(values, failed)) for entry, values in trials.entries(metric, {})]
            for h, point in enumerate(trials.points):
                for entry, values, usable in entries:
                    name = f"{_name(label, point)}/{_name(metric, entry)}"
                    source = (label, point, metric, entry)
                    if sources.setdefault(name, source) != source:
                        raise InputError(
                            f"two curves have the name {name}, one of the label {sources[name][0]!r} and one of "
                            f"{label!r}: choose labels that differ in letters, digits, or one of . _ - /"
                        )
                    curves = _mean_and_ends(values[h][usable[h]], level, metric in trials.indicators)
                    for suffix, curve in zip(("", "/low", "/high"), curves, strict=True):
                        yield name + suffix, trials.record_points, curve


def _mean_and_ends(values: np.ndarray, level: float, is_indicator: bool) -> list[np.ndarray]:
    """Return mean, lower and upper end `[M]`, given values `[S, M]`, of which missing ones are left out."""
    estimate = functools.partial(intervals.metric_interval, level=level, is_indicator=is_indicator)
    if not np.isnan(values).any():
        return list(estimate(values)[:3])
    present = (column[~np.isnan(column)] for column in values.T)
    return list(np.array([estimate(column)[:3] for column in present]).T)


def _name(name: str, fields: dict[str, Any]) -> str:
    """Return a name that includes the values of fields; characters that a tracker does not allow become `_`."""
    return _NOT_IN_NAMES.sub("_", " ".join([name, *(f"{field}-{value}" for field, value in fields.items())]))


def _facts(result: Result) -> dict[str, Any]:
    """Return the specification of the run as a dict from names to numbers and text."""
    facts: dict[str, Any] = {"base_seed": result.info.get("base_seed", 0)}
    facts |= {f"version {name}": version for name, version in result.info.get("versions", {}).items()}
    for label, trials in result.items():
        name = _name(label, {})
        facts |= {f"{name}/seeds": len(trials.seeds), f"{name}/horizon": trials.horizon}
        for field in ("algorithm", "learner", "environment", "digest"):
            if field in trials.spec:
                facts[f"{name}/{field}"] = json.dumps(trials.spec[field], default=str)[:_LONGEST]
    return facts
