"""The ledger of finished runs: every claim with its verdicts, from what `reproduce` left in a directory.

Nothing is computed: manifests hold the verdicts and the p values, of which the adjusted verdicts follow.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxbandits.base.errors import InputError
from jaxbandits.base.files import write_atomically
from jaxbandits.reproduction.engine.claim import ALPHA, KINDS, METHOD, WORDS, Kind, holm, kind_of, word
from jaxbandits.reproduction.engine.experiment import Paper
from jaxbandits.reproduction.ledger.manifest import MANIFEST, is_of_a_sweep, load
from jaxbandits.reproduction.ledger.manifest import read as read_manifest
from jaxbandits.reproduction.ledger.markdown import cell, line, plain

_LEAST_P = 1e-9  # below this bootstraps and tails are not what limits trust
VERDICTS: tuple[str, ...] = ("holds", "does not hold", "not decided")
CANNOT_FAIL = "cannot fail"
ADJUSTED = "not decided after adjustment"
STANDINGS: tuple[str, ...] = ("yes", "in part", "no", "not decided", CANNOT_FAIL)
GLANCE = ("paper", "what", "sentences", *STANDINGS)
SHARED = "some of them the same: its verdicts may have led to the number of seeds"
HOW_COUNTED = (
    "Sentences are counted, not rows: a sentence that is tested in several panels is one. It stands under 'in part' "
    "where it holds in some panels and fails in others, and under 'cannot fail' where no run could violate it at the "
    "constants used (the row says why); such a sentence is not among those that hold. A sentence that compares a "
    "learner with several others counts once for each of them, and a sentence of two figures in each. Each row is of "
    "one of four kinds, with words of its own: "
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
    def asked(self) -> Mapping[str, Any]:
        """The request of the run."""
        return self.manifest["request"] or {}

    @property
    def precision(self) -> str:
        """`float32` or `float64`; "" where it is not known. Requests have it as text, or first in a list."""
        precision = self.asked.get("precision") or ""
        return precision if isinstance(precision, str) else precision[0]

    @property
    def usual(self) -> bool:
        """True for a run with the headline preset, base seed 0, and everything that was declared, in its precision.

        Of an experiment with data there may be two: on the real data and on a stand-in.
        """
        return self._is_plain(self.manifest.get("headline") or self._default)

    @property
    def is_default(self) -> bool:
        """True for such a run with the default preset, which is another one where an experiment has a headline."""
        return self._is_plain(self._default)

    @property
    def _default(self) -> str:
        return next(iter(self.manifest["presets"]))

    def _is_plain(self, preset: str) -> bool:
        declared = "float64" if self.manifest["declared"].get("float64") else "float32"
        return (
            self.manifest["preset"] == preset
            and self.precision in ("", declared)
            and not any(self.asked.get(name) for name in ("seed", "without", "reading"))
        )

    @property
    def whole(self) -> bool:
        """True for a run that played as many rounds as declared."""
        return self.manifest["declared"].get("horizon", self.manifest["horizon"]) == self.manifest["horizon"]

    @property
    def committed(self) -> bool:
        """True where the claims were committed before the run: the manifest has a commit, and no changed file."""
        commit = self.manifest.get("commit")
        return bool(commit) and not commit.endswith("+")

    def beside(self, main: "Run") -> "Beside":
        """Describe the difference from the run whose verdicts are shown."""
        kinds = {}
        if self.manifest["preset"] != main.manifest["preset"]:
            kinds[f"preset {self.manifest['preset']}"] = ""
        if self.asked.get("reading") != main.asked.get("reading"):
            kinds[f"reading {self.asked.get('reading') or 'as usual'}"] = self.manifest.get("reading") or ""
        if self.precision != main.precision:
            kinds[self.precision or "precision not known"] = ""
        if seeds_of(self) != seeds_of(main):
            again = not kinds and overlap(_with_seeds(self), _with_seeds(main))
            kinds["other seeds"] = f"seeds {seeds_of(self)}{f', {SHARED}' if again else ''}"
        if self.manifest["horizon"] != main.manifest["horizon"]:
            kinds["other horizon"] = f"{self.manifest['horizon']:,} rounds"
        if self.asked.get("without") != main.asked.get("without"):
            kinds["fewer learners"] = f"without {', '.join(self.asked.get('without') or ['none'])}"
        standing, other = (tuple(run.manifest["stand_ins"].values()) for run in (self, main))
        if standing != other:
            kinds["stand-in" if standing else "real data"] = ", ".join(
                f"for {name}" for name in dict.fromkeys(standing)
            )
        elif self.asked.get("data") != main.asked.get("data"):
            kinds["other data"] = ""
        details = [detail for detail in kinds.values() if detail]
        return Beside(" and ".join(kinds) or "once more", ", ".join([*details, f"manifest {self.digest}"]))


class Beside(NamedTuple):
    """A run that differs from the one whose verdicts are shown."""

    kind: str  # heads the column of its verdicts
    detail: str


class LedgerRow(NamedTuple):
    """One claim of one run."""

    experiment: str
    claim: Mapping[str, Any]  # as the manifest has it
    adjusted: str  # verdict
    manifest: str  # digest of the run's
    others: Mapping[str, str]  # kind of run (`Beside.kind`) to its verdict

    @property
    def kind(self) -> Kind:
        """Kind of the claim; by its place where the manifest does not say it."""
        return self.claim.get("kind") or kind_of(self.claim["source"], "repeats" in self.claim["why"])

    @property
    def sentence(self) -> str:
        """Text that the panels of one sentence share."""
        return self.claim.get("sentence") or self.claim["claim"]

    @property
    def where(self) -> str:
        """Rest of the text: the panel, after the comparison where several rivals share the sentence; "" for nothing."""
        rest = self.claim["claim"][len(self.sentence) :].strip(" :")
        return rest[1:-1] if rest.startswith("(") and rest.endswith(")") else rest

    def word(self, verdict: str) -> str:
        """Return the word for a verdict about a claim of this kind."""
        return CANNOT_FAIL if self.claim.get("cannot fail") and verdict == "holds" else word(self.kind, verdict)


class Sentence(NamedTuple):
    """Rows of one sentence: its panels."""

    rows: tuple[LedgerRow, ...]

    @property
    def standing(self) -> str:
        """One of `STANDINGS`: it may hold in all panels, in some of them, in none, or be undecided in some."""
        found = [row.claim["verdict"] for row in self.rows if not row.claim.get("cannot fail")]
        holds, fails = ("holds" in found), ("does not hold" in found)
        if not found:
            return CANNOT_FAIL
        if fails:
            return "in part" if holds else "no"
        return "not decided" if "not decided" in found else "yes"

    @property
    def places(self) -> str:
        """Places in the paper, data and marks of all rows."""
        parts = (part for row in self.rows for part in row.claim["source"].split("; "))
        return "; ".join(dict.fromkeys(parts))

    def counted(self, verdicts: Sequence[str]) -> str:
        """Describe in how many of its panels the sentence holds, as "7 of 9 panels, fails in 1, undecided in 1"."""
        n, held, failed = len(verdicts), verdicts.count("holds"), verdicts.count("does not hold")
        others = {"fails": failed, "undecided": n - held - failed}
        rest = "".join(f", {how} in {count}" for how, count in others.items() if count)
        return f"{held} of {n} panel{'s' * (n > 1)}{rest}"


def sentences(rows: Iterable[LedgerRow]) -> list[Sentence]:
    """Return the rows of each experiment by kind and sentence."""
    found: dict[tuple[str, ...], list[LedgerRow]] = {}
    for row in rows:
        found.setdefault((row.experiment, row.kind, row.sentence), []).append(row)
    return [Sentence(tuple(its)) for its in found.values()]


class Chapter(NamedTuple):
    """A paper with its runs and its claims."""

    paper: Paper
    runs: tuple[Run, ...]  # one for each experiment
    rows: tuple[LedgerRow, ...]
    beside: Mapping[str, tuple[Beside, ...]]  # experiment to its further runs


def read(directory: Path) -> list[Run]:
    """Return the finished runs below a directory, by name of experiment.

    Raises:
      InputError: when there is none, or for a manifest that cannot be read.
    """
    found = []
    for path in sorted(directory.rglob(MANIFEST)):
        if is_of_a_sweep(load(path)):
            continue
        manifest = read_manifest(path)
        found.append(Run(path.parent, manifest, hashlib.sha256(path.read_bytes()).hexdigest()[:12]))
    if not found:
        raise InputError(f"{directory} holds no finished run: `jaxbandits reproduce all --out {directory}` makes them")
    return found


def chapters(runs: Sequence[Run], papers: Mapping[str, Paper]) -> list[Chapter]:
    """Return the runs by paper. The usual run of an experiment (else the first) comes with its claims.

    Families without a paper, a user's own, come last.

    Args:
      runs: as `read` finds them.
      papers: family to paper.
    """
    by_paper: dict[str, list[Run]] = {}
    for run in runs:
        by_paper.setdefault(_family({"experiment": run.name}), []).append(run)
    own = {name: Paper(name, name, "Experiments of no paper here", "", "", "", ()) for name in by_paper.keys() - papers}
    every = {**papers, **dict(sorted(own.items()))}
    return [_chapter(every[family], by_paper[family]) for family in every if family in by_paper]


def _family(row: Mapping[str, Any]) -> str:
    return row["experiment"].partition("/")[0]


def _chapter(paper: Paper, runs: Sequence[Run]) -> Chapter:
    by_name: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: (run.name, not run.usual, not run.whole, bool(run.manifest["stand_ins"]))):
        by_name.setdefault(run.name, []).append(run)
    claims = [pair for runs_ in by_name.values() for pair in _claims_of(runs_)]
    adjusted = adjusted_verdicts([claim for _, claim in claims])
    beside = {name: [(other.beside(runs_[0]), other) for other in runs_[1:]] for name, runs_ in by_name.items()}
    rows = []
    for (run, claim), verdict in zip(claims, adjusted, strict=True):
        others = {
            what.kind: kept["verdict"]
            for what, other in beside[run.name]
            for kept in other.manifest["claims"]
            if kept["claim"] == claim["claim"] and kept["applies"] and not kept["missing"]
        }
        rows.append(LedgerRow(run.name, claim, verdict, run.digest, others))
    further = {name: tuple(what for what, _ in pairs) for name, pairs in beside.items()}
    return Chapter(paper, tuple(runs_[0] for runs_ in by_name.values()), tuple(rows), further)


def _claims_of(runs: Sequence[Run]) -> list[tuple[Run, Mapping[str, Any]]]:
    """Return the claims of the first run; of those that it did not measure, as times, those of the first that did.

    Args:
      runs: of one experiment.
    """
    found = {claim["claim"]: (runs[0], claim) for claim in runs[0].manifest["claims"]}
    for run in runs[1:]:
        for claim in run.manifest["claims"]:
            at = found.get(claim["claim"])
            if "why" in claim and not claim["missing"] and (at is None or at[1]["missing"]):
                found[claim["claim"]] = (run, claim)
    return list(found.values())


def how(parts: Sequence[Chapter]) -> list[str]:
    """Describe how verdicts were reached, a paragraph each, and which were reached otherwise or after the run."""
    runs = [run for chapter in parts for run in chapter.runs]
    other = [run.name for run in runs if run.manifest.get("method") != METHOD]
    lines = [METHOD]
    if other:
        which = "all of them" if len(other) == len(runs) else ", ".join(other)
        lines.append(
            f"Judged by the statistics of their own commits, which may be others than these: {which}. "
            "`jaxbandits report --rejudge` judges them by these."
        )
    anew = sorted({run.manifest["judged anew"] for run in runs if "judged anew" in run.manifest})
    if anew:
        rows = [row for chapter in parts for row in chapter.rows]
        before = [verdict for chapter in parts for verdict in adjusted_verdicts([_at_run(row) for row in chapter.rows])]
        n = [
            sum("at run" in row.claim for row in rows),
            sum(row.claim["verdict"] != _at_run(row)["verdict"] for row in rows),
            sum(row.adjusted != verdict for row, verdict in zip(rows, before, strict=True)),
        ]
        lines.append(
            f"Judged anew, after the runs, from the results that they stored: statistics of commit {', '.join(anew)}, "
            "which also names the places in the papers; thresholds as in the manifests (which is checked), times as "
            "they were judged by the run. Of "
            f"{len(rows)} claims {n[0]} have other numbers than in the manifests, {n[1]} another verdict, {n[2]} "
            "another adjusted verdict; each of them says what the run said."
        )
    return lines


def _at_run(row: LedgerRow) -> Mapping[str, Any]:
    """Return the claim as the run judged it."""
    return {**row.claim, **row.claim.get("at run", {})}


def adjusted_verdicts(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the verdicts of the claims of a paper that Holm's procedure decides too."""
    ps = [math.nan if claim["fixed"] or claim["p"] is None else claim["p"] for claim in claims]
    return [
        claim["verdict"] if claim["fixed"] or decided else "not decided"
        for claim, decided in zip(claims, holm(ps, ALPHA), strict=True)
    ]


