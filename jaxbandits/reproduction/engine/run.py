"""Run an experiment: play every panel on paired seeds, measure times, and judge the claims."""

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, unknown_name
from jaxbandits.base.pytree import FieldValue
from jaxbandits.base.text import count_of
from jaxbandits.engine.grid import Grid
from jaxbandits.engine.options import COUNT, MAX_SEED
from jaxbandits.engine.program import share_traces
from jaxbandits.reproduction.engine.claim import Measurements
from jaxbandits.reproduction.engine.experiment import Experiment, Panel
from jaxbandits.reproduction.engine.tuning import FIRST_SEED, Learners, tune, with_multipliers
from jaxbandits.reproduction.engine.verdict import Verdict, judge
from jaxbandits.results.result import Result
from jaxbandits.simulation import RoundTimes, compare, time_rounds

# Numbers of timed calls. A wide batch is timed once if single trials are timed too, since it averages over its trials.
_REPEATS_ALONE, _REPEATS_WIDE = 30, 5


@dataclasses.dataclass(frozen=True)
class Report:
    """Report of a run: an experiment with its measurements and verdicts.

    Attributes:
      experiment: declaration of the experiment.
      preset: name of the preset.
      horizon: number of rounds.
      results: results by panel.
      times: timings by panel and number of trials per batch.
      judged: verdicts, in the order of the claims.
      declared: all labels by panel, including those that were left out of the run.
      chosen: multipliers chosen by tuning, by panel and label.
      edges: labels whose multipliers lie at an edge of the grid, by panel.
    """

    experiment: Experiment
    preset: str
    horizon: int
    results: dict[str, Result]
    times: dict[tuple[str, int], RoundTimes]
    judged: tuple[Verdict, ...]
    declared: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    chosen: Mapping[str, Mapping[str, Mapping[str, Any]]] = dataclasses.field(default_factory=dict)
    edges: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    @property
    def panels(self) -> Mapping[str, Panel]:
        """Panels of the experiment at this horizon, by name."""
        return self.experiment.panels(self.horizon)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of all panels: the labels of the first panel, then labels that only later panels have."""
        return tuple(dict.fromkeys(label for result in self.results.values() for label in result))

    def order(self, last: Sequence[str] = ()) -> tuple[str, ...]:
        """Return all declared labels, including those that were not run. The position of a label determines its colour.

        Args:
          last: labels that a figure omits, which are placed after all others.
        """
        every = dict.fromkeys([*(label for labels in self.declared.values() for label in labels), *self.labels])
        return (*(label for label in every if label not in last), *(label for label in every if label in last))


@share_traces()
def run(
    experiment: Experiment,
    *,
    seeds: int | None = None,
    horizon: int | None = None,
    preset: str | None = None,
    without: Sequence[str] = (),
    timing: bool = True,
    checkpoint: Path | None = None,
    **options: FieldValue,
) -> Report:
    """Run an experiment, and return its measurements and verdicts.

    Args:
      experiment: declaration of the experiment.
      seeds: number of trials per label and panel (fewer for slow learners); None: the number that the experiment
        declares.
      horizon: number of rounds; None: the number that the experiment declares.
      preset: name of a preset; None: the first preset.
      without: labels to leave out; claims about them stay open.
      timing: True to measure times per round, which claims about times need, if the experiment declares timings.
      checkpoint: directory for the checkpoints of panels and of tuning; None: no checkpoints.
      **options: as for `jaxbandits.compare`.

    Raises:
      InputError: if an argument is invalid, or if a seed is one of those for tuning; the message is one line.
    """
    preset = experiment.preset(preset)
    if experiment.float64 and not jax.config.read("jax_enable_x64"):
        raise InputError(f"{experiment.name} needs double precision: jax.config.update('jax_enable_x64', True) first")
    horizon = experiment.horizon if horizon is None else ranges.integer("horizon", horizon, COUNT)
    seeds = experiment.seeds if seeds is None else ranges.integer("seeds", seeds, COUNT)
    first_seed = ranges.integer("first_seed", options.get("first_seed", 0), f"[0, {MAX_SEED}]")
    if first_seed + seeds > FIRST_SEED:
        raise InputError(
            f"seeds from {FIRST_SEED:,} on are for tuning and cannot decide a verdict: with {count_of(seeds, 'seed')}, "
            f"the first seed can be at most {FIRST_SEED - seeds:,}, got {first_seed:,}"
        )
    panels = experiment.panels(horizon)
    experiment.check_panels(panels)
    declared = {name: experiment.algorithms(preset, horizon, panel) for name, panel in panels.items()}
    experiment.check_names(declared, preset, horizon)
    algorithms = _keep(declared, without)
    results, tuned, edges = {}, {}, {}
    for i, (name, panel) in enumerate(panels.items(), start=1):
        rounds: Any = panel.horizon(horizon)
        if experiment.horizons is not None:
            rounds = dict(experiment.horizons(horizon, panel, algorithms[name]))
        if experiment.tuning is not None and preset in experiment.tuning.presets:
            races = None if checkpoint is None else checkpoint / "tuning" / name
            algorithms[name], tuned[name], edges[name] = _tune(
                experiment, algorithms[name], panel, rounds, races, options
            )
        each = {label: min(seeds, experiment.slow.get(label, seeds)) for label in algorithms[name]}
        settings = {"record_points": experiment.record_points, "width": experiment.width, "meters": experiment.meters}
        settings |= {
            "checkpoint": None if checkpoint is None else checkpoint / name,
            "title": _of(name, i, len(panels)),
            **options,
        }
        result = compare(algorithms[name], panel.environment, rounds, each, **settings)
        results[name] = _with_derived(experiment, result, algorithms[name], panel)
    progress = options.get("progress", True)
    times = _times(experiment, results, algorithms, panels, horizon, progress) if timing else {}
    measured = Measurements(results, times)
    here = {label for learners in declared.values() for label in learners}
    left_out = {*without, *(label for claim in experiment.claims for label in claim.labels if label not in here)}
    expects_times = timing or experiment.timed is None  # without `timed`, a claim about times is a fault in every run
    judged = tuple(
        judge(claim, measured, horizon >= experiment.horizon, preset, left_out, expects_times)
        for claim in experiment.claims
    )
    standing = experiment.standing_in(panels)
    judged = tuple(
        dataclasses.replace(
            item,
            stand_ins=tuple(dict.fromkeys(standing[p] for p in item.panels if p in standing)),
            marks=experiment.marks(item.claim),
        )
        for item in judged
    )
    labels = {name: tuple(learners) for name, learners in declared.items()}
    return Report(experiment, preset, horizon, results, times, judged, labels, tuned, edges)


def labels_of(experiment: Experiment, preset: str | None, horizon: int | None) -> list[str]:
    """Return the labels of all panels of an experiment, without duplicates."""
    horizon = experiment.horizon if horizon is None else ranges.integer("horizon", horizon, COUNT)
    panels = experiment.panels(horizon).values()
    algorithms = (experiment.algorithms(experiment.preset(preset), horizon, panel) for panel in panels)
    return list(dict.fromkeys(label for panel in algorithms for label in panel))


def left_out(
    experiment: Experiment, preset: str | None, horizon: int | None, only: Sequence[str], without: Sequence[str] = ()
) -> list[str]:
    """Return the labels to leave out of a run that is limited to the labels in `only` and excludes those in `without`.

    An empty `only` sets no limit.

    Raises:
      InputError: for a label that no panel has.
    """
    labels = labels_of(experiment, preset, horizon)
    for label in (*only, *without):
        if label not in labels:
            raise unknown_name("algorithm", label, labels)
    return [label for label in labels if (only and label not in only) or label in without]


def _of(name: str, i: int, n: int) -> str:
    """Return the name of a panel for a progress bar."""
    return f"{name} ({i} of {n})" if n > 1 else name


def _keep(algorithms: Mapping[str, Learners], without: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the algorithms of each panel, without the labels in `without`."""
    labels = list(dict.fromkeys(label for panel in algorithms.values() for label in panel))
    for label in without:
        if label not in labels:
            raise unknown_name("algorithm to leave out", label, labels)
    kept = {name: {k: v for k, v in panel.items() if k not in without} for name, panel in algorithms.items()}
    for name, panel in kept.items():
        if not panel:
            raise InputError(f"every algorithm of panel {name} is left out: keep at least one of {', '.join(labels)}")
    return kept


