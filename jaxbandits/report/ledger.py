"""The ledger of finished runs: every claim with its verdicts, from what `reproduce` left in a directory.

Nothing is computed: manifests hold the verdicts and the p values, of which the adjusted verdicts follow.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxbandits.core.errors import InputError
from jaxbandits.core.files import write_atomically
from jaxbandits.experiments.claim import ALPHA, holm
from jaxbandits.experiments.declare import Paper

MANIFEST = "manifest.json"
VERDICTS: tuple[str, ...] = ("holds", "does not hold", "not decided")
METHOD = (
    "A claim holds when the 95 % interval of its statistic lies inside the claimed region, does not hold when it lies "
    "outside, and is not decided otherwise, on fewer seeds or rounds than it needs, or when a trial failed. Intervals "
    "of means, ratios and slopes are those of Student widened to a bootstrap-t interval of half the tails; claims of "
    "equivalence are two one-sided tests at 2.5 % each; shares have Wilson's interval. The adjusted verdict is that of "
    "Holm's procedure over all claims of a paper that were tested, at 5 % together. What words such as 'comparable' "
    "mean as numbers stands in jaxbandits/experiments/words.py."
)


class Run(NamedTuple):
    """One finished run of an experiment."""

    directory: Path
    manifest: Mapping[str, Any]
    digest: str  # of the manifest's bytes

    @property
    def name(self) -> str:
        """Of the experiment."""
        return self.manifest["experiment"]

    @property
    def usual(self) -> bool:
        """Whether it ran with the default preset, base seed 0, and everything that was declared."""
        asked = self.manifest["request"] or {}
        return self.manifest["preset"] == next(iter(self.manifest["presets"])) and not (
            asked.get("seed") or asked.get("without") or asked.get("data")
        )

    @property
    def varied(self) -> str:
        """What sets it apart from the usual run."""
        asked = self.manifest["request"] or {}
        parts = [f"preset {self.manifest['preset']}"]
        parts += [f"base seed {asked['seed']}"] if asked.get("seed") else []
        parts += [f"without {', '.join(asked['without'])}"] if asked.get("without") else []
        parts += ["the user's data"] if asked.get("data") else []
        precision = (asked.get("precision") or [""])[0]
        return ", ".join([*parts, *([precision] if precision else [])])


class Row(NamedTuple):
    """One claim of one run."""

    experiment: str
    claim: Mapping[str, Any]  # as the manifest has it
    adjusted: str  # verdict
    others: tuple[tuple[str, str], ...]  # runs that differ in something, and their verdicts


class Chapter(NamedTuple):
    """A paper with its runs and its claims."""

    paper: Paper
    runs: tuple[Run, ...]  # one for each experiment
    rows: tuple[Row, ...]


def read(directory: Path) -> list[Run]:
    """The finished runs below a directory, by name of experiment.

    Raises:
      InputError: when there is none, or for a manifest that cannot be read.
    """
    found = []
    for path in sorted(directory.rglob(MANIFEST)):
        try:
            body = path.read_bytes()
            manifest = json.loads(body)
            if not {"experiment", "presets", "claims", "stand_ins"} <= manifest.keys():
                raise KeyError
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise InputError(f"{path} is no manifest of this version ({type(error).__name__}): run it anew") from None
        found.append(Run(path.parent, manifest, hashlib.sha256(body).hexdigest()[:12]))
    if not found:
        raise InputError(f"{directory} holds no finished run: `jaxbandits reproduce all --out {directory}` makes them")
    return found


def chapters(runs: Sequence[Run], papers: Mapping[str, Paper]) -> list[Chapter]:
    """The runs by paper; of each experiment the usual one (else the first) with its claims, the others beside it.

    Args:
      runs: as `read` finds them.
      papers: family to paper.
    """
    by_paper: dict[str, list[Run]] = {}
    for run in runs:
        by_paper.setdefault(_family({"experiment": run.name}), []).append(run)
    known = [family for family in papers if family in by_paper]
    return [_chapter(papers[family], by_paper[family]) for family in known]


def _family(row: Mapping[str, Any]) -> str:
    return row["experiment"].partition("/")[0]


def _chapter(paper: Paper, runs: Sequence[Run]) -> Chapter:
    by_name: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: (run.name, not run.usual)):
        by_name.setdefault(run.name, []).append(run)
    claims = [(runs_[0], claim) for runs_ in by_name.values() for claim in runs_[0].manifest["claims"]]
    adjusted = adjusted_verdicts([claim for _, claim in claims])
    rows = []
    for (run, claim), verdict in zip(claims, adjusted, strict=True):
        others = tuple(
            (other.varied, kept["verdict"])
            for other in by_name[run.name][1:]
            for kept in other.manifest["claims"]
            if kept["claim"] == claim["claim"] and kept["applies"]
        )
        rows.append(Row(run.name, claim, verdict, others))
    return Chapter(paper, tuple(runs_[0] for runs_ in by_name.values()), tuple(rows))


def adjusted_verdicts(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """Of the claims of a paper, as manifests have them: theirs where Holm's procedure decides too."""
    ps = [math.nan if claim["fixed"] or claim["p"] is None else claim["p"] for claim in claims]
    return [
        claim["verdict"] if claim["fixed"] or decided else "not decided"
        for claim, decided in zip(claims, holm(ps, ALPHA), strict=True)
    ]