def seeds_of(run: Run) -> str:
    """Return the global indices of the seeds of a run, as text."""
    return seeds_asked(_with_seeds(run))


def seeds_asked(asked: Mapping[str, Any]) -> str:
    """Return the global indices of the seeds of a request, as text."""
    first = asked.get("first seed", 0)
    return f"{first} to {first + asked['seeds'] - 1} of base seed {asked.get('seed', 0)}"


def overlap(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two requests share some seeds, and not all: a verdict on the ones may have led to the others."""
    first, other_first = (asked.get("first seed", 0) for asked in (one, other))
    end, other_end = first + one["seeds"], other_first + other["seeds"]
    share_some = one.get("seed", 0) == other.get("seed", 0) and first < other_end and other_first < end
    return share_some and (first, end) != (other_first, other_end)


def judged_before(run: Run) -> list[str]:
    """Return a sentence about verdicts that the run replaced, if there were any on some of its seeds."""
    before = run.manifest.get("judged before")
    return [f"It replaced a run on seeds {before}, {SHARED}."] if before else []


def _with_seeds(run: Run) -> dict[str, Any]:
    """Return the request of a run with the number of its seeds, which may be the declared one."""
    return {**run.asked, "seeds": _seeds(run)}


def _seeds(run: Run) -> int:
    seeds = run.asked.get("seeds")
    return run.manifest["declared"]["seeds"] if seeds is None else seeds


def provenance(runs: Sequence[Run]) -> str:
    """Return commits and seeds of all runs, and from manifests whether thresholds were committed first."""
    last: dict[tuple[int, int], int] = {}  # (base seed, first seed) to the last
    for run in runs:
        start = run.asked.get("seed", 0), run.asked.get("first seed", 0)
        last[start] = max(last.get(start, 0), start[1] + _seeds(run) - 1)
    seeds = "; ".join(f"base seed {base}, seeds {first} to {end}" for (base, first), end in sorted(last.items()))
    commits = sorted({run.manifest.get("commit") or "unknown" for run in runs})
    named = f"Commit{'s' * (len(commits) > 1)} {', '.join(commits)}; {seeds}."
    shown = sum(run.committed for run in runs)
    what = "Thresholds" if any("judged anew" in run.manifest for run in runs) else "Statistics and thresholds"
    if shown == len(runs):
        return named + (
            f" {what} were committed before the runs: every manifest names the commit that was read when the run "
            "began, with no file of the package changed since."
        )
    return named + (
        f" That {what.lower()} were committed before is not shown: {len(runs) - shown} of {len(runs)} "
        "manifests name no commit, or files that were changed since (+)."
    )


class Line(NamedTuple):
    """An experiment in the summary."""

    run: Run
    raw: str
    adjusted: str


def summary(chapter: Chapter) -> list[Line]:
    """Return the row of an experiment: how many claims hold, do not, are not decided; alone, and adjusted."""
    lines = []
    for run in chapter.runs:
        rows = [row for row in chapter.rows if row.experiment == run.name]
        lines.append(Line(run, _three([row.claim["verdict"] for row in rows]), _three([row.adjusted for row in rows])))
    return lines


def _three(verdicts: Sequence[str]) -> str:
    return " / ".join(str(sum(verdict == wanted for verdict in verdicts)) for wanted in VERDICTS)


def minutes(run: Run) -> str:
    """Describe the duration, figures and compilation included; "" where the manifest does not say."""
    wall = run.manifest.get("wall_s")
    return "" if wall is None else f"{wall / 60.0:.1f}"


def stand_ins(runs: Sequence[Run]) -> list[str]:
    """Return one line for each experiment on data that are not the paper's."""
    return [
        f"{run.name}: a stand-in for {', '.join(dict.fromkeys(run.manifest['stand_ins'].values()))}"
        for run in runs
        if run.manifest["stand_ins"]
    ]


def real_data(runs: Sequence[Run]) -> list[str]:
    """Return one line for each experiment on real data."""
    found = ((run.name, run.manifest.get("real_data")) for run in runs)
    return [f"{name}: {', '.join(data)}" for name, data in found if data]


SUMMARY = ("experiment", "rows: yes / no / not decided", "adjusted", "seeds", "rounds", "commit", "minutes", "manifest")


def summary_cells(line: Line) -> tuple[str, ...]:
    """Return the cells of the columns `SUMMARY`."""
    made = line.run.manifest
    return (
        line.run.name, line.raw, line.adjusted, seeds_of(line.run), f"{made['horizon']:,}",
        made.get("commit") or "unknown", minutes(line.run), line.run.digest,
    )  # fmt: skip


def kinds(rows: Sequence[LedgerRow]) -> list[str]:
    """Return the kinds of further runs that some row has."""
    return list(dict.fromkeys(kind for row in rows for kind in row.others))


def words_of_kinds() -> str:
    """Describe the kinds of claims and the words for their verdicts."""
    kinds_ = (f"{what} ({WORDS[kind]['holds']}; {WORDS[kind]['does not hold']})" for kind, what in KINDS.items())
    return HOW_COUNTED + "; ".join(kinds_) + "."


def glance(chapter: Chapter) -> list[tuple[str, ...]]:
    """Return the cells of the columns `GLANCE`: a row for each kind of claim of a paper."""
    found = sentences(chapter.rows)
    lines = []
    for kind, what in KINDS.items():
        standings = [sentence.standing for sentence in found if sentence.rows[0].kind == kind]
        if standings:
            n = (str(standings.count(standing)) for standing in STANDINGS)
            lines.append((chapter.paper.title, what, str(len(standings)), *n))
    return lines


def statements(parts: Sequence[Chapter]) -> str:
    """Return counts of the papers' statements about their experiments, such as "3 hold, 1 in part, 2 do not, ..."."""
    found = [sentence for chapter in parts for sentence in sentences(chapter.rows)]
    standings = [sentence.standing for sentence in found if sentence.rows[0].kind == "statement"]
    names = {"yes": "hold", "in part": "hold in part", "no": "do not", "not decided": "not decided"}
    return ", ".join(f"{standings.count(standing)} {name}" for standing, name in names.items())


def refuted(chapter: Chapter, kind: Kind = "statement") -> list[Sentence]:
    """Return the statements of a paper, or its theorems, that do not hold, in all or in some of their panels."""
    found = (sentence for sentence in sentences(chapter.rows) if sentence.rows[0].kind == kind)
    return [sentence for sentence in found if sentence.standing in ("no", "in part")]


def explained(sentence: Sentence, chapter: Chapter) -> str:
    """Describe a statement that does not hold: what was run, what came out under every preset, what would change it."""
    rows = sentence.rows
    run = run_of(chapter, rows[0].experiment)
    made = run.manifest
    meaning = made["presets"].get(made["preset"], "") if isinstance(made["presets"], Mapping) else ""
    outcome = sentence.counted([row.claim["verdict"] for row in rows])
    numbers = "; ".join(_where_and_why(row) for row in rows if row.claim["verdict"] != "holds")
    others = dict.fromkeys((other.kind for other in chapter.beside[run.name]), ()) | _elsewhere(rows)
    beside = ", ".join(f"{kind}: {sentence.counted(v) if v else 'not judged'}" for kind, v in others.items())
    remarks = dict.fromkeys(row.claim["remark"] for row in rows if row.claim.get("remark"))
    return (
        f"{rows[0].sentence} ({sentence.places}). Run: {run.name}, preset {made['preset']}"
        f"{f' ({meaning})' if meaning else ''}, {made['horizon']:,} rounds, {_seeds(run):,} seeds. It holds in "
        f"{outcome}; where it does not hold, {numbers}. Beside it, {beside or 'no other preset or reading was run'}. "
        f"What would change it: {'; '.join([*remarks, *_changes(rows, others)]) or 'nothing that was run'}."
    )


def _where_and_why(row: LedgerRow) -> str:
    """Return the panel and the numbers of a row that does not hold; what is open, by itself or adjusted, says so."""
    says = {
        "not decided": " (not decided)",
        "does not hold": "" if row.adjusted == "does not hold" else f" ({ADJUSTED})",
    }
    return f"{row.where or 'result'}{says[row.claim['verdict']]}: {row.claim['why']}"


def _changes(rows: Sequence[LedgerRow], others: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the panels where a sentence holds, and the further runs in which it does, or at least fails nowhere."""
    panels = [row.where for row in rows if row.claim["verdict"] == "holds"]
    judged = {kind: set(verdicts) for kind, verdicts in others.items() if verdicts}
    holds = [kind for kind, found in judged.items() if found == {"holds"}]
    spared = [kind for kind, found in judged.items() if "does not hold" not in found and kind not in holds]
    said = {"it holds in": panels, "it holds with": holds, "it is not refuted with": spared}
    return [f"{how} {', '.join(names)}" for how, names in said.items() if names]


def _is_refuted(row: LedgerRow) -> bool:
    return row.claim["verdict"] == "does not hold"


def _elsewhere(rows: Sequence[LedgerRow]) -> dict[str, list[str]]:
    """Return kind of further run to its verdicts on the same rows."""
    return {kind: [row.others[kind] for row in rows if kind in row.others] for kind in kinds(rows)}


def markdown(runs: Sequence[Run], papers: Mapping[str, Paper]) -> str:
    """Return the ledger as tables: a summary by paper and kind, one by experiment, then a row for each claim."""
    parts = chapters(runs, papers)
    paragraphs = (*how(parts), words_of_kinds(), plain(provenance(runs)))
    lines = ["# Claims ledger", *(text for paragraph in paragraphs for text in ("", paragraph)), ""]
    every = [run for chapter in parts for run in chapter.runs]
    if real := real_data(every):
        lines += ["Real data: " + plain("; ".join(real)) + ".", ""]
    if standing := stand_ins(every):
        lines += ["Data that are not the papers' own: " + plain("; ".join(standing)) + ".", ""]
    lines += [
        "Written by `jaxbandits report --kept JSON --markdown FILE`, or from runs by `jaxbandits report DIR`.",
        "",
    ]
    lines += ["## Summary", "", f"Statements of the papers about their experiments: {statements(parts)}.", ""]
    lines += [line(GLANCE), "|" + "---|" * len(GLANCE)]
    lines += [line(map(cell, cells)) for chapter in parts for cells in glance(chapter)]
    lines += ["", "Statements of the papers about their experiments that do not hold, or in part only:", ""]
    for chapter in parts:
        lines += [_named(sentence, chapter) for sentence in refuted(chapter)]
    lines += ["", "Theorems and certificates, checked by running, that are violated ([errata](errata.md)):", ""]
    for chapter in parts:
        lines += [_named(sentence, chapter) for sentence in refuted(chapter, "theorem")]
    lines += ["", "## Experiments", "", line(SUMMARY), "|" + "---|" * len(SUMMARY)]
    for chapter in parts:
        for summed in summary(chapter):
            name, *cells = summary_cells(summed)
            lines.append(line((f"[{cell(name)}](#{_anchor(summed.run)})", *map(cell, cells))))
    lines.append("")
    for chapter in parts:
        lines += _markdown_of(chapter)
    return "\n".join(lines)


def _named(sentence: Sentence, chapter: Chapter) -> str:
    """Return a line of the summary: a statement that does not hold, where, and by how much."""
    holds = sentence.counted([row.claim["verdict"] for row in sentence.rows])
    worst = next(row for row in sentence.rows if _is_refuted(row))
    family = _family({"experiment": worst.experiment})
    adjusted = all(row.adjusted != "does not hold" for row in sentence.rows if _is_refuted(row))
    why = worst.claim["why"] + (f" ({ADJUSTED})" if adjusted else "")
    text = f"{family}: {sentence.rows[0].sentence} ({sentence.places}): holds in {holds}; {why}"
    return f"* {plain(text)} ([{worst.experiment}](#{_anchor(run_of(chapter, worst.experiment))}))"


def run_of(chapter: Chapter, experiment: str) -> Run:
    """Return the run of an experiment whose verdicts head the chapter."""
    return next(run for run in chapter.runs if run.name == experiment)


def _markdown_of(chapter: Chapter) -> list[str]:
    """Return the lines of a paper."""
    lines = [f"## {chapter.paper.title}", "", f"{chapter.paper.reference}.", ""]
    lines += [f"* {plain(text)}" for text in stand_ins(chapter.runs)]
    lines += [f"* Real data, {plain(text)}" for text in real_data(chapter.runs)]
    if failing := refuted(chapter):
        lines += ["", f"### Statements of {plain(chapter.paper.reference)} that do not hold", ""]
        for sentence in failing:
            lines += [plain(explained(sentence, chapter)), ""]
    for run in chapter.runs:
        lines += ["", f"### {plain(_heading(run))}", "", plain(_settings_of(run)), ""]
        lines += [plain(f"* {note}") for note in (*(run.manifest.get("notes") or ()), *judged_before(run))]
        lines += [plain(f"* Beside it, {other.kind}: {other.detail}.") for other in chapter.beside[run.name]]
        rows = [row for row in chapter.rows if row.experiment == run.name]
        if rows:
            header = ("claim", "source", "verdict", "adjusted", "statistic", *kinds(rows), "manifest")
            lines += ["", line(header), "|" + "---|" * len(header)]
        for row in rows:
            cells = (row.claim["claim"], row.claim["source"], row.word(row.claim["verdict"]), row.word(row.adjusted))
            others = (row.word(row.others[kind]) if kind in row.others else "" for kind in kinds(rows))
            lines.append(line(map(cell, (*cells, statistic_of(row), *others, row.manifest))))
    return [*lines, "", "Errata, what was easy, difficult and guessed: [errata.md](errata.md).", ""]


def _settings_of(run: Run) -> str:
    made, took = run.manifest, minutes(run)
    return (
        f"{made['preset']} preset, {made['horizon']:,} rounds, {run.precision or 'any precision'}, "
        f"seeds {seeds_of(run)}, commit {made.get('commit') or 'unknown'}, manifest {run.digest}"
        f"{f', {took} minutes' if took else ''}."
    )


def statistic_of(row: LedgerRow) -> str:
    """Return the numbers behind a verdict, and how many seeds or repeats they are from."""
    why, n, p = (row.claim[name] for name in ("why", "seeds", "p"))
    details = [f"n = {n}", *([] if p is None else [f"p = {p:.3g}" if p > _LEAST_P else f"p <= {_LEAST_P:g}"])]
    text = "; ".join([why, ", ".join(details)]) if " in [" in why else why
    text += f"; cannot fail: {reason}" if (reason := row.claim.get("cannot fail")) else ""
    before = row.claim.get("at run")
    return text if before is None else f"{text}; at the run: {_at_run_in_words(before)}"


def _at_run_in_words(before: Mapping[str, Any]) -> str:
    low, high = ("unbounded" if end is None else f"{end:.4g}" for end in before["interval"])
    return f"{before['verdict']}, [{low}, {high}]" + ("" if before["p"] is None else f", p = {before['p']:.3g}")


def _heading(run: Run) -> str:
    return f"{run.name}: {run.manifest['title']}"


def _anchor(run: Run) -> str:
    """Return the anchor of a heading in rendered Markdown."""
    kept = (c for c in _heading(run).lower() if c.isalnum() or c in " -_")
    return "".join(kept).replace(" ", "-")


def write_markdown(runs: Sequence[Run], papers: Mapping[str, Paper], path: Path) -> Path:
    """Write `markdown` to a file.

    Raises:
      InputError: when the path cannot be written.
    """
    write_atomically(path, markdown(runs, papers).encode())
    return path