def _tune(
    experiment: Experiment,
    algorithms: Learners,
    panel: Panel,
    rounds: Any,
    checkpoint: Path | None,
    options: dict[str, Any],
) -> tuple[dict[str, Any], dict[str, dict[str, float]], tuple[str, ...]]:
    """Return the tuned learners, their multipliers, and the labels whose choice lies on an edge of the grid.

    The seeds used for tuning do not depend on the number of seeds of the run.
    """
    assert experiment.tuning is not None
    learners, multipliers, edges = dict(algorithms), {}, []
    for i, (label, learner) in enumerate(algorithms.items()):
        horizon = rounds[label] if isinstance(rounds, Mapping) else rounds
        choice = tune(
            experiment.tuning,
            label,
            lambda panel, horizon, values, learner=learner: with_multipliers(learner, values),
            {label: panel},
            horizon,
            **{"width": experiment.width, **options, "title": f"tuning {label}"},
            checkpoint=None if checkpoint is None else checkpoint / str(i),
        )
        if choice is not None:
            if options.get("progress", True):
                values = ", ".join(f"{field} = {value:.4g}" for field, value in choice.multipliers.items())
                print(f"tuned {label} ({panel.title}): {values}", file=sys.stderr, flush=True)
            multipliers[label], learners[label] = choice.multipliers, with_multipliers(learner, choice.multipliers)
            edges += [label] if choice.at_edge else []
    return learners, multipliers, tuple(edges)


def _with_derived(experiment: Experiment, result: Result, algorithms: Learners, panel: Panel) -> Result:
    if experiment.derive is None:
        return result
    trials = {}
    for label, measured in result.trials.items():
        algorithm = algorithms[label]
        learner = algorithm.algorithm if isinstance(algorithm, Grid) else algorithm
        further = experiment.derive(measured, learner, panel)
        trials[label] = dataclasses.replace(measured, values={**measured.values, **further})
    return dataclasses.replace(result, trials=trials)


def _times(
    experiment: Experiment,
    results: Mapping[str, Result],
    algorithms: Mapping[str, Learners],
    panels: Mapping[str, Panel],
    horizon: int,
    progress: bool,
) -> dict[tuple[str, int], RoundTimes]:
    timed, times = experiment.timed, {}
    if timed is None:
        return times
    pairs = [(name, wanted) for name in timed.panels for wanted in timed.at]
    for i, (name, wanted) in enumerate(pairs, start=1):
        width = max(trials.spec["width"] for trials in results[name].trials.values()) if wanted is None else wanted
        repeats = _REPEATS_ALONE if width == 1 else 1 if 1 in timed.at else _REPEATS_WIDE
        title = _of(name, i, len(pairs))
        settings = {"width": width, "repeats": repeats, "progress": progress, "title": title}
        rounds = panels[name].horizon(horizon)
        times[name, width] = time_rounds(algorithms[name], panels[name].environment, rounds, **settings)
    return times
