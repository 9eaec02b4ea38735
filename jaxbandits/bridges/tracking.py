"""Results in Weights & Biases, MLflow or TensorBoard: curves of means with intervals, and the specification of the run.

One run of a tracker contains a whole comparison, averaged over seeds: a run per seed would make thousands of runs.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jaxbandits.analysis import intervals
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.results.result import Result

_LONGEST = 5000  # characters of a text: MLflow allows 6000
_NOT_IN_NAMES = re.compile(r"[^\w\-./]")  # MLflow and TensorBoard allow these


def log_to(result: Result, run: Any, *, metrics: Sequence[str] | None = None, level: float = 0.95) -> None:
    """Log the curves and the specification of a result.

    Curves are named `label/metric`, with `/low` and `/high` for the ends of the t-interval, at every record point; a
    swept label is named with its point, as `oful_ridge-0.1/regret`, and the entry of a vector as `risk_group-2`. Failed
    trials are left out.

    Args:
      result: of `simulate`, `compare`, `sweep`, `play` or a sweep's `load`.
      run: of Weights & Biases (`wandb.init()`), the module `mlflow` within a run, or a `SummaryWriter` of TensorBoard;
        or any object with one of the methods `log_metrics`, `add_scalar` and `log` of these.
      metrics: which; all by default.
      level: coverage of the intervals.

    Raises:
      InputError: for another object, or an unknown metric.
    """
    level = intervals.checked_level(level)
    for metric in metrics or ():
        result.labels_with_metric(metric)
    rows = _rows(result, metrics, level)
    if callable(getattr(run, "log_metrics", None)):  # MLflow; before `log`, which others have besides
        run.log_params(_facts(result))
        for t in sorted(rows):
            run.log_metrics(rows[t], step=t)
    elif callable(getattr(run, "add_scalar", None)):  # TensorBoard
        run.add_text("run", "\n".join(f"{name}: {value}  " for name, value in _facts(result).items()))
        for t in sorted(rows):
            for name, value in rows[t].items():
                run.add_scalar(name, value, t)
    elif callable(getattr(run, "log", None)):  # Weights & Biases: steps must increase
        if hasattr(run, "config"):
            run.config.update(_facts(result), allow_val_change=True)
        for t in sorted(rows):
            run.log(rows[t], step=t)
    else:
        raise InputError(
            "log_to needs a run of Weights & Biases, the module mlflow or a SummaryWriter: an object with log, "
            f"log_metrics or add_scalar; got {format_value(run)}"
        )


def _rows(result: Result, metrics: Sequence[str] | None, level: float) -> dict[int, dict[str, float]]:
    """Return the finite values of all curves: round to name to value."""
    rows: dict[int, dict[str, float]] = {}
    for name, rounds, values in _curves(result, metrics, level):
        for t, value in zip(rounds.tolist(), values.tolist(), strict=True):
            if np.isfinite(value):
                rows.setdefault(t, {})[name] = value
    return rows


def _curves(
    result: Result, metrics: Sequence[str] | None, level: float
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, rounds and values of every curve."""
    for label, trials in result.items():
        for metric in trials.metrics if metrics is None else [name for name in metrics if name in trials.values]:
            usable = trials.usable(metric)
            for h, point in enumerate(trials.points):
                for entry, values in trials.entries(metric, {}):
                    name = f"{_name(label, point)}/{_name(metric, entry)}"
                    estimate = intervals.t_interval(values[h][usable[h]], axis=0, level=level)
                    for suffix, curve in (("", estimate.mean), ("/low", estimate.low), ("/high", estimate.high)):
                        yield name + suffix, trials.record_points, curve


def _name(name: str, fields: dict[str, Any]) -> str:
    """Return a name with values of fields, of characters that all trackers allow."""
    return _NOT_IN_NAMES.sub("_", " ".join([name, *(f"{field}-{value}" for field, value in fields.items())]))


def _facts(result: Result) -> dict[str, Any]:
    """Return the specification of the run, as numbers and text by name."""
    facts: dict[str, Any] = {"base_seed": result.info.get("base_seed", 0)}
    facts |= {f"version {name}": version for name, version in result.info.get("versions", {}).items()}
    for label, trials in result.items():
        name = _name(label, {})
        facts |= {f"{name}/seeds": len(trials.seeds), f"{name}/horizon": trials.horizon}
        for field in ("algorithm", "learner", "environment", "digest"):
            if field in trials.spec:
                facts[f"{name}/{field}"] = json.dumps(trials.spec[field], default=str)[:_LONGEST]
    return facts
