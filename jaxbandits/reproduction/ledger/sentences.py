"""The sentences of each paper, as the ledger counts them, with verdicts adjusted for the number of sentences.

A sentence has one row per rival and panel.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from jaxbandits.reproduction.engine.claim import Kind, quote_label
from jaxbandits.reproduction.engine.experiment import Paper
from jaxbandits.reproduction.engine.verdict import Verdict, holm
from jaxbandits.reproduction.ledger.runs import Run, p_of, with_borrowed

Standing = Literal["yes", "in part", "no", "open", "cannot be judged", "cannot fail"]
STANDINGS: tuple[Standing, ...] = ("yes", "in part", "no", "cannot be judged", "open", "cannot fail")
HOW_COUNTED = (
    "Each sentence of a paper is one entry, with one row for each baseline and panel. Its verdict is *yes* if every "
    "row that can fail holds, *no* if a row fails and none holds, *in part* if some rows fail and some hold, and "
    "*open* otherwise. The p-value of a sentence that holds is the largest of its rows' p-values; the p-value of a "
    "sentence with failing rows is the smallest p-value of the failing rows, times the number of rows that were "
    "tested. Holm's procedure at 5 % is applied to these p-values over all sentences of the paper, and separately over "
    "our own observations; a sentence that it does not decide is open. *Cannot be judged*: the paper does not say "
    "enough for a test, for example about a baseline. *Cannot fail*: with the constants used, no run could violate the "
    "sentence, for example because its bound exceeds every possible value."
)


_INSIDE = "\ue000"  # stands for a space within a label while sentences are joined
_COUNTED: Mapping[Kind, tuple[str, str]] = {  # words for rows that hold and fail, by kind
    "statement": ("holds", "fails"),
    "time": ("holds", "fails"),
    "theorem": ("satisfied", "violated"),
    "observation": ("observed", "not observed"),
}


class Row(NamedTuple):
    """Row of a sentence: the verdict on a claim in the headline run, and the verdicts on it in other runs."""

    verdict: Verdict
    others: tuple[tuple[Run, Verdict], ...]


class Sentence(NamedTuple):
    """Sentence of a paper, with its rows and its verdict."""

    id: str  # id with its experiment: "linear/fig1/comparable"
    run: Run  # headline run of the experiment
    rows: tuple[Row, ...]
    standing: Standing  # verdict, adjusted for the number of sentences of the paper
    p: float  # p-value before adjustment; NaN if nothing was tested

    @property
    def kind(self) -> Kind:
        """Kind of the sentence, a key of `KINDS`."""
        return self.rows[0].verdict.claim.kind

    @property
    def says(self) -> str:
        """Text of the sentence, with the names of all its rivals."""
        rivals: dict[str, dict[str, None]] = {}  # rivals of each wording, in which {} stands for the rival
        for claim in (row.verdict.claim for row in self.rows):
            name = quote_label(claim.rival)
            wording = "{}".join(claim.says.rsplit(name, 1)) if name else claim.says
            rivals.setdefault(wording, {})[name] = None
        said = [wording.replace("{}", _enumerate(list(names))) for wording, names in rivals.items()]
        for name in {quote_label(label) for row in self.rows for label in row.verdict.claim.labels}:
            said = [text.replace(name, name.replace(" ", _INSIDE)) for text in said]  # a label is not divided
        return _join(list(dict.fromkeys(said))).replace(_INSIDE, " ")

    @property
    def places(self) -> str:
        """Places of the sentence in the paper, separated by semicolons."""
        return "; ".join(dict.fromkeys(row.verdict.claim.place for row in self.rows if row.verdict.claim.place))

    @property
    def rests_on(self) -> tuple[str, ...]:
        """Stand-ins, reconstructed learners and guessed settings on which a row rests."""
        return tuple(dict.fromkeys(mark for row in self.rows for mark in row.verdict.rests_on))

    @property
    def raw(self) -> Standing:
        """Standing before adjustment, from the decisions on the rows at the 5 % level each."""
        return _standing([row.verdict for row in self.rows])[0]

    @property
    def every_choice(self) -> str:
        """Agreement of the standings under all presets and readings that were run.

        "no" if two choices decide differently, "open" if a choice decides nothing, "yes" if all standings are equal,
        "not varied" if there is no other choice.
        """
        choices: dict[tuple[str, str], list[tuple[Verdict, Verdict]]] = {}
        for row in self.rows:
            for run, verdict in row.others:
                if run.is_another_choice_than(self.run) and run.has_full_horizon:
                    choices.setdefault((run.preset, run.reading), []).append((row.verdict, verdict))
        if not choices:
            return "not varied"  # rows that a choice lacks are not compared
        pairs = (zip(*pair, strict=True) for pair in choices.values())
        found = [(_standing(ours)[0], _standing(its)[0]) for ours, its in pairs]
        if all(ours == its for ours, its in found):
            return "yes"
        decided = [{*pair} - {"open"} for pair in [*found, [its for _, its in found]]]
        return "no" if any(len(standings) > 1 for standings in decided) else "open"

    def count_of_rows(self) -> str:
        """Return a summary of the rows, such as "holds in 2 of 3 rows, fails in 1"."""
        able = [row.verdict for row in self.rows if not row.verdict.claim.cannot_be_judged]
        found = [verdict.decision for verdict in able]
        n, held, failed = len(found), found.count("holds"), found.count("does not hold")
        yes, no = _COUNTED[self.kind]
        parts = [f"{yes} in {held} of {n} row{'s' * (n > 1)}"] if n else []
        parts += [f"{no} in {failed}"] if failed else []
        parts += [f"open in {n - held - failed}"] if n - held - failed else []
        rest = len(self.rows) - n
        parts += [f"cannot be judged in {rest}" + f" row{'s' * (rest > 1)}" * (not n)] if rest else []
        corrected = "open after the correction for multiple testing"
        parts += [corrected] if self.standing == "open" and self.raw != "open" else []
        return ", ".join(parts)


def _join(texts: Sequence[str]) -> str:
    """Return several sentences as one, in which their common words are not repeated.

    "a beats b" and "a beats c" become "a beats b and c"; "a is best" and "b is best" become "a is best; likewise b".
    Sentences that differ in unequal numbers of words are listed in full.
    """
    if len(texts) < 2:
        return "".join(texts)
    rows = [text.split() for text in texts]
    n_first = _count_common(rows)
    colons = [i for i, word in enumerate(rows[0][:n_first], start=1) if word.endswith(":")]
    n_first = colons[-1] if colons else n_first  # a text after a colon is not divided
    n_last = _count_common([row[n_first:][::-1] for row in rows])
    own = [" ".join(row[n_first : len(row) - n_last]) for row in rows]
    before, after = " ".join(rows[0][:n_first]), " ".join(rows[0][len(rows[0]) - n_last :])
    if not (before or after):
        alike = [list(group) for _, group in itertools.groupby(texts, lambda text: text.split()[0])]
        return "; ".join(texts if len(alike) in (1, len(texts)) else map(_join, alike))
    if not all(own):
        return "; ".join(texts)
    if before and any(" and " in part for part in own):
        return "; ".join(texts)
    if before and not after:
        return f"{before} {_enumerate(own)}"
    if before and all(part.endswith(",") for part in own):
        return f"{before} {_enumerate([part[:-1] for part in own])}, {after}"
    if before and len({len(part.split()) for part in own}) > 1:
        return "; ".join(texts)
    return f"{texts[0]}; likewise {_enumerate([part.rstrip(',') for part in own[1:]])}"


def _count_common(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of equal words at the start of all rows."""
    return sum(1 for _ in itertools.takewhile(lambda words: len(set(words)) == 1, zip(*rows, strict=False)))


