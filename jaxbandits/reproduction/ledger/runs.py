"""Read finished runs from the manifests of `reproduce` or from the ledger, and write them to the ledger."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.files import write_atomically
from jaxbandits.reproduction.engine.experiment import Experiment
from jaxbandits.reproduction.engine.verdict import Verdict
from jaxbandits.reproduction.ledger import rows
from jaxbandits.reproduction.ledger.manifest import MANIFEST, is_of_a_sweep, load
from jaxbandits.reproduction.ledger.manifest import read as read_manifest

SETTINGS = ("preset", "reading", "precision", "data", "seed", "first_seed", "seeds", "rounds", "whole", "commit")
_NUMBERS = ("seed", "first_seed", "seeds", "rounds")  # columns that hold integers
COLUMNS = ("id", *SETTINGS, *rows.NUMBERS, "adjusted")
_DATA = {"real": "the real data", "stand-in": "the stand-in"}  # wording of `Run.data`
RENAMED: Mapping[str, str] = {}  # id in an earlier ledger to the current id of the claim


class About(NamedTuple):
    """Parts of an experiment's declaration that the pages show."""

    title: str
    source: str
    presets: Mapping[str, str]
    notes: tuple[str, ...]
    horizon: int
    float64: bool
    shows: str = ""
    horizon_stated: bool = False
    readings: Mapping[str, str] = {}  # descriptions of the readings other than the usual one, by name
    panels: Callable[[], Mapping[str, str]] = dict  # titles by panel, made when a page needs them
    panel_rounds: Callable[[int], tuple[int, ...]] = lambda horizon: (horizon,)  # of all panels in a run of `horizon`


class Run(NamedTuple):
    """Finished run of an experiment, with its settings and verdicts."""

    experiment: str
    about: About
    preset: str
    reading: str  # "": the usual reading
    precision: str
    data: str  # "real", "stand-in", or "" if the experiment uses no data
    seed: int
    first_seed: int
    seeds: int
    rounds: int
    whole: str  # "yes" if it played as many rounds as its experiment declares for these data, else "no"
    commit: str  # "" if unknown; with a "+" if files had changed since the commit
    verdicts: tuple[Verdict, ...]
    excluded: tuple[str, ...] = ()
    directory: Path | None = None
    files: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """First part of the experiment's name."""
        return self.experiment.partition("/")[0]

    @property
    def is_headline(self) -> bool:
        """True if the run has the first preset, the usual reading, the declared precision and all learners."""
        return self.has_usual_settings and not self.excluded

    @property
    def has_usual_settings(self) -> bool:
        """True if the run has the first preset, the usual reading and the declared precision."""
        return (
            self.preset == next(iter(self.about.presets), "")
            and not self.reading
            and self.precision == ("float64" if self.about.float64 else "float32")
        )

    @property
    def has_full_horizon(self) -> bool:
        """True if the run played as many rounds as its experiment declares."""
        return self.whole == "yes"

    @property
    def seed_range(self) -> str:
        """Range of the seeds as text, such as "0 to 511"."""
        last = self.first_seed + self.seeds - 1
        return f"{self.first_seed:,} to {last:,}" + (f" of base seed {self.seed}" if self.seed else "")

    def difference_from(self, other: "Run") -> str:
        """Describe the differences from the settings of another run of the same experiment; "" if they are equal."""
        found = [f"preset {self.preset}"] if self.preset != other.preset else []
        found += [f"reading {self.reading or 'as usual'}"] if self.reading != other.reading else []
        found += [self.precision] if self.precision != other.precision else []
        found += [f"{self.rounds:,} rounds"] if self.rounds != other.rounds else []
        if self.has_usual_settings and self.excluded != other.excluded:  # else the rows show what was not measured
            found.append(f"without {', '.join(self.excluded)}")
        data = f"on {_DATA.get(self.data, 'other data')}" if self.data != other.data else ""
        if not (found or data) and self.seed_range != other.seed_range:
            return "other seeds"
        return " ".join(filter(None, (" and ".join(found), data)))

    def is_another_choice_than(self, other: "Run") -> bool:
        """Return True if this run and `other` use the same data, but another preset or another reading."""
        return (self.preset, self.reading) != (other.preset, other.reading) and self.data == other.data


def read(path: Path, experiments: Mapping[str, Experiment]) -> list[Run]:
    """Return the runs in a directory or a ledger, in the order of `experiments`, with headline runs first.

    Args:
      path: directory that `reproduce` wrote to, which is searched recursively, or file written by `write`.
      experiments: mapping from names to experiments, from which the wording of the claims is taken.

    Raises:
      InputError: if there is no run, or if a file cannot be read.
    """
    found = _of_ledger(path, experiments) if path.is_file() else _of_manifests(path, experiments)
    if not found:
        raise InputError(f"{path} holds no finished run: `jaxbandits reproduce all --out {path}` writes some")
    places = {name: place for place, name in enumerate(experiments)}
    return sorted(found, key=lambda run: (places.get(run.experiment, len(places)), *_order(run)))


