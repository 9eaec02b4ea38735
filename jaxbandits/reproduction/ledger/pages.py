"""Pages of the ledger in Markdown: an overview with counts, and a page per paper.

`ledger.html` combines them in one HTML file.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from jaxbandits.base.digests import digest
from jaxbandits.reproduction.engine.claim import KINDS, slug
from jaxbandits.reproduction.engine.experiment import Erratum
from jaxbandits.reproduction.engine.verdict import METHOD, Verdict
from jaxbandits.reproduction.ledger.markdown import cell, line, plain
from jaxbandits.reproduction.ledger.runs import About, Run
from jaxbandits.reproduction.ledger.sentences import HOW_COUNTED, STANDINGS, Chapter, Row, Sentence

Picture = Callable[[Run], str]  # function from the run whose verdicts count to its figure in Markdown or HTML, or ""

_COUNTED = STANDINGS[:-1]  # standings of sentences that can fail
_COLUMNS = ("paper", "sentences on experiments, except on running times", *_COUNTED, "theorems, checked by running")
_READING = (
    "Each sentence in which the paper states a result is tested in one or more rows of the tables below, one for each "
    "baseline and panel. A statement of the paper holds or does not hold, a theorem is satisfied or violated, and an "
    "observation of our own is observed or not. A *panel* is one set of axes of a figure, with one setting of the "
    "problem; a section lists its panels if the rows refer to them by name. *Cannot fail* marks a sentence that no "
    "run with these constants could violate. A *preset* is a choice of all constants, a *reading* an interpretation "
    "of an unclear passage; *other choices* says whether all other presets and readings that were run give the same "
    "verdict."
)
_NUMBERS = (
    "A row gives the estimate of its statistic, the 95 % interval, the claimed region, the number n of seeds (for "
    "times, of repeats) and the p-value. If it compares the means of two learners, it also gives the median of the "
    "differences, and as *share below 0* the share of seeds with a negative difference. Slopes against t and log t are "
    "fitted over the last decade of rounds."
)
_SAME = {  # whether all choices of constants that were run agree
    "yes": "other choices: the same verdict",
    "no": "other choices: not all give the same verdict",
    "open": "other choices: none decides differently, but this run or one of them is open",
    "not varied": "other choices: none run",
}
_ERRATA = ("place", "printed", "what is wrong", "what is run", "shown by")
_OPEN = ("place", "printed", "what is open", "what is run", "shown by")
_FEW_PANELS = 8  # largest number of panels that are listed although no row names them
_LEAST_P = 1e-9  # smaller p-values are not meaningful


def overview(
    chapters: Sequence[Chapter], page: Callable[[str], str] = "#{}".format, not_run: Sequence[str] = ()
) -> str:
    """Return the overview page: counts for each paper, failed and open sentences, and an explanation of the pages.

    Args:
      chapters: papers with their runs and sentences.
      page: function from a family to the address of its page.
      not_run: names of experiments without a run.
    """
    every = [sentence for chapter in chapters for sentence in chapter.sentences]
    statements = [sentence for sentence in every if sentence.kind == "statement"]
    blocks = [
        "# Do the figures reproduce?",
        "The experiments of the papers were rerun, and the papers' sentences about them were tested statistically on "
        "the results.",
        _table(_COLUMNS, (_counts(chapter, page) for chapter in chapters)),
        _rests(statements),
        "**Sentences that do not hold, or hold only in part**",
        _bullets([_short(s) for s in statements if s.standing in ("no", "in part")]) or "Nothing.",
        "**Open sentences**",
        _bullets([_short(s) for s in statements if s.standing == "open"]) or "Nothing.",
        f"**Not run**: {plain(', '.join(not_run))}." if not_run else "",
        "**How to read a verdict**",
        HOW_COUNTED,
        "The pages of the papers also say whether a verdict is the same under every other preset (choice of all "
        "constants) and reading (interpretation of an unclear passage) that was run.",
        "## Theorems that are violated as printed",
        _bullets([_short(s) for s in every if s.kind == "theorem" and s.standing in ("no", "in part")]) or "None.",
        "## Statements on times, and our own observations",
        "The papers timed other code. Their statements on times are therefore tested for this implementation and "
        "counted separately. Our own observations, which no paper states, are counted separately too.",
        _table(("paper", "what", "sentences", *STANDINGS), (row for c in chapters for row in _further(c, page))),
        "## Method",
        METHOD,
        _provenance([run for chapter in chapters for run in chapter.heads]),
    ]
    return _text(blocks)


def paper(chapter: Chapter, picture: Picture = lambda run: "") -> str:
    """Return the page of a paper: a section for each experiment, the errata, and our assumptions.

    Args:
      chapter: paper with its runs and sentences.
      picture: function from the run whose verdicts count to its figure in Markdown or HTML; "" if it has no figure.
    """
    about = chapter.paper
    blocks = [
        f"# {plain(about.title)}",
        f"{plain(about.reference)}. `jaxbandits reproduce {about.family}/all` runs the experiments on this page.",
        _READING,
        _table(_COLUMNS, [_counts(chapter, None)]),
    ]
    for run in sorted(chapter.heads, key=lambda run: not _statements(chapter, run)):  # the paper's figures first
        blocks += _experiment(chapter, run, picture)
    wrong, left = ([e for e in about.errata if e.left_open is is_open] for is_open in (False, True))
    for title, header, errata in (("Wrong as printed", _ERRATA, wrong), ("Left open", _OPEN, left)):
        blocks += [f"## {title}", _errata(header, errata)] if errata else []
    notes = {"Stated clearly": about.easy, "Hard to reproduce": about.difficult, "Our assumptions": about.guessed}
    blocks += [f"**{what}.** {plain(text)}" for what, text in notes.items() if text]
    blocks += ["## Method", f"{_NUMBERS} {METHOD}", HOW_COUNTED, _provenance(chapter.heads)]
    return _text(blocks)


def _counts(chapter: Chapter, page: Callable[[str], str] | None) -> tuple[str, ...]:
    """Return the row of a paper in the overview: counts of its statements by verdict, and a summary of its theorems."""
    statements, theorems = chapter.of_kind("statement"), chapter.of_kind("theorem")
    counts = Counter(sentence.standing for sentence in statements)
    numbers = (str(len(statements)), *(str(counts[standing]) for standing in _COUNTED))
    held = Counter(sentence.standing for sentence in theorems)
    violated = held["no"] + held["in part"]
    parts = [f"{held['yes']} satisfied"] if theorems else []
    parts += [f"{violated} violated"] if violated else []
    parts += [f"{held['open']} open"] if held["open"] else []
    parts += [f"{held['cannot fail']} that no run with these constants could violate"] if held["cannot fail"] else []
    if not statements:
        numbers = ("none", *[""] * len(_COUNTED))
    return _link(chapter, page), *numbers, ", ".join(parts)


def _further(chapter: Chapter, page: Callable[[str], str]) -> list[tuple[str, ...]]:
    found = []
    for kind in ("time", "observation"):
        sentences = chapter.of_kind(kind)
        counts = Counter(sentence.standing for sentence in sentences)
        if sentences:
            numbers = (str(counts[standing]) for standing in STANDINGS)
            found.append((_link(chapter, page), KINDS[kind], str(len(sentences)), *numbers))
    return found


def file_name(name: str) -> str:
    """Return the name of the files of a family or an experiment, which no other family or experiment has.

    It is the name as a part of an id, with a digest if another name could have the same part.
    """
    flat = name.replace("/", "-")
    is_own = slug(flat) == flat and "-" not in name.partition("/")[0]
    return flat if is_own else f"{slug(flat)}-{digest(name)[:8]}".lstrip("-")


def _link(chapter: Chapter, page: Callable[[str], str] | None) -> str:
    title = cell(chapter.paper.title.partition(":")[0])
    return title if page is None else f"[{title}]({page(file_name(chapter.paper.family))})"


def _rests(statements: Sequence[Sentence]) -> str:
    """Describe how many sentences rest on assumptions, and how many have the same verdict under all choices."""
    guessed = sum(bool(sentence.rests_on) for sentence in statements)
    held = [sentence for sentence in statements if sentence.standing == "yes"]
    always = sum(sentence.every_choice == "yes" for sentence in held)
    return (
        f"{guessed} of {len(statements)} sentences depend on an assumption (arms, noise, step sizes), on a stand-in "
        "for real data or on a reconstructed baseline; for these, *no* means that the sentence does not hold in our "
        f"set-up. {len(held)} sentences hold; of those that were also run with other presets or readings, {always} "
        "hold under all of them."
    )


def _short(sentence: Sentence) -> str:
    """Return a line of the overview."""
    figure = f"{sentence.run.experiment}, {sentence.places.partition(';')[0]}"
    return f"{plain(figure)}: {plain(sentence.says)}. {sentence.count_of_rows().capitalize()}."


def _statements(chapter: Chapter, run: Run) -> list[Sentence]:
    return [s for s in chapter.sentences if s.run is run and s.kind == "statement"]


def _origin(source: str) -> str:
    """Return a sentence that names the source of an experiment."""
    subject = source.removeprefix("ours, on ")
    return f"Our own experiment, on {subject}." if subject != source else f"Source: {source}."


def _experiment(chapter: Chapter, run: Run, picture: Picture) -> list[str]:
    """Return the section of an experiment: the paper's figure in words, our figure, verdicts, and collapsed details."""
    sentences = [sentence for sentence in chapter.sentences if sentence.run is run]
    about = run.about
    shows = plain(about.shows or _origin(about.source))
    blocks = [f"## {plain(run.experiment)}: {plain(about.title)}", shows, picture(run), _in_words(sentences)]
    blocks += _details("settings and notes", _settings(chapter, run, sentences))
    if sentences:
        n = sum(len(s.rows) for s in sentences)
        blocks += _details(f"all verdicts: {n} row{'s' * (n > 1)}", _rows(sentences))
    return blocks


