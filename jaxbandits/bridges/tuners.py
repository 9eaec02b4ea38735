"""Hyperparameters by a tuner with an ask-and-tell interface: the studies of Optuna."""

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
    """Play the points that a study proposes: a batch of points is one call of `simulate`, all on the same seeds.

        study = optuna.create_study(sampler=optuna.samplers.TPESampler(constant_liar=True))
        tune(OFUL(dim=2), problem, 1000, 64, study=study,
             suggest=lambda trial: {"beta_scale": trial.suggest_float("beta_scale", 1e-3, 1.0, log=True)})

    The study receives the mean of the metric at the horizon, and as user attributes of the trial `standard_error` and
    `seeds`. Points share their seeds, so the differences of means are more exact than the standard errors say. The best
    point is chosen on these seeds: evaluate it on others (`first_seed=`).

    Args:
      algorithm: whose fields are tuned.
      environment: one environment.
      horizon: rounds per trial.
      seeds: trials per point.
      study: with `ask() -> trial` and `tell(trial, value)`, as `optuna.Study`; its direction is that of the metric.
      suggest: function from a trial of the study to a point, field to value.
      n_points: points of a batch.
      n_batches: number of batches.
      metric: a scalar metric; None: the first of the environment.
      **settings: see `Options`.

    Returns:
      All points in the order in which they were asked for, with mean and standard error.

    Raises:
      InputError: for another study, and as `simulate`; for a metric that is a vector.
    """
    label = type(algorithm).__name__
    if "checkpoint" in settings:
        raise InputError("tune has no checkpoint: a study with a storage keeps the points, and the same call goes on")

    def play(points: list[Point]) -> np.ndarray:
        grid: Any = Grid(algorithm, points)
        (trials,) = simulate(grid, environment, horizon, seeds, record_points=1, **settings).values()
        values = trials.get(metric)
        if values.ndim > 3:
            axes = ", ".join(trials.axis_names(trials.metric(metric)))
            raise InputError(f"metric {trials.metric(metric)!r} of {label} is a vector ({axes}): tune needs a number")
        return np.where(trials.usable(metric), trials.final(metric), np.inf)

    return play_study(study, suggest, play, n_points, n_batches)