def _order(run: Run) -> tuple[Any, ...]:
    """Return the sort key of a run: headline runs come first, then runs with all rounds, real data, and many seeds."""
    return (run.experiment, not run.is_headline, not run.has_full_horizon, run.data == "stand-in", -run.seeds)


def _of_manifests(directory: Path, experiments: Mapping[str, Experiment]) -> list[Run]:
    paths = sorted(directory.rglob(MANIFEST))
    return [of_manifest(path, experiments) for path in paths if not is_of_a_sweep(load(path))]


def of_manifest(path: Path, experiments: Mapping[str, Experiment]) -> Run:
    """Return the run that a manifest describes.

    Args:
      path: path of the manifest.
      experiments: as for `read`.

    Raises:
      FileNotFoundError: if there is no such file.
      InputError: if the manifest is invalid.
    """
    made = read_manifest(path)
    name, asked, declared = made["experiment"], made["request"] or {}, made["declared"]
    experiment = experiments.get(name)
    claims = {} if experiment is None else {claim.id: claim for claim in experiment.claims}
    ids = [row["id"] for row in made["claims"]]
    if len(set(ids)) != len(ids):
        raise InputError(f"{path} has two claims of one id")
    try:
        verdicts = tuple(rows.from_manifest(row, claims.get(row["id"])) for row in made["claims"])
    except (InputError, ValueError, TypeError) as error:
        raise InputError(f"{path}: {error}") from None
    about = About(
        title=made["title"],
        source=made["source"],
        presets=made["presets"],
        notes=tuple(made["notes"]),
        horizon=declared["horizon"],
        float64=bool(declared.get("float64")),
    )
    data = "stand-in" if made["stand_ins"] else "real" if made["real_data"] else ""
    precision = asked.get("precision") or ("float64" if declared.get("float64") else "float32")
    return Run(
        experiment=name,
        about=about if experiment is None else about_of(experiment, data),
        preset=made["preset"],
        reading=asked.get("reading") or "",
        precision=precision if isinstance(precision, str) else str(*precision[:1]),
        data=data,
        seed=asked.get("seed", 0),
        first_seed=asked.get("first seed", 0),
        seeds=asked.get("seeds", declared["seeds"]),
        rounds=made["horizon"],
        whole="yes" if made["horizon"] >= declared["horizon"] else "no",
        commit=" ".join((made["commit"] or "").replace(",", " ").split()),
        verdicts=verdicts,
        excluded=tuple(asked.get("without") or ()),
        directory=path.parent,
        files=tuple(Path(file).name for file in made["files"]),  # names only, without folders
    )


def about_of(experiment: Experiment, data: str = "") -> About:
    """Return the parts of a declaration that the pages show.

    Args:
      experiment: declaration of the experiment.
      data: data of the run, as in `Run`.
    """
    title = experiment.data_title if data == "real" and experiment.data_title else experiment.title
    return About(
        title=title + ", with stand-ins for real data" * (data == "stand-in" and "stand-in" not in title),
        source=experiment.source,
        presets=experiment.presets,
        notes=experiment.notes,
        horizon=experiment.horizon,
        float64=experiment.float64,
        shows=experiment.shows,
        horizon_stated=experiment.horizon_stated,
        readings={name: reading.text for name, reading in experiment.interpretations.items()},
        panels=partial(_panel_titles, experiment, data),
        panel_rounds=partial(_panel_rounds, experiment),
    )


def _panel_titles(experiment: Experiment, data: str) -> dict[str, str]:
    """Return the titles of the panels. They name the data of the run, regardless of the files on this machine."""
    titles = {name: panel.title for name, panel in experiment.panels(experiment.horizon).items()}
    for name, source in experiment.stand_ins.items():
        plain = titles.get(name, "").removeprefix("stand-in for ").replace(" (synthetic)", "")
        if plain.startswith(source):  # else the title does not name the data
            titles[name] = plain if data == "real" else f"stand-in for {plain}"
    return titles


def _panel_rounds(experiment: Experiment, horizon: int) -> tuple[int, ...]:
    """Return the number of rounds of each panel in a run of `horizon` rounds."""
    return tuple(panel.horizon(horizon) for panel in experiment.panels(horizon).values())


def write(runs: Sequence[Run], adjusted: Mapping[str, str], path: Path) -> Path:
    """Write the ledger, and return its path: one row per judged claim and run, with its id and numbers but no wording.

    Runs with the usual settings from which learners were excluded are omitted, since the file does not say which.

    Args:
      runs: runs, as returned by `read`.
      adjusted: mapping from the id of a sentence, including the experiment, to its adjusted standing, which is written
        in the rows of headline runs.
      path: path of the file.

    Raises:
      InputError: if the path cannot be written.
    """
    lines = [",".join(COLUMNS)]
    heads = {run.experiment: run for run in reversed(runs)}
    for run in (run for run in runs if not (run.excluded and run.has_usual_settings)):
        settings = {name: str(getattr(run, name)) for name in SETTINGS}
        for verdict in run.verdicts:
            if verdict.applies:
                sentence = f"{run.experiment}/{verdict.claim.sentence}"
                standing = adjusted.get(sentence, "") if heads[run.experiment] is run else ""
                row = {"id": f"{run.experiment}/{verdict.claim.id}", **settings, **rows.of_ledger(verdict)}
                cells = [(row | {"adjusted": standing})[name] for name in COLUMNS]
                assert not any("," in cell for cell in cells), cells  # names and numbers
                lines.append(",".join(cells))
    write_atomically(path, ("\n".join(lines) + "\n").encode())
    return path