def _enumerate(names: Sequence[str]) -> str:
    """Return names as "a, b and c"."""
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), *names[-1:]])


class Chapter(NamedTuple):
    """Paper with the headline runs of its experiments, all its runs, and its sentences."""

    paper: Paper
    heads: tuple[Run, ...]
    runs: tuple[Run, ...]
    sentences: tuple[Sentence, ...]

    def of_kind(self, *kinds: Kind) -> tuple[Sentence, ...]:
        """Return the sentences of the given kinds."""
        return tuple(sentence for sentence in self.sentences if sentence.kind in kinds)


def chapters(runs: Sequence[Run], papers: Mapping[str, Paper]) -> list[Chapter]:
    """Group runs by paper, and return one chapter per paper that has runs.

    Chapters are in the order of `papers`. Families without a paper, such as those of a user, come last.

    Args:
      runs: runs, as returned by `runs.read`.
      papers: mapping from a family to its paper.
    """
    families = dict.fromkeys(run.family for run in runs)
    strangers = (name for name in families if name not in papers)
    own = {name: Paper(name, name, "Experiments without a paper", "", "", "", ()) for name in strangers}
    return [
        _chapter(paper, [run for run in runs if run.family == family])
        for family, paper in {**papers, **own}.items()
        if family in families
    ]


