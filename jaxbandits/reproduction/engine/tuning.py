"""Tuning of learners by races: of the learners of a panel during a run, and for the tables that presets read.

A `Tuning` declares the grid, the metric and the number of seeds. The function `tune` races the points of one learner by
their mean over one or several panels, or plays the points that a study of Optuna proposes within the ranges of the
grid. Seeds for tuning are never used for verdicts: figures use the seeds from 0 on.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import FieldValue, field_kind
from jaxbandits.base.text import count_of
from jaxbandits.engine.options import COUNT
from jaxbandits.simulation import Grid, compare, race
from jaxbandits.simulation.racing import Race, at_edge, best
from jaxbandits.simulation.studies import Study, is_maximizing, play_study

FIRST_SEED = 1_000_000
TOLERANCE = 0.01  # relative difference below which means count as equal
FINALISTS = 3  # number of points whose neighbours are screened, and of points played on all seeds

Learner: TypeAlias = Any  # an algorithm of any class, whose fields an experiment reads; or a `Grid` of it
Learners: TypeAlias = Mapping[str, Learner]  # learners by label
Problem: TypeAlias = Any  # an environment of any class, whose fields an experiment reads
Multipliers: TypeAlias = Mapping[str, float]
Build: TypeAlias = Callable[
    [Any, int, Multipliers], Learner
]  # function from panel, number of rounds and multipliers to a learner


@dataclasses.dataclass(frozen=True)
class Tuning:
    """Declaration of a tuning that applies the same rules to every learner, on seeds that no verdict uses.

    Attributes:
      presets: presets in which a run tunes the learners in each panel; in other presets, the learners that
        `Experiment.algorithms` returns are run unchanged.
      grid: function from a learner to a mapping from fields to values; the mapping is empty if the learner is not
        tuned.
      metric: metric whose mean at the end of the run is minimised; or a function from (learner, panel) to its name, if
        learners have different objectives.
      seeds: number of seeds of a point that stays in the race until the end.
      part: divisor of the horizon; tuning plays `horizon // part` rounds.
      slow: mapping from a label to a pair (seeds, part), for learners too slow for the common values.
      tolerance: relative tolerance; of points whose means differ by less, the point with multipliers nearest to 1 is
        chosen.
      screening: number of seeds for a screening of the grid; 0 to race all points. Screening plays every other value of
        each multiplier, then the neighbours of the best `FINALISTS` points. Only the best `FINALISTS` points are then
        played on all seeds. Grids of which one of the two steps would play a single point are raced.
    """

    presets: tuple[str, ...]
    grid: Callable[[Any], Mapping[str, Sequence[float]]]
    metric: str | Callable[[Any, Any], str]
    seeds: int = 4
    part: int = 1
    slow: Mapping[str, tuple[int, int]] = dataclasses.field(default_factory=dict)
    tolerance: float = 0.0
    screening: int = 0


class Choice(NamedTuple):
    """Multipliers chosen for a learner by a race or a study, with the evidence for the choice.

    Attributes:
      multipliers: mapping from a field to its value.
      metric: name of the metric whose mean is minimised.
      mean: mean of the metric over seeds and panels.
      n_points: number of points in the race.
      seeds: number of seeds of a point that stayed until the end.
      horizon: number of rounds of a trial.
      at_edge: True if a multiplier is the smallest or largest of its values, so that the best value may lie outside the
        grid.
      rounds: total number of rounds played.
      grid_rounds: number of rounds that all points on all seeds would take.
    """

    multipliers: dict[str, float]
    metric: str
    mean: float
    n_points: int
    seeds: int
    horizon: int
    at_edge: bool
    rounds: int
    grid_rounds: int

    @property
    def evidence(self) -> str:
        """Line of text with the mean and the size of the race that chose the multipliers."""
        edge = " (edge)" if self.at_edge else ""
        metric = self.metric.replace("_", " ")
        counts = {"point": self.n_points, "seed": self.seeds, "round": self.horizon}
        sizes = ", ".join(count_of(n, noun) for noun, n in counts.items())
        return f"mean {metric} {self.mean:.4g}{edge}: {sizes}"


def tune(
    tuning: Tuning,
    label: str,
    build: Build,
    panels: Mapping[str, Any],
    horizon: int,
    *,
    study: Study | None = None,
    batches: tuple[int, int] = (16, 4),
    **options: FieldValue,
) -> Choice | None:
    """Choose the multipliers of one learner by a race, or from points that a study proposes.

    Args:
      tuning: declaration of the tuning.
      label: label of the learner.
      build: function from a panel, the number of rounds and multipliers (possibly none) to the learner.
      panels: mapping from names to panels, over which the metric is averaged.
      horizon: number of rounds of a trial, of which tuning may play only a part (`Tuning.part`).
      study: object with the methods `ask` and `tell` of Optuna's studies; None: race the points of the grid. The study
        proposes points between the smallest and the largest value of each multiplier, on a logarithmic scale if all
        values are positive.
      batches: with a study, the number of points in a batch, which are played together on all seeds, and the number of
        batches.
      **options: as for `jaxbandits.compare`; with `checkpoint`, each race has a subdirectory.

    Returns:
      The choice; None if the learner's grid is empty.

    Raises:
      InputError: for a field that the learner does not have, and in the cases of `race`.
    """
    horizon = ranges.integer("horizon", horizon)
    panel = next(iter(panels.values()))
    learner = build(panel, horizon, {})
    grid = tuning.grid(learner)
    if not grid:
        return None
    seeds, part = tuning.slow.get(label, (tuning.seeds, tuning.part))
    metric = tuning.metric if isinstance(tuning.metric, str) else tuning.metric(learner, panel)
    settings = {"metric": metric, "tolerance": tuning.tolerance, "first_seed": FIRST_SEED}
    rounds = max(1, horizon // part)
    if study is not None:
        return _ask(study, batches, build, panels, rounds, seeds, grid, options | settings)
    n, n_first = math.prod(map(len, grid.values())), math.prod(-(-len(values) // 2) for values in grid.values())
    if tuning.screening and min(n_first, n - n_first) > 1:
        return _screen(build, panels, rounds, seeds, grid, options | settings, tuning.screening)
    return _choose(build, panels, rounds, seeds, _product(grid), _name_race(options, "grid") | settings)


def with_multipliers(learner: Learner, multipliers: Multipliers) -> Learner:
    """Return a copy of the learner in which the fields of `multipliers` have new values.

    Raises:
      InputError: for a field that the learner does not have.
    """
    for field in multipliers:
        field_kind(learner, field)
    return dataclasses.replace(learner, **multipliers)


def _choose(
    build: Build,
    panels: Mapping[str, Any],
    horizon: int,
    seeds: int,
    multipliers: list[dict[str, float]],
    settings: Mapping[str, Any],
) -> Choice:
    found = _race(build, panels, horizon, seeds, multipliers, settings)
    # Fields may be multiples of the multipliers, so distances from 1 are measured on the multipliers.
    left = [i for i, entry in enumerate(found.candidates) if entry.outcome in ("winner", "survivor")]
    means = [found.candidates[i].mean for i in left]
    winner = left[best([multipliers[i] for i in left], means, found.tolerance)]
    return Choice(
        multipliers=multipliers[winner],
        metric=found.metric,
        mean=found.candidates[winner].mean,
        n_points=len(multipliers),
        seeds=seeds,
        horizon=horizon,
        at_edge=at_edge(multipliers, multipliers[winner]),
        rounds=found.rounds,
        grid_rounds=found.grid_rounds,
    )


def _ask(
    study: Study,
    batches: tuple[int, int],
    build: Build,
    panels: Mapping[str, Any],
    horizon: int,
    seeds: int,
    grid: Mapping[str, Sequence[float]],
    settings: Mapping[str, Any],
) -> Choice:
    """Choose from the points that a study proposes, all on the same seeds."""
    if is_maximizing(study):
        raise InputError("tune minimises the mean: create the study with direction='minimize'")
    ends = {name: (min(values), max(values)) for name, values in grid.items()}
    options = {name: value for name, value in settings.items() if name not in ("metric", "tolerance")}
    metric, n_asked = settings["metric"], itertools.count(1)

    def suggest(trial: Any) -> dict[str, float]:
        return {name: trial.suggest_float(name, low, high, log=low > 0.0) for name, (low, high) in ends.items()}

    def play(points: list[Any]) -> np.ndarray:
        grids = _grids(build, panels, horizon, points)
        environments = {name: panel.environment for name, panel in panels.items()}
        some = _name_race(options, f"batch {next(n_asked)}")
        result = compare(grids, environments, horizon, seeds, record_points=1, **some)
        values = [np.where(x.usable(metric), x.final(metric), np.inf) for x in result.values()]
        return np.mean(values, axis=0)

    found = play_study(study, suggest, play, *batches)
    points = [dict(entry.point) for entry in found]
    winner = best(points, [entry.mean for entry in found], settings["tolerance"])
    rounds = len(points) * seeds * horizon * len(panels)
    return Choice(
        multipliers=points[winner],
        metric=metric,
        mean=found[winner].mean,
        n_points=len(points),
        seeds=seeds,
        horizon=horizon,
        at_edge=at_edge(_product(ends), points[winner]),
        rounds=rounds,
        grid_rounds=rounds,
    )


def _grids(build: Build, panels: Mapping[str, Any], horizon: int, points: Sequence[Multipliers]) -> dict[str, Grid]:
    """Return, for each panel, the grid of the learners with these multipliers."""
    grids = {}
    for name, panel in panels.items():
        learners = [build(panel, horizon, point) for point in points]
        grids[name] = Grid(learners[0], _differences(learners))
    return grids


def _race(
    build: Build,
    panels: Mapping[str, Any],
    horizon: int,
    seeds: int,
    multipliers: list[dict[str, float]],
    settings: Mapping[str, Any],
) -> Race:
    grids = _grids(build, panels, horizon, multipliers)
    environments = {name: panel.environment for name, panel in panels.items()}
    return race(grids, environments, horizon, seeds, **settings)


def _screen(
    build: Build,
    panels: Mapping[str, Any],
    horizon: int,
    seeds: int,
    grid: Mapping[str, Sequence[float]],
    settings: Mapping[str, Any],
    screening: int,
) -> Choice:
    """Play every other value of each multiplier, then the neighbours of the best points (`Tuning.screening`)."""
    rounds, seen = 0, {}  # mean by point, over the first `screening` seeds

    def play(points: list[dict[str, float]], stage: str, first: int, count: int) -> np.ndarray:
        nonlocal rounds
        some = {"first_seed": settings["first_seed"] + first, "tolerance": 0.0}
        found = _race(build, panels, horizon, count, points, _name_race({**settings, **some}, stage))
        rounds += found.rounds
        return np.asarray([candidate.mean for candidate in found.candidates])

    def screen(points: list[dict[str, float]], stage: str) -> list[dict[str, float]]:
        new = [point for point in points if _values(point) not in seen]
        seen.update(zip(map(_values, new), play(new, stage, 0, screening), strict=True))
        every = sorted(seen, key=seen.__getitem__)
        return [dict(zip(grid, values, strict=True)) for values in every[:FINALISTS]]

    places = {name: sorted(values) for name, values in grid.items()}
    best_points = screen(_product({name: values[::2] for name, values in places.items()}), "every other value")
    near = [
        {name: values[max(0, i - 1) : i + 2] for name, values in places.items() for i in [values.index(point[name])]}
        for point in best_points
    ]
    around = {_values(point): point for some in near for point in _product(some)}
    finalists = screen(list(around.values()), "neighbours")
    means = np.asarray([seen[_values(point)] for point in finalists])
    if seeds > screening:
        rest = play(finalists, "all seeds", screening, seeds - screening)
        means = (screening * means + (seeds - screening) * rest) / seeds
    winner = best(finalists, means, settings["tolerance"])
    return Choice(
        multipliers=finalists[winner],
        metric=settings["metric"],
        mean=float(means[winner]),
        n_points=len(seen),
        seeds=seeds,
        horizon=horizon,
        at_edge=at_edge(_product(grid), finalists[winner]),
        rounds=rounds,
        grid_rounds=math.prod(map(len, grid.values())) * seeds * horizon * len(panels),
    )


def _values(point: Mapping[str, float]) -> tuple[float, ...]:
    return tuple(point.values())


def _product(grid: Mapping[str, Sequence[float]]) -> list[dict[str, float]]:
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def _differences(learners: Sequence[Any]) -> list[dict[str, Any]]:
    """Return, for each learner, a mapping from fields to the numbers in which learners differ.

    If all learners are equal, the mapping contains the first field that is a number.
    """
    columns = {
        field.name: [getattr(learner, field.name) for learner in learners] for field in dataclasses.fields(learners[0])
    }
    numbers = {name: values for name, values in columns.items() if all(map(_is_number, values))}
    swept = [name for name, values in numbers.items() if len(set(map(float, values))) > 1] or list(numbers)[:1]
    return [{name: numbers[name][i] for name in swept} for i in range(len(learners))]


def _is_number(value: object) -> bool:
    return ranges.is_real(value) and not np.ndim(value)


def _name_race(options: Mapping[str, Any], stage: str) -> dict[str, Any]:
    """Return the options with a directory and a title for one race."""
    checkpoint, title = options.get("checkpoint"), options.get("title", "")
    found = {**options, "title": f"{title}, {stage}".removeprefix(", ")}
    return found if checkpoint is None else found | {"checkpoint": Path(checkpoint) / stage}


# Tables --------------------------------------------------------------------------------------------------------------


class TunedLearner(NamedTuple):
    """Learner of a table of multipliers, with the problems on which it is tuned.

    Attributes:
      label: label by which `Tuning.slow` lists the learner.
      build: function from a panel, the number of rounds and multipliers to the learner.
      problems: function that returns the panels, over which the metric is averaged, and the number of rounds of a
        trial.
    """

    label: str
    build: Build
    problems: Callable[[], tuple[Mapping[str, Any], int]]


@dataclasses.dataclass(frozen=True)
class MultiplierTable:
    """Table of multipliers that presets read. `jaxbandits tune --write` races its learners and writes its module.

    Attributes:
      module: module that holds `MULTIPLIERS`, a mapping from learners to fields and their values, and `EVIDENCE`, a
        mapping from learners to the evidence for the choice.
      tuning: declaration of the tuning of its learners.
      learners: learners by name.
      from_file: function from a data file of the user to the learners that are tuned on it; None: no learner uses data.
      options: options of `jaxbandits.compare` for all races, such as `meters`.
      preset: preset that reads the table.
      float64: True to tune in double precision, False to tune in single precision.
    """

    module: ModuleType
    tuning: Tuning
    learners: Mapping[str, TunedLearner]
    from_file: Callable[[Path], Mapping[str, TunedLearner]] | None = None
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    preset: str = "practical"
    float64: bool = False

    @property
    def path(self) -> Path:
        """Path of the file that holds the table."""
        return Path(str(self.module.__file__))

    def tune(
        self,
        name: str,
        learner: TunedLearner,
        horizon: int | None = None,
        seeds: int | None = None,
        **options: FieldValue,
    ) -> Choice:
        """Race the multipliers of one learner, and return the choice.

        Args:
          name: name of the learner in the table.
          learner: the learner.
          horizon: number of rounds of a trial, if it differs from the declared number.
          seeds: number of seeds, if it differs from the declared number.
          **options: as for `jaxbandits.compare`.

        Raises:
          InputError: in the cases of `race`.
        """
        panels, rounds = learner.problems()
        tuning = self.tuning
        if horizon is not None:
            rounds = ranges.integer("horizon", horizon, COUNT)
        if seeds is not None:
            seeds = ranges.integer("seeds", seeds, COUNT)
            slow = {label: (seeds, part) for label, (_, part) in tuning.slow.items()}
            tuning = dataclasses.replace(tuning, seeds=seeds, slow=slow)
        settings = {**self.options, "title": name, **options}
        choice = tune(tuning, learner.label, learner.build, panels, rounds, **settings)
        assert choice is not None, f"{name} has no grid"
        return choice

    def text(self, chosen: Mapping[str, Choice]) -> str:
        """Return the new source text of the module: its entries, with those named in `chosen` replaced."""
        multipliers, evidence = dict(self.module.MULTIPLIERS), dict(self.module.EVIDENCE)
        for name, choice in chosen.items():
            multipliers[name] = {field: float(f"{value:.4g}") for field, value in choice.multipliers.items()}
            evidence[name] = choice.evidence
        lines, reasons = [], []
        for name in sorted(multipliers):
            values = ", ".join(f'"{field}": {value!r}' for field, value in multipliers[name].items())
            lines.append(f'    "{name}": {{{values}}},\n')
            reasons.append(f'    "{name}": "{evidence[name]}",\n')
        parts = {"multipliers": "".join(lines), "evidence": "".join(reasons)}
        return (_HEADER + _MODULE).format(family=self.path.parent.name, preset=self.preset, **parts)


def learners_of_figures(
    names: Mapping[str, str],
    algorithms: Callable[[Any], Mapping[str, Any]],
    panels: Callable[[], Mapping[str, Any]],
    horizon: int,
) -> dict[str, TunedLearner]:
    """Return the learners of a table, keyed by their names in it, from the learners of an experiment.

    Multipliers are fields of these learners. Constants are computed for the full horizon, even if tuning plays fewer
    rounds.

    Args:
      names: mapping from the label of a learner to its name in the table.
      algorithms: function from a panel to a mapping from labels to learners.
      panels: function that returns the panels over which the metric is averaged.
      horizon: number of rounds of a trial.
    """

    def learner(label: str) -> TunedLearner:
        def build(panel: Any, horizon: int, multipliers: Multipliers) -> Learner:
            del horizon
            return with_multipliers(algorithms(panel)[label], multipliers)

        return TunedLearner(label, build, lambda: (panels(), horizon))

    return {name: learner(label) for label, name in names.items()}


_HEADER = (
    '"""Multipliers of the constants in the `{preset}` presets, keyed by learner or "panel/learner". '
    "Generated; do not edit.\n"
)
_MODULE = '''
`jaxbandits tune {family} --write` compares the points of a grid and writes this file (docs/verdicts.md).
"""

MULTIPLIERS: dict[str, dict[str, float]] = {{
{multipliers}}}
EVIDENCE: dict[str, str] = {{
{evidence}}}
'''