def _in_words(sentences: Sequence[Sentence]) -> str:
    """Return the sentences grouped by kind, with the statements of the paper first, and by verdict."""
    words = {
        "yes": ("Holds", "Holds in this implementation", "Satisfied", "Observed"),
        "in part": ("Holds in part", "Holds in part in this implementation", "Violated in part", "Observed in part"),
        "no": ("Does not hold", "Not so in this implementation", "Violated", "Not observed"),
        "open": ("Open", "Open (times)", "Open (theorem)", "Open (our own observation)"),
        "cannot be judged": ("Cannot be judged",) * 4,
        "cannot fail": ("Cannot fail",) * 3 + ("Cannot fail (our own observation)",),
    }
    lines = []
    for column, kind in enumerate(KINDS):
        for standing in STANDINGS:
            if found := [plain(s.says) for s in sentences if s.kind == kind and s.standing == standing]:
                lines.append(f"**{words[standing][column]}:** {'; '.join(found)}.")
    return "  \n".join(lines) or "This experiment has no claims."


def _settings(chapter: Chapter, run: Run, sentences: Sequence[Sentence]) -> str:
    about = run.about
    others = [other for other in chapter.runs if other.experiment == run.experiment and other is not run]
    guesses = dict.fromkeys(mark for sentence in sentences for mark in sentence.rests_on)
    meaning = about.presets.get(run.preset, "")
    if not about.horizon_stated and not any("horizon" in mark or "rounds" in mark for mark in guesses):
        guesses = {"the number of rounds": None, **guesses}
    panels = ", ".join(f"{name} ({title})" for name, title in _panels(about, sentences).items())
    rows = [
        ("source", about.source),
        ("stated length", _rounds(about, about.horizon) * about.horizon_stated),
        ("panels", panels),
        ("run", f"preset {run.preset} ({meaning}); {_rounds(about, run.rounds)}; seeds {run.seed_range}"),
        ("assumed or reconstructed", "; ".join(guesses) or "nothing on which a verdict depends"),
        ("other runs", "; ".join(_with_counts(other.difference_from(run) for other in others)) or "none"),
        *((f"reading {name}", text) for name, text in about.readings.items() if any(o.reading == name for o in others)),
    ]
    rows = [(name, text) for name, text in rows if text]
    notes = _bullets([plain(note) for note in about.notes])
    return "\n\n".join(filter(None, (_table(("", ""), ((cell(a), cell(b)) for a, b in rows)), notes)))