def counts(verdicts: Sequence[str]) -> str:
    """In words, such as "3 hold, 1 does not, 2 not decided"."""
    n = [sum(verdict == wanted for verdict in verdicts) for wanted in VERDICTS]
    return f"{n[0]} hold, {n[1]} do not, {n[2]} not decided"


def seeds_of(run: Run) -> str:
    """The seeds that judged, by their global indices."""
    asked = run.manifest["request"] or {}
    n = asked.get("seeds") or run.manifest["declared"]["seeds"]
    first = asked.get("first seed", 0)
    return f"{first} to {first + n - 1} of base seed {asked.get('seed', 0)}"


def stand_ins(runs: Sequence[Run]) -> list[str]:
    """One line for each experiment on data that are not the paper's."""
    return [
        f"{run.name}: a stand-in for {', '.join(dict.fromkeys(run.manifest['stand_ins'].values()))}"
        for run in runs
        if run.manifest["stand_ins"]
    ]


def markdown(runs: Sequence[Run], papers: Mapping[str, Paper]) -> str:
    """The ledger as a page of tables: a row for each claim."""
    lines = ["# Claims ledger", "", METHOD, "", "Written by `jaxbandits report DIR --markdown FILE`.", ""]
    for chapter in chapters(runs, papers):
        raw = counts([row.claim["verdict"] for row in chapter.rows])
        lines += [f"## {chapter.paper.title}", "", f"{chapter.paper.reference}. {raw}; adjusted: "
                  f"{counts([row.adjusted for row in chapter.rows])}.", ""]  # fmt: skip
        lines += [f"* {line}" for line in stand_ins(chapter.runs)]
        for run in chapter.runs:
            commit = run.manifest.get("commit") or "unknown"
            lines += [
                "", f"### {run.name}: {run.manifest['title']}", "",
                f"{run.manifest['preset']} preset, {run.manifest['horizon']:,} rounds, seeds {seeds_of(run)}, commit "
                f"{commit}, manifest {run.digest}.", "",
            ]  # fmt: skip
            rows = [row for row in chapter.rows if row.experiment == run.name]
            if rows:
                lines += ["| claim | source | verdict | adjusted | statistic |", "|---|---|---|---|---|"]
            for row in rows:
                cells = (row.claim["claim"], row.claim["source"], row.claim["verdict"], row.adjusted, row.claim["why"])
                lines.append("| " + " | ".join(map(_cell, cells)) + " |")
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def write_markdown(runs: Sequence[Run], papers: Mapping[str, Paper], path: Path) -> Path:
    """Writes `markdown`.

    Raises:
      InputError: when the path cannot be written.
    """
    write_atomically(path, markdown(runs, papers).encode())
    return path
