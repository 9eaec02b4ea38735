"""Declaration of an experiment: panels of environments, algorithms for each preset, figures and claims."""

import dataclasses
import importlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbandits.analysis.trials import Trials
from jaxbandits.base.errors import InputError, unknown_name
from jaxbandits.reproduction.engine.claim import Claim
from jaxbandits.reproduction.engine.figures import Curves, Drawing
from jaxbandits.reproduction.engine.tuning import Learner, Learners, Problem, Tuning
from jaxbandits.simulation import Meter


class Panel(NamedTuple):
    """Set of axes of a figure, or a point on the x-axis of a figure that draws panels against a quantity."""

    title: str
    environment: Problem
    x: float = math.nan  # position on that x-axis; of panels with equal positions, the largest mean is drawn
    bound: float = math.nan  # value or bound from the theory, drawn at `x`
    rounds: int | None = None  # number of rounds of this panel; None: the number of rounds of the run

    def horizon(self, horizon: int) -> int:
        """Return the rounds of a trial in a run of `horizon` rounds."""
        return horizon if self.rounds is None else self.rounds


@dataclasses.dataclass(frozen=True)
class TimePerRound:
    """Timings of an experiment, measured after its trials: time per round as a function of the round.

    Attributes:
      panels: names of the panels.
      at: numbers of trials per batch, each timed separately; None stands for the batch size of the run.
      unit: label whose time is the unit of the relative times in the table; "" for the fastest label.
    """

    panels: tuple[str, ...]
    at: tuple[int | None, ...] = (1, None)
    unit: str = ""


@dataclasses.dataclass(frozen=True)
class Interpretation:
    """Alternative reading of a passage of the paper that is ambiguous, reconstructed or wrong as printed.

    Attributes:
      text: the passage, and how this reading of it differs.
      learners: mapping from a label to the fields of that learner that differ from the usual reading.
    """

    text: str
    learners: Mapping[str, Learners]


