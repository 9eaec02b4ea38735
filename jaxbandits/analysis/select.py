"""The best hyperparameters, chosen on some seeds and judged on others."""

import numbers
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from jaxbandits.analysis import intervals
from jaxbandits.analysis.trials import Trials
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.text import count_of

By = Literal["mean", "median"] | Callable[[np.ndarray], float]
_BY: dict[str, Callable[[np.ndarray], Any]] = {"mean": np.mean, "median": np.median}


class Best(NamedTuple):
    """The chosen point of a label."""

    point: dict[str, Any]
    index: int  # position among the label's points
    value: float  # the criterion on the selection seeds: too good to be true, it was chosen for that
    estimate: intervals.Estimate  # mean with interval on the evaluation seeds, which had no part in the choice


def best(label: str, trials: Trials, metric: str, by: By, minimise: bool, select: float, level: float) -> Best:
    """Choose the point of a label with the best criterion on the selection seeds; the first of several equal ones."""
    values, usable = trials.final(metric), trials.usable(metric)
    if values.ndim > 2 and not callable(by):
        axes = ", ".join(trials.axis_names(metric))
        raise InputError(f"metric {metric!r} is a vector ({axes}); `by` must be a function of its values [seeds, ...]")
    n = _n_choosing(label, select, len(trials.seeds))
    worst = np.inf if minimise else -np.inf
    chosen = np.where(usable.reshape(*usable.shape, *[1] * (values.ndim - 2)), values, worst)[:, :n]
    criterion = by if callable(by) else _BY[by]
    with np.errstate(invalid="ignore"):
        scores = [_score(criterion, point) for point in chosen]
    order = scores if minimise else [-score for score in scores]
    if not np.isfinite(order).any():
        raise InputError(f"every point of {label} has a failed trial among its {n} selection seeds")
    index = int(np.nanargmin(order))
    good = usable[index, n:]
    estimate = intervals.metric_interval(values[index, n:][good], level=level)._replace(failed=int((~good).sum()))
    return Best(trials.points[index], index, scores[index], estimate)


def warn_of_environments(of: Mapping[str, Trials], stacklevel: int) -> None:
    """Warn where the points of a label differ in a field of the environment, since no learner chooses that."""
    for label, trials in of.items():
        values: dict[str, set[str]] = {}
        for point in trials.points:
            for field, value in point.items():
                values.setdefault(field, set()).add(str(value))
        varied = [field for field, found in values.items() if field.startswith("environment.") and len(found) > 1]
        if varied:
            warnings.warn(
                f"{label}: points differ in {', '.join(varied)}: the best of them may be the easiest environment, not "
                "the best learner; a sweep for each environment tells",
                stacklevel=stacklevel + 1,
            )


def check_criterion(by: Any, minimise: Any) -> None:
    """Check a criterion.

    Raises:
      InputError: for anything but the names, a function, and a boolean.
    """
    if not callable(by) and not (isinstance(by, str) and by in _BY):
        raise InputError(
            f"by must be {', '.join(map(repr, _BY))} or a function of [seeds] values, got {format_value(by)}"
        )
    if not isinstance(minimise, bool):
        raise InputError(f"minimise must be True or False, got {format_value(minimise)}")


def _score(criterion: Callable[[np.ndarray], Any], values: np.ndarray) -> float:
    try:
        return float(criterion(values))
    except (TypeError, ValueError) as error:
        why = " ".join(str(error).split())[:150]
        raise InputError(f"`by` must return one number for values of shape {values.shape}: {why}") from None


def _n_choosing(label: str, select: Any, n_seeds: int) -> int:
    """Return the number of seeds, the first ones, that choose."""
    if isinstance(select, numbers.Integral) and not isinstance(select, bool):
        n = int(select)
    elif isinstance(select, numbers.Real) and not isinstance(select, bool) and 0.0 < float(select) < 1.0:
        n = max(1, round(float(select) * n_seeds))
    else:
        raise InputError(f"select must be a fraction in (0, 1) or a number of seeds, got {format_value(select)}")
    if not 1 <= n < n_seeds:
        raise InputError(
            f"{label} has {count_of(n_seeds, 'seed')}: {n} to choose by must be at least 1 and leave some to judge by"
        )
    return n
