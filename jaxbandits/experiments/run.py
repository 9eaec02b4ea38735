"""Running an experiment: every panel through `compare` on paired seeds, then every claim judged on the results."""

import dataclasses
from pathlib import Path
from typing import Any

from jaxbandits.experiments.declare import Experiment, Judged
from jaxbandits.simulation import Result, compare
from jaxbandits.simulation.api import MAX_HORIZON, whole_number


@dataclasses.dataclass(frozen=True)
class Report:
    """An experiment with what it measured."""

    experiment: Experiment
    preset: str
    horizon: int
    results: dict[str, Result]  # per panel
    judged: tuple[Judged, ...]


def run(
    experiment: Experiment,
    *,
    seeds: int | None = None,
    horizon: int | None = None,
    preset: str | None = None,
    checkpoint: Path | None = None,
    **options: Any,
) -> Report:
    """Computes an experiment.

    Args:
      experiment: the declaration.
      seeds: trials per algorithm and panel; None: the experiment's.
      horizon: rounds; None: the paper's.
      preset: name of a preset; None: the first.
      checkpoint: directory with one checkpoint per panel; None: no checkpoints.
      **options: as for `jaxbandits.compare`.

    Raises:
      InputError: bad input, in one line.
    """
    preset = experiment.preset(preset)
    horizon = experiment.horizon if horizon is None else whole_number("horizon", horizon, 1, MAX_HORIZON)
    seeds = experiment.seeds if seeds is None else whole_number("seeds", seeds, 1)
    results = {}
    for name, panel in experiment.panels(horizon).items():
        algorithms = experiment.algorithms(preset, horizon, panel.environment)
        directory = None if checkpoint is None else checkpoint / name
        settings = {"meters": experiment.meters, "checkpoint": directory, **options}
        results[name] = compare(algorithms, panel.environment, horizon, seeds, **settings)
    judged = tuple(claim.judge(results, horizon >= experiment.horizon) for claim in experiment.claims)
    return Report(experiment, preset, horizon, results, judged)