@dataclasses.dataclass(frozen=True)
class Experiment:
    """Declaration of a figure of a paper.

    Attributes:
      name: registry name, `family/figure`.
      title: title of one line for tables and figures.
      source: paper and figure.
      horizon: number of rounds: the paper's if `horizon_stated`, else ours.
      seeds: default number of trials.
      presets: mapping from the name of a preset to its description; the first preset is the default, and the ledger
        counts its verdicts.
      algorithms: function from (preset, horizon, panel) to a mapping from labels to algorithms, or to a `Grid` of an
        algorithm that is swept.
      panels: function from the horizon to a mapping from names to panels.
      metric: metric of the table, and of figures that do not name another metric.
      tabulated: further metrics, each with a separate table.
      claims: statements of the paper about this figure.
      notes: information for readers of the figure (tuning, readings of ambiguous text).
      figures: figures to draw.
      meters: additional meters.
      derive: function from (trials, their algorithm, panel) to further metrics `[H, S, M]`, such as a bound of the
        theory.
      record_points: as for `jaxbandits.compare`.
      slow: mapping from a label to its number of seeds, for learners too slow to run all seeds.
      width: number of trials per batch; None: the default.
      timed: timings that follow the trials; None: no timings.
      horizons: function from (horizon, panel, mapping from labels to algorithms) to a mapping from labels to rounds,
        for learners with different horizons.
      tuning: declaration of the tuning of the learners; None: no tuning.
      float64: True if the experiment needs double precision.
      from_file: function from a data file of the user to the fields (`panels`, `title`, ...) of the experiment on that
        file.
      data_title: title of a run on the real data; "" if `title` is used for both.
      stand_ins: mapping from a panel to the name of the real data set for which synthetic data stand in if there is no
        file.
      real_data: names of the data sets that the user's file holds.
      interpretations: other readings of the paper, by name; the ledger shows their verdicts next to the verdicts of the
        usual reading.
      interpretation: name of the interpretation in use; None: the usual reading.
      reconstructed: mapping from the label of a reconstructed learner to the mark that its claims carry.
      guessed: mark of the paper's statements if its text leaves settings open; "" for none.
      shows: description of the paper's figure in two sentences (axes, learners, stated settings); "" for no figure.
      horizon_stated: True if the paper or its authors' code states `horizon`.

    Raises:
      InputError: if two claims have the same id, or two figures the same file names.
    """

    name: str
    title: str
    source: str
    horizon: int
    seeds: int
    presets: Mapping[str, str]
    algorithms: Callable[[str, int, Panel], Learners]
    panels: Callable[[int], Mapping[str, Panel]]
    metric: str
    tabulated: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    figures: tuple[Drawing, ...] = (Curves(),)
    meters: tuple[Meter, ...] = ()
    derive: Callable[[Trials, Learner, Panel], Mapping[str, np.ndarray]] | None = None
    record_points: Any = 100
    slow: Mapping[str, int] = dataclasses.field(default_factory=dict)
    width: int | None = None
    timed: TimePerRound | None = None
    horizons: Callable[[int, Panel, Learners], Mapping[str, int]] | None = None
    tuning: Tuning | None = None
    float64: bool = False
    from_file: Callable[[Path], Mapping[str, Any]] | None = None
    stand_ins: Mapping[str, str] = dataclasses.field(default_factory=dict)
    real_data: tuple[str, ...] = ()
    interpretations: Mapping[str, Interpretation] = dataclasses.field(default_factory=dict)
    interpretation: str | None = None
    reconstructed: Mapping[str, str] = dataclasses.field(default_factory=dict)
    guessed: str = ""
    shows: str = ""
    horizon_stated: bool = False
    data_title: str = ""

    def __post_init__(self) -> None:
        ids = [claim.id for claim in self.claims]
        if twice := next((id for id in ids if ids.count(id) > 1), ""):
            raise InputError(f"{self.name} has two claims with the id {twice!r}: an id names one row")
        names = [drawing.name for drawing in self.figures[1:]]  # files of the first figure have no suffix
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise InputError(f"{self.name} has two figures with the name {twice!r}, whose files would be the same")

    def check_panels(self, panels: Mapping[str, Panel]) -> None:
        """Check the names of panels, which are parts of file names, and that no claim or field names another panel.

        Raises:
          InputError: if the name of a panel cannot be part of a file name, if two names differ only in case, or if a
            claim or a field names an unknown panel.
        """
        known: dict[str, str] = {}
        for name in panels:
            if "/" in name or "\0" in name:
                raise InputError(
                    f"{self.name}: files are named after panel {name!r}, which must not contain '/' or NUL"
                )
            if (other := known.setdefault(name.casefold(), name)) != name:
                raise InputError(f"{self.name}: files of panels {other!r} and {name!r} would differ only in case")
        named = [(f"in the claim {claim.id}", name) for claim in self.claims for name in claim.panels]
        named += [("in `stand_ins`", name) for name in self.stand_ins]
        named += [("in `timed`", name) for name in (self.timed.panels if self.timed is not None else ())]
        for where, name in named:
            if name not in panels:
                raise unknown_name(f"panel of {self.name} ({where})", name, panels)

    def check_names(self, declared: Mapping[str, Learners], preset: str, horizon: int) -> None:
        """Check the labels and presets that claims and other fields name, and that panels of claims on times are timed.

        Args:
          declared: learners by panel and label, in the preset that is run.
          preset: name of this preset.
          horizon: number of rounds.

        Raises:
          InputError: for a label that no preset has, or an unknown preset or panel; the message is one line that names
            the claim or field.
        """
        for name in () if self.tuning is None else self.tuning.presets:
            if name not in self.presets:
                raise unknown_name(f"preset of {self.name} (in `tuning`)", name, self.presets)
        for claim in self.claims:
            where = f"of {self.name} (in the claim {claim.id})"
            for name in claim.presets:
                if name not in self.presets:
                    raise unknown_name(f"preset {where}", name, self.presets)
            timed = () if self.timed is None else self.timed.panels
            if untimed := [name for name in claim.panels if claim.unit == "repeats" and name not in timed]:
                has = f"its timed panels are {', '.join(timed)}" if timed else "the field `timed` names no panels"
                raise InputError(f"{self.name} does not time panel {untimed[0]} (in the claim {claim.id}); {has}")
        named = [(f"in the claim {claim.id}", label) for claim in self.claims for label in claim.labels]
        named += [("in `slow`", label) for label in self.slow]
        named += [("in `timed`", self.timed.unit)] if self.timed is not None and self.timed.unit else []
        named += [(f"in the interpretation {name}", x) for name, i in self.interpretations.items() for x in i.learners]
        known = {label for learners in declared.values() for label in learners}
        if all(label in known for _, label in named):
            return
        for other in (name for name in self.presets if name != preset):  # whose learners may have other labels
            known |= {x for panel in self.panels(horizon).values() for x in self.algorithms(other, horizon, panel)}
        for where, label in named:
            if label not in known:
                raise unknown_name(f"label of {self.name} ({where})", label, known)

    def marks(self, claim: Claim) -> tuple[str, ...]:
        """Return the marks of a claim: the reconstructed learners and guessed settings on which it rests."""
        named = (mark for label, mark in self.reconstructed.items() if label in claim.labels)
        return (*named, *([self.guessed] if self.guessed and claim.kind == "statement" else []))

    def with_interpretation(self, name: str | None) -> "Experiment":
        """Return the experiment under another interpretation, or itself for None.

        Raises:
          InputError: for an unknown interpretation.
        """
        if name is None:
            return self
        if name not in self.interpretations:
            raise (
                unknown_name(f"interpretation of {self.name}", name, self.interpretations)
                if self.interpretations
                else InputError(f"{self.name} has one interpretation only: leave --interpretation out")
            )
        changed = self.interpretations[name].learners

        def algorithms(preset: str, horizon: int, panel: Panel) -> Learners:
            usual = self.algorithms(preset, horizon, panel)
            return {k: dataclasses.replace(v, **changed[k]) if k in changed else v for k, v in usual.items()}

        return dataclasses.replace(self, algorithms=algorithms, interpretation=name)

    def standing_in(self, panels: Mapping[str, Panel]) -> dict[str, str]:
        """Return the entries of `stand_ins` whose panel runs on synthetic data."""
        return {
            name: data
            for name, data in self.stand_ins.items()
            if name in panels and getattr(panels[name].environment, "dataset", "stand-in") == "stand-in"
        }

    def with_data(self, path: Path) -> "Experiment":
        """Return the experiment on the user's data.

        Args:
          path: data file.

        Raises:
          InputError: if the experiment takes no data file, or if the file cannot be read.
        """
        if self.from_file is None:
            raise InputError(f"{self.name} takes no data file: leave --data out")
        known = {"stand_ins": {}, "real_data": tuple(dict.fromkeys(self.stand_ins.values()))}
        return dataclasses.replace(self, **{**known, **self.from_file(path)})

    def data_sets(self, panels: Mapping[str, Panel]) -> tuple[str, ...]:
        """Return the names of the real data sets in these panels, from the user's file or found on this machine."""
        standing = self.standing_in(panels)
        found = (data for name, data in self.stand_ins.items() if name in panels and name not in standing)
        return tuple(dict.fromkeys((*self.real_data, *found)))

    def preset(self, name: str | None) -> str:
        """Check the name of a preset and return it; return the default preset for None.

        Raises:
          InputError: for an unknown name.
        """
        if name is None:
            return next(iter(self.presets))
        if name not in self.presets:
            raise unknown_name(f"preset of {self.name}", name, self.presets)
        return name


