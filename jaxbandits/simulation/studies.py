"""Play the points that a tuner with an ask-and-tell interface, such as an Optuna study, proposes.

The tuner proposes points in batches; all points of a batch are played in one call on the same seeds.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.engine.options import COUNT

Point: TypeAlias = Mapping[str, Any]  # mapping from fields to values


class StudyTrial(Protocol):
    """Proposal of a tuner, with further methods such as `suggest_float` that return the values of fields."""

    def set_user_attr(self, key: str, value: float) -> None:
        """Attach a number to the trial."""
        ...


class Study(Protocol):
    """Tuner with the interface of `optuna.Study`."""

    def ask(self) -> Any:  # noqa: ANN401 (a `StudyTrial` with the methods that the user's function calls)
        """Propose a point."""
        ...

    def tell(self, trial: Any, values: float) -> object:  # noqa: ANN401
        """Receive the value of a point."""
        ...


class StudyPoint(NamedTuple):
    """Point that a tuner has proposed, with the mean of the metric there.

    Attributes:
      point: mapping from fields to values.
      mean: mean of the metric over the seeds; infinite if a trial failed.
      standard_error: standard error of this mean; NaN with one seed.
    """

    point: Point
    mean: float
    standard_error: float


def play_study(
    study: Study,
    suggest: Callable[[Any], Point],
    play: Callable[[list[Point]], np.ndarray],
    n_points: int,
    n_batches: int,
) -> list[StudyPoint]:
    """Ask a tuner for batches of points, play each batch, and report the mean of every point to the tuner.

    Each trial of the study also receives the user attributes `standard_error` (of the mean) and `seeds` (number of
    seeds). The mean of a point with a failed trial is infinite, with the sign that is worst for `study.direction`.

    Args:
      study: tuner with the methods `ask` and `tell`.
      suggest: function from a trial of the study to a point, a mapping from fields to values.
      play: function from a list of n points to values `[n, S]`, one per point and seed, not finite for failed trials.
      n_points: number of points in a batch.
      n_batches: number of batches; the tuner receives the means of a batch before it proposes the next.

    Returns:
      All points in the order in which they were asked for.

    Raises:
      InputError: if `study` lacks `ask` or `tell`, a number is out of range, or `suggest` is not callable or returns
        something other than a point.
    """
    for method in ("ask", "tell"):
        if not callable(getattr(study, method, None)):
            raise InputError(
                f"study needs ask() and tell(trial, value), like a study of Optuna; got {format_value(study)}"
            )
    if not callable(suggest):
        raise InputError(f"suggest must be a function from a trial to a point, got {format_value(suggest)}")
    n_points = ranges.integer("n_points", n_points, COUNT)
    n_batches = ranges.integer("n_batches", n_batches, COUNT)
    worst = -np.inf if is_maximizing(study) else np.inf
    found = []
    for _ in range(n_batches):
        trials = [study.ask() for _ in range(n_points)]
        points = [_checked_point(suggest(trial)) for trial in trials]
        for trial, point, values in zip(trials, points, play(points), strict=True):
            is_usable, n = bool(np.isfinite(values).all()), len(values)
            mean = float(np.mean(values)) if is_usable else float(worst)
            error = float(np.std(values, ddof=1) / np.sqrt(n)) if is_usable and n > 1 else float("nan")
            trial.set_user_attr("standard_error", error)
            trial.set_user_attr("seeds", n)
            study.tell(trial, mean)
            found.append(StudyPoint(point=point, mean=mean, standard_error=error))
    return found


def is_maximizing(study: Study) -> bool:
    """Return True if the study maximises its objective."""
    direction = getattr(study, "direction", None)  # an enumeration in Optuna, text in other tuners
    return str(getattr(direction, "name", direction)).upper() == "MAXIMIZE"


def _checked_point(point: object) -> Point:
    if not isinstance(point, Mapping) or not point:
        raise InputError(f"suggest must return a point, a mapping from fields to values, got {format_value(point)}")
    return point
