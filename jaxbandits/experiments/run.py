"""Running an experiment: every panel on paired seeds, then its timings, then its claims judged on both."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax

from jaxbandits.core.errors import InputError, unknown
from jaxbandits.experiments.declare import Experiment, Judged, Measured
from jaxbandits.simulation import Result, RoundTimes, compare, sweep, time_rounds
from jaxbandits.simulation.api import MAX_HORIZON, whole_number

_REPEATS_ALONE, _REPEATS_WIDE = 30, 5  # timed pieces; beside single trials one wide piece, an average already


@dataclasses.dataclass(frozen=True)
class Report:
    """An experiment with what it measured."""

    experiment: Experiment
    preset: str
    horizon: int
    results: dict[str, Result]  # per panel
    times: dict[tuple[str, int], RoundTimes]  # per panel and number of trials side by side
    judged: tuple[Judged, ...]


def run(
    experiment: Experiment,
    *,
    seeds: int | None = None,
    horizon: int | None = None,
    preset: str | None = None,
    without: Sequence[str] = (),
    checkpoint: Path | None = None,
    **options: Any,
) -> Report:
    """Computes an experiment.

    Args:
      experiment: the declaration.
      seeds: trials per algorithm and panel, fewer for its slow learners; None: the experiment's.
      horizon: rounds; None: the paper's.
      preset: name of a preset; None: the first.
      without: labels of algorithms to leave out; claims about them are not decided.
      checkpoint: directory with one checkpoint per panel; None: no checkpoints.
      **options: as for `jaxbandits.compare`.

    Raises:
      InputError: bad input, in one line.
    """
    preset = experiment.preset(preset)
    if experiment.float64 and not jax.config.read("jax_enable_x64"):
        raise InputError(f"{experiment.name} needs double precision: jax.config.update('jax_enable_x64', True) first")
    horizon = experiment.horizon if horizon is None else whole_number("horizon", horizon, 1, MAX_HORIZON)
    seeds = experiment.seeds if seeds is None else whole_number("seeds", seeds, 1)
    results, times, algorithms = {}, {}, {}
    panels = experiment.panels(horizon)
    for name, panel in panels.items():
        algorithms[name] = _kept(experiment.algorithms(preset, horizon, panel), without)
    for name, panel in panels.items():
        directory = None if checkpoint is None else checkpoint / name
        settings = {"record": experiment.record, "width": experiment.width, "meters": experiment.meters}
        settings |= {"calls_of": experiment.calls_of, "checkpoint": directory, **options}
        result = _panel(experiment, algorithms[name], panel.environment, horizon, seeds, settings)
        if experiment.derive is not None:
            further = experiment.derive(result, algorithms[name], panel)
            result = dataclasses.replace(result, values={**result.values, **further})
        results[name] = result
    for name in experiment.timed:
        for wanted in experiment.timed_at:
            width = results[name].info["spec"]["width"] if wanted is None else wanted
            repeats = _REPEATS_ALONE if width == 1 else 1 if 1 in experiment.timed_at else _REPEATS_WIDE
            settings = {"width": width, "repeats": repeats, "progress": options.get("progress", True)}
            times[name, width] = time_rounds(algorithms[name], panels[name].environment, horizon, **settings)
    measured = Measured(results, times)
    judged = tuple(claim.judge(measured, horizon >= experiment.horizon) for claim in experiment.claims)
    return Report(experiment, preset, horizon, results, times, judged)


def _kept(algorithms: Mapping[str, Any], without: Sequence[str]) -> Mapping[str, Any]:
    for name in without:
        if name not in algorithms:
            raise unknown("algorithm to leave out", name, algorithms)
    kept = {name: algorithm for name, algorithm in algorithms.items() if name not in without}
    if not kept:
        raise InputError("every algorithm is left out: keep at least one")
    return kept


def _panel(
    experiment: Experiment,
    algorithms: Mapping[str, Any],
    environment: Any,
    horizon: int,
    seeds: int,
    settings: dict[str, Any],
) -> Result:
    if experiment.grid is not None:
        (algorithm,) = algorithms.values()
        return sweep(algorithm, environment, horizon, seeds, grid=experiment.grid, **settings)
    each = {name: min(seeds, experiment.slow.get(name, seeds)) for name in algorithms}
    return compare(algorithms, environment, horizon, each, **settings)