def _with_counts(differences: Iterable[str]) -> list[str]:
    """Return each text once, with the number of runs if several runs differ from the headline run in the same way."""
    counts = Counter(differences)
    return [f"{text} ({n} runs on different seeds)" if n > 1 else text for text, n in counts.items()]


def _rounds(about: About, horizon: int) -> str:
    """Describe the numbers of rounds of the panels in a run of `horizon` rounds."""
    numbers = about.panel_rounds(horizon)
    least, most = min(numbers), max(numbers)
    return f"{most:,} rounds" if least == most else f"{least:,} to {most:,} rounds, depending on the panel"


def _panels(about: About, sentences: Sequence[Sentence]) -> dict[str, str]:
    """Return the titles of the panels that rows name; of all panels, if there are few and a row names one of them."""
    claims = [row.verdict.claim for sentence in sentences for row in sentence.rows]
    words = {claim.where for claim in claims}.union(*(claim.test.split() for claim in claims))
    titles = about.panels()
    named = words & set(titles)
    kept = titles if named and len(titles) <= _FEW_PANELS else named
    return {
        name: title for name, title in titles.items() if name in kept and title.removeprefix("stand-in for ") != name
    }


def _rows(sentences: Sequence[Sentence]) -> str:
    """Return the table of rows: each sentence, followed by its rivals and panels."""
    lines = []
    for sentence in sentences:
        rests = "; ".join(filter(None, (sentence.places, *sentence.rests_on)))
        head = f"**{cell(sentence.says)}**" + (f" ({cell(rests)})" if rests else "")
        choice = _SAME[sentence.every_choice]
        lines.append((f"**{sentence.standing}**", head, cell(sentence.count_of_rows()), choice))
        lines += [_row(sentence.run, row) for row in sentence.rows]
    return _table(("verdict", "sentence (bold) and its rows", "numbers", "other runs"), lines)


