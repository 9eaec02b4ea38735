"""Hyperparameter tuning by a tuner with an ask-and-tell interface, such as an Optuna study."""

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.engine.options import Settings
from jaxbandits.simulation import Grid, simulate
from jaxbandits.simulation.studies import Point, StudyPoint, play_study


def tune(  # noqa: PLR0913
    algorithm: Any,
    environment: Any,
    horizon: int,
    seeds: int,
    *,
    study: Any,
    suggest: Callable[[Any], Point],
    n_points: int = 16,
    n_batches: int = 4,
    metric: str | None = None,
    **settings: Unpack[Settings],
) -> list[StudyPoint]:
    """Evaluate the points that a study proposes; each batch of points is one call of `simulate` on the same seeds.

        study = optuna.create_study(sampler=optuna.samplers.TPESampler(constant_liar=True))
        tune(OFUL(dim=2), problem, 1000, 64, study=study,
             suggest=lambda trial: {"beta_scale": trial.suggest_float("beta_scale", 1e-3, 1.0, log=True)})

    The study receives the mean of the metric at the horizon, or the worst infinite value if a trial failed. Each trial
    of the study also receives the user attributes `standard_error` (of this mean) and `seeds` (number of seeds). All
    points use the same seeds, so that differences between means are more accurate than the standard errors suggest.
    Since the best point is selected on these seeds, evaluate it on other seeds (`first_seed=`).

    Args:
      algorithm: algorithm whose fields are tuned.
      environment: a single environment.
      horizon: number of rounds per trial.
      seeds: number of trials per point.
      study: object with `ask() -> trial` and `tell(trial, value)`, such as an `optuna.Study`; its direction must be
        that of the metric.
      suggest: function that maps a trial of the study to a point, a dict from fields to values.
      n_points: number of points per batch.
      n_batches: number of batches.
      metric: name of a scalar metric; None: the first metric.
      **settings: further options, see `Options`.

    Returns:
      All points in the order in which the study proposed them, with mean and standard error.

    Raises:
      InputError: if the study has no `ask` and `tell`, if the metric is a vector, if `checkpoint` is given, and as for
        `simulate`.
    """
    label = type(algorithm).__name__
    if "checkpoint" in settings:
        raise InputError(
            "tune does not accept `checkpoint`: create the study with a storage, which saves the points, and "
            "repeat the call to resume"
        )

    def play(points: list[Point]) -> np.ndarray:
        grid: Any = Grid(algorithm, points)
        (trials,) = simulate(grid, environment, horizon, seeds, record_points=1, **settings).values()
        values = trials.get(metric)
        if values.ndim > 3:
            axes = ", ".join(trials.axis_names(trials.metric(metric)))
            raise InputError(
                f"metric {trials.metric(metric)!r} of {label} is a vector with axes ({axes}); tune needs a scalar "
                "metric"
            )
        return np.where(trials.usable(metric), trials.final(metric), np.inf)

    return play_study(study, suggest, play, n_points, n_batches)