class Erratum(NamedTuple):
    """Erratum of a paper: the printed text, what is wrong with it, and what the library does instead."""

    place: str
    printed: str  # the printed text
    because: str  # why the text is wrong, or what it leaves open
    instead: str  # what the library does
    command: str  # command that shows the difference
    left_open: bool = False  # True: the text is not wrong, but leaves open what a program has to decide


@dataclasses.dataclass(frozen=True)
class Paper:
    """Paper, with notes on its reproduction and its errata.

    Attributes:
      family: family of the library that contains the experiments of this paper.
      title: title of the paper.
      reference: authors and venue.
      easy: settings that follow from the text alone.
      difficult: parts that were hard to reproduce.
      guessed: settings that the text leaves open, and our choices.
      errata: errata in the order of the paper.
    """

    family: str
    title: str
    reference: str
    easy: str
    difficult: str
    guessed: str
    errata: tuple[Erratum, ...]


def import_experiments(package: str, names: str) -> tuple[Experiment, ...]:
    """Return the experiments of a family. Each is named after the module that declares it, with "-" in place of "_".

    Args:
      package: package of the family, such as `jaxbandits.reproduction.experiments.linear`.
      names: names of its modules, separated by spaces, in the order of the experiments.
    """
    family = package.rpartition(".")[2]
    found = []
    for name in names.split():
        module = importlib.import_module(f"{package}.{name}")
        values = (value for value in vars(module).values() if isinstance(value, Experiment))
        found.append(next(value for value in values if value.name == f"{family}/{name.replace('_', '-')}"))
    return tuple(found)


def choose(experiments: Mapping[str, Experiment], name: str) -> list[Experiment]:
    """Return the experiments that `name` selects: one experiment, `family/all`, or `all`.

    Raises:
      InputError: for an unknown name; the message suggests close names.
    """
    families = dict.fromkeys(known.partition("/")[0] for known in experiments)
    groups = {"all": "", **{f"{family}/all": f"{family}/" for family in families}}
    if name in groups:
        return [experiment for known, experiment in experiments.items() if known.startswith(groups[name])]
    if name not in experiments:
        raise unknown_name("experiment", name, [*experiments, *groups], "jaxbandits list experiments")
    return [experiments[name]]