def _row(head: Run, row: Row) -> tuple[str, ...]:
    verdict, claim = row.verdict, row.verdict.claim
    others: dict[str, dict[str, None]] = {}
    for run, other in row.others:
        others.setdefault(other.word, {})[run.difference_from(head) or "repeated run"] = None
    numbers = [numbers_of(verdict)]
    numbers += [claim.remark] if claim.remark and verdict.decision != "holds" else []
    numbers += [why] if (why := claim.cannot_fail or claim.cannot_be_judged) else []
    return (
        verdict.word,
        cell((claim.test or claim.says) + (f" ({claim.where})" if claim.where else "")),
        cell("; ".join(numbers)),
        cell("; ".join(f"{word}: {', '.join(runs)}" for word, runs in others.items())),
    )


def numbers_of(verdict: Verdict) -> str:
    """Return the numbers behind a verdict as text, with the number of seeds or repeats and the p-value."""
    if math.isnan(verdict.p) or verdict.deterministic:
        return verdict.reason
    p = f"p = {verdict.p:.2g}" if verdict.p > _LEAST_P else f"p <= {_LEAST_P:g}"
    return f"{verdict.reason}; n = {verdict.n}, {p}"


def _provenance(runs: Sequence[Run]) -> str:
    """Describe commits and seeds of runs, and whether claims were committed before the runs."""
    commits = sorted({run.commit or "unknown" for run in runs})
    seeds: dict[tuple[int, int], int] = {}
    for run in runs:
        seeds[run.seed, run.first_seed] = max(seeds.get((run.seed, run.first_seed), 0), run.first_seed + run.seeds - 1)
    ranges = ", ".join(f"{first:,} and {last:,} (base seed {base})" for (base, first), last in sorted(seeds.items()))
    late = [run.experiment for run in runs if not run.commit or run.commit.endswith("+")]
    shown = (
        "That the claims were committed before the run is not shown for "
        f"{', '.join(late)}: the run has no commit, or files had changed since its commit (marked +)."
        if late
        else "All claims were committed before these runs: when a run began, no file of the package differed from the "
        "commit."
    )
    heads = "The verdicts are those of one run of each experiment, which was made with the code of commit "
    return plain(f"{heads}{' or '.join(commits)}, with seed indices between {ranges}. {shown}")


def _errata(header: Sequence[str], errata: Sequence[Erratum]) -> str:
    return _table(header, ((*map(cell, e[:4]), f"`{cell(e.command)}`") for e in errata))


def _details(summary: str, body: str) -> list[str]:
    """Return a collapsible part as HTML around Markdown, which both renderers of these pages accept."""
    return [f"<details><summary>{summary}</summary>", body, "</details>"]


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"* {text}" for text in lines)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join([line(header), "|" + "---|" * len(header), *map(line, rows)])


def _text(blocks: Iterable[str]) -> str:
    return "\n\n".join(filter(None, blocks)) + "\n"