def _chapter(paper: Paper, runs: Sequence[Run]) -> Chapter:
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(run.experiment, []).append(run)
    found: list[Sentence] = []
    for its in by_name.values():
        found += _sentences(its)
    adjusted = _adjust([s for s in found if s.kind != "observation"])
    adjusted |= _adjust([s for s in found if s.kind == "observation"])
    decided = tuple(sentence._replace(standing=adjusted[sentence.id]) for sentence in found)
    return Chapter(paper, tuple(its[0] for its in by_name.values()), tuple(runs), decided)


def _sentences(runs: Sequence[Run]) -> list[Sentence]:
    """Return the sentences of an experiment, without adjustment for the number of sentences of the paper."""
    beside = [(run, {verdict.claim.id: verdict for verdict in run.verdicts}) for run in runs[1:]]
    rows: dict[str, list[Row]] = {}
    for id, (lender, verdict) in with_borrowed(runs).items():
        judged = ((run, its[id]) for run, its in beside if id in its and run is not lender)
        others = tuple((run, other) for run, other in judged if other.applies and not other.missing)
        rows.setdefault(verdict.claim.sentence, []).append(Row(verdict, others))
    return [
        Sentence(f"{runs[0].experiment}/{name}", runs[0], tuple(its), *_standing([row.verdict for row in its]))
        for name, its in rows.items()
    ]


def _standing(verdicts: Sequence[Verdict]) -> tuple[Standing, float]:
    """Return the standing of a sentence and its p-value, from the verdicts on its rows.

    The p-value is NaN if the standing is deterministic or nothing was tested.
    """
    able = [verdict for verdict in verdicts if not verdict.claim.cannot_fail]
    judged = [verdict for verdict in able if not verdict.claim.cannot_be_judged]
    if not able:
        return "cannot fail", math.nan
    failing = [verdict for verdict in judged if verdict.decision == "does not hold"]
    tested = [p for p in map(p_of, judged) if not math.isnan(p)]
    if failing:
        fixed = any(verdict.deterministic for verdict in failing)
        p = math.nan if fixed else min(1.0, len(tested) * min(map(p_of, failing)))
        return ("in part" if any(verdict.decision == "holds" for verdict in judged) else "no"), p
    if len(judged) < len(able):
        return "cannot be judged", math.nan
    if all(verdict.decision == "holds" for verdict in judged):
        return "yes", max(tested, default=math.nan)
    return "open", math.nan


def _adjust(sentences: Sequence[Sentence]) -> dict[str, Standing]:
    """Return the standings after Holm's procedure, by id of the sentence; deterministic standings are not adjusted."""
    decides = holm([sentence.p for sentence in sentences])
    return {
        sentence.id: sentence.standing if decided or math.isnan(sentence.p) else "open"
        for sentence, decided in zip(sentences, decides, strict=True)
    }
