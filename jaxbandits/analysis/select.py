"""Choice of the best hyperparameters on some seeds, and their evaluation on the other seeds."""

import functools
import numbers
import warnings
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from jaxbandits.analysis import intervals
from jaxbandits.analysis.result_table import ResultTable, interval, point_label
from jaxbandits.analysis.table import digits_of_fields, mean_of, number, plain
from jaxbandits.analysis.trials import Trials
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.text import count_of

By = Literal["mean", "median"] | Callable[[np.ndarray], float]
ENVIRONMENT = "environment"  # criterion: the mean, with a separate choice for every point of the environment
_PREFIX = f"{ENVIRONMENT}."  # prefix of swept fields of the environment
_BY: dict[str, Callable[[np.ndarray], Any]] = {"mean": np.mean, "median": np.median}


class Best(NamedTuple):
    """The chosen point of a label."""

    point: dict[str, Any]
    index: int  # position among the points of the label
    value: float  # the criterion on the selection seeds; biased, since the point was chosen by this value
    estimate: intervals.Estimate  # mean with interval on the evaluation seeds, which are independent of the choice


def best(label: str, trials: Trials, metric: str, by: By, minimise: bool, select: float, level: float) -> Best:
    """Choose the point of a label with the best criterion on the selection seeds; ties go to the first point.

    The arguments are those of `Result.best`.

    Raises:
      InputError: if the metric is a vector and `by` is not a function, if `select` is invalid, if every point has a
        trial that failed or has no value among the selection seeds, or if `by` returns no finite number.
    """
    values, usable = trials.final(metric), trials.usable(metric)
    if values.ndim > 2 and not callable(by):
        axes = ", ".join(trials.axis_names(metric))
        raise InputError(
            f"metric {metric!r} is a vector with axes ({axes}); `by` must be a function of the metric's values, an "
            "array [seeds, ...]"
        )
    n = n_choosing(label, select, len(trials.seeds))
    worst = np.inf if minimise else -np.inf
    chosen = np.where(usable.reshape(*usable.shape, *[1] * (values.ndim - 2)), values, worst)[:, :n]
    criterion = by if callable(by) else _BY[by]
    with np.errstate(invalid="ignore"):
        scores = [_score(criterion, point) for point in chosen]
    order = scores if minimise else [-score for score in scores]
    if not np.isfinite(order).any():
        if usable[:, :n].all(axis=1).any():
            raise InputError(f"`by` returned no finite number for any point of {label}")
        raise InputError(
            f"every point of {label} has a trial that failed or has no value among its {n} selection seeds"
        )
    index = int(np.nanargmin(order))
    good = usable[index, n:]
    is_indicator = metric in trials.indicators
    estimate = intervals.metric_interval(values[index, n:][good], level=level, is_indicator=is_indicator)
    estimate = estimate._replace(failed=int((~good).sum()))
    return Best(trials.points[index], index, scores[index], estimate)


def best_by_environment(
    label: str, trials: Trials, metric: str, minimise: bool, select: float, level: float
) -> ResultTable[Best]:
    """Choose the point with the best mean, separately for every point of the environment.

    Returns:
      One row per point of the environment, in the order of the points; `index` is the position among all points of the
      label.
    """
    groups: dict[Hashable, list[int]] = {}
    for h, point in enumerate(trials.points):
        groups.setdefault(tuple(_of_environment(point).items()), []).append(h)
    digits, rows = digits_of_fields(trials.points), []
    for group in groups.values():
        name = point_label(label, _of_environment(trials.points[group[0]]), digits)
        found = best(name, trials.at(group), metric, "mean", minimise, select, level)
        rows.append(found._replace(index=group[found.index]))
    header = [*trials.points[0], "mean on selection seeds", mean_of(metric), f"{100.0 * level:g} %"]
    return ResultTable(rows, header, functools.partial(_cells, digits), left=len(trials.points[0]))


def _of_environment(point: Mapping[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in point.items() if field.startswith(_PREFIX)}


def _cells(digits: Mapping[str, int], row: Best) -> list[str]:
    values = [plain(value, digits[field]) for field, value in row.point.items()]
    return [*values, number(row.value), *interval(row.estimate)]


def warn_of_environments(of: Mapping[str, Trials], stacklevel: int) -> None:
    """Warn if the points of a label differ in a field of the environment, which a learner cannot choose."""
    for label, trials in of.items():
        values: dict[str, set[str]] = {}
        for point in trials.points:
            for field, value in point.items():
                values.setdefault(field, set()).add(str(value))
        varied = [field for field, found in values.items() if field.startswith(_PREFIX) and len(found) > 1]
        if varied:
            warnings.warn(
                f"{label}: points differ in {', '.join(varied)}, so the best point may have the easiest "
                f"environment, not the best learner; by={ENVIRONMENT!r} chooses the best point of each environment "
                "separately",
                stacklevel=stacklevel + 1,
            )


def check_criterion(by: object, minimise: object) -> None:
    """Check the arguments `by` and `minimise` of `Result.best`.

    Raises:
      InputError: if `by` is not one of the allowed criteria, or `minimise` is not a bool.
    """
    names = (*_BY, ENVIRONMENT)
    if not callable(by) and not (isinstance(by, str) and by in names):
        raise InputError(
            f"by must be {', '.join(map(repr, names))} or a function of an array of values [seeds], got "
            f"{format_value(by)}"
        )
    if not isinstance(minimise, bool):
        raise InputError(f"minimise must be True or False, got {format_value(minimise)}")


def _score(criterion: Callable[[np.ndarray], Any], values: np.ndarray) -> float:
    try:
        return float(criterion(values))
    except (TypeError, ValueError) as error:
        why = " ".join(str(error).split())[:150]
        raise InputError(f"`by` must return one number for an array of shape {values.shape}: {why}") from None


def n_choosing(label: str, select: object, n_seeds: int) -> int:
    """Return the number of seeds for the choice; these are the first seeds."""
    if isinstance(select, numbers.Integral) and not isinstance(select, bool):
        n = int(select)
    elif isinstance(select, numbers.Real) and not isinstance(select, bool) and 0.0 < float(select) < 1.0:
        n = max(1, round(float(select) * n_seeds))
    else:
        raise InputError(f"select must be a fraction in (0, 1) or a number of seeds, got {format_value(select)}")
    if not 1 <= n < n_seeds:
        raise InputError(
            f"{label} has {count_of(n_seeds, 'seed')}, of which `select` uses {n} to choose the point; at least 1 "
            "must be used to choose, and at least 1 must remain to evaluate it"
        )
    return n