def _of_ledger(path: Path, experiments: Mapping[str, Experiment]) -> list[Run]:
    try:
        header, *lines = path.read_text(encoding="utf-8").splitlines() or [""]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if header != ",".join(COLUMNS):
        raise InputError(
            f"{path} is not a ledger in the format of this version of jaxbandits: its first line must be "
            f"{','.join(COLUMNS)}"
        )
    claims = {f"{name}/{claim.id}": (e, claim) for name, e in experiments.items() for claim in e.claims}
    grouped: dict[tuple[str, tuple[str, ...], tuple[int, ...], int], list[Verdict]] = {}
    for number, line in enumerate(lines, start=2):
        cells = line.split(",")
        if len(cells) != len(COLUMNS):
            raise InputError(f"{path}, line {number}: it has {len(cells)} cells, and must have {len(COLUMNS)}")
        row: dict[str, str] = dict(zip(COLUMNS, cells, strict=True))
        name = RENAMED.get(row["id"], row["id"])
        if name not in claims:
            raise InputError(f"{path}, line {number}: there is no claim {format_value(name)}")
        experiment, claim = claims[name]
        standing = tuple(dict.fromkeys(experiment.stand_ins.values())) if row["data"] == "stand-in" else ()
        try:
            fields = {
                "stand_ins": standing,
                "marks": experiment.marks(claim),
                "enough_rounds": row["whole"] == "yes",
            }
            verdict = rows.from_ledger(row, claim, **fields)
            numbers = tuple(int(row[name]) for name in _NUMBERS)
        except (ValueError, TypeError) as error:
            raise InputError(f"{path}, line {number}: {error}") from None
        words = tuple(row[name] for name in SETTINGS if name not in _NUMBERS)
        key, again = (experiment.name, words, numbers), 0
        while any(verdict.claim.id == claim.id for verdict in grouped.get((*key, again), ())):
            again += 1  # another run with the same settings
        grouped.setdefault((*key, again), []).append(verdict)
    return [_run(experiments[name], words, numbers, its) for (name, words, numbers, _), its in grouped.items()]


def _run(experiment: Experiment, words: Sequence[str], numbers: Sequence[int], verdicts: Sequence[Verdict]) -> Run:
    preset, reading, precision, data, whole, commit = words
    seed, first_seed, seeds, rounds = numbers
    return Run(
        experiment=experiment.name,
        about=about_of(experiment, data),
        preset=preset,
        reading=reading,
        precision=precision,
        data=data,
        seed=seed,
        first_seed=first_seed,
        seeds=seeds,
        rounds=rounds,
        whole=whole,
        commit=commit,
        verdicts=tuple(verdicts),
    )


def with_borrowed(runs: Sequence[Run]) -> dict[str, tuple[Run, Verdict]]:
    """Return a mapping from the id of each claim to a pair of a run and the verdict from this run.

    Verdicts of the first run take precedence. Other runs supply verdicts on times, if the first run did not
    measure them, and on claims about other presets. Another run is used only if it played all declared rounds, on the
    data of the first run.

    Args:
      runs: runs of one experiment, the headline run first.
    """
    head = runs[0]
    found = {verdict.claim.id: (head, verdict) for verdict in head.verdicts if verdict.applies}
    for run in (run for run in runs[1:] if run.has_full_horizon and run.data == head.data):
        for verdict in (verdict for verdict in run.verdicts if verdict.applies and not verdict.missing):
            _, kept = found.get(verdict.claim.id, (run, None))
            is_time = verdict.claim.unit == "repeats" and (kept is None or kept.missing)
            is_elsewhere = kept is None and bool(verdict.claim.presets)
            if is_time or is_elsewhere:
                found[verdict.claim.id] = (run, verdict)
    return found


def overlap(one: tuple[int, int, int], other: tuple[int, int, int]) -> bool:
    """Return True if two runs share some but not all seeds; verdicts of one may have decided the seeds of the other.

    Args:
      one: base seed, first seed and number of seeds of a run.
      other: these numbers for the other run.
    """
    (base, first, n), (other_base, other_first, m) = one, other
    share_some = base == other_base and first < other_first + m and other_first < first + n
    return share_some and (first, n) != (other_first, m)


def p_of(verdict: Verdict) -> float:
    """Return the p-value of a verdict: 1 if it is decided but its p-value is unknown, NaN if it is deterministic."""
    if verdict.deterministic:
        return math.nan
    return 1.0 if math.isnan(verdict.p) and verdict.decision != "open" else verdict.p
