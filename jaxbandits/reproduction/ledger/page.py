"""The ledger as one HTML file: figures inline, nothing from elsewhere; in light and dark, on a phone, on paper."""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from jaxbandits.base.files import write_atomically
from jaxbandits.base.version import __version__
from jaxbandits.reproduction.engine.experiment import Erratum, Paper
from jaxbandits.reproduction.ledger.ledger import (
    GLANCE,
    SUMMARY,
    VERDICTS,
    Beside,
    Chapter,
    LedgerRow,
    Run,
    chapters,
    explained,
    glance,
    how,
    judged_before,
    kinds,
    minutes,
    provenance,
    real_data,
    refuted,
    seeds_of,
    stand_ins,
    statements,
    statistic_of,
    summary,
    summary_cells,
    words_of_kinds,
)

_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --soft: #595959; --paper: #ffffff; --line: #d4d4d4; --tint: #f4f4f4;
  --yes: #00694c; --no: #a03000; --open: #595959; --link: #005a9c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --soft: #b0b0b0; --paper: #161616; --line: #444444;
  --tint: #222222; --yes: #5cd6a9; --no: #ff9a66; --open: #b0b0b0; --link: #7cc0ff; }
  .figure img { filter: invert(1) hue-rotate(180deg); } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 2px solid var(--line); padding-top: 1rem; }
a { color: var(--link); } .soft { color: var(--soft); font-size: .9rem; }
nav ul { padding-left: 1.2rem; } .scroll { overflow-x: auto; }
.scroll::-webkit-scrollbar, .figure::-webkit-scrollbar { height: .5rem; background: var(--tint); }
.scroll::-webkit-scrollbar-thumb, .figure::-webkit-scrollbar-thumb { background: var(--soft); border-radius: .25rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .5rem; border-bottom: 1px solid var(--line); }
th { background: var(--tint); } .verdict { white-space: nowrap; font-weight: 600; }
.holds { color: var(--yes); } .does-not-hold { color: var(--no); } .not-decided { color: var(--open); }
code { overflow-wrap: anywhere; }
.figure { margin: 1rem 0; background: #ffffff; overflow-x: auto; }
.figure img { display: block; max-width: 100%; height: auto; }
@media (prefers-color-scheme: dark) { .figure { background: #000000; } }
pre { overflow-x: auto; background: var(--tint); padding: .6rem; font-size: .8rem; }
.wrapped { white-space: pre-wrap; overflow-wrap: anywhere; } summary { cursor: pointer; }
@media screen and (max-width: 40rem) { .claims thead { display: none; } .claims, .claims tbody { display: block; }
  .claims tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  .claims td { display: block; border: 0; padding: .1rem 0; } .figure img { min-width: 44rem; }
  .claims td[data-of]::before { content: attr(data-of); font-weight: 400; } }
@media screen and (min-width: 40rem) { .overview td { white-space: nowrap; } }
@media print { html { font-size: 9pt; } body { max-width: none; padding: 0; }
  .verdict { white-space: normal; } nav { display: none; } h2 { break-before: page; }
  .scroll, .figure { overflow: visible; } .figure, tr { break-inside: avoid; } .figure img { filter: none; } }
"""
_ERRATA = ("place", "printed", "why it cannot stand", "here", "shown by")
_SIGNS = dict(zip(VERDICTS, ("✓", "✗", "?"), strict=True))


def page(runs: Sequence[Run], papers: Mapping[str, Paper]) -> str:
    """Return the whole document."""
    parts = chapters(runs, papers)
    rows = [row for chapter in parts for row in chapter.rows]
    every = [run for chapter in parts for run in chapter.runs]
    standing = stand_ins(every)
    head = [
        "<h1>Claims ledger</h1>",
        f"<p>Statements of {len(parts)} paper{'s' * (len(parts) > 1)} about their experiments: {statements(parts)}. "
        f"Claims of all kinds: {len(rows)}. jaxbandits {escape(__version__)}.</p>",
        f"<p>{escape(provenance(runs))}</p>",
        *(f"<p>{_text(paragraph)}</p>" for paragraph in how(parts)),
    ]
    if real := real_data(every):
        head.append("<p>Real data: " + escape("; ".join(real)) + ".</p>")
    if standing:
        head.append("<p>Data that are not the papers' own: " + escape("; ".join(standing)) + ".</p>")
    links = "".join(
        f'<li><a href="#{escape(c.paper.family)}">{escape(c.paper.title)}</a>: {statements([c])}</li>' for c in parts
    )
    at_a_glance = "".join(
        f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in cells)}</tr>" for c in parts for cells in glance(c)
    )
    head += [f"<p>{escape(words_of_kinds())}</p>", _table(GLANCE, at_a_glance)]
    overview = _table(SUMMARY, "".join(map(_overview, parts)), "overview")
    body = [*head, f'<nav aria-label="papers"><ul>{links}</ul></nav>', overview]
    body += ["<main>", *map(_chapter, parts), "</main>"]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Claims ledger</title><style>{_STYLE}</style></head>\n<body>" + "\n".join(body) + "</body></html>\n"
    )


def write(runs: Sequence[Run], papers: Mapping[str, Paper], path: Path) -> Path:
    """Write `page` to a file.

    Raises:
      InputError: when the path cannot be written.
    """
    write_atomically(path, page(runs, papers).encode())
    return path


def _overview(chapter: Chapter) -> str:
    """Return a table with a row for each experiment, under the paper's name."""
    name = f'<tr><th colspan="{len(SUMMARY)}" scope="colgroup">{escape(chapter.paper.title)}</th></tr>'
    rows = []
    for line in summary(chapter):
        link, *cells = map(escape, summary_cells(line))
        rows.append(f'<td><a href="#{_mark(line.run.name)}">{link}</a></td>' + "".join(f"<td>{c}</td>" for c in cells))
    return name + "".join(f"<tr>{row}</tr>" for row in rows)


def _mark(name: str) -> str:
    """Return the anchor of an experiment."""
    return "experiment-" + re.sub(r"\W", "-", name)


def _chapter(chapter: Chapter) -> str:
    paper = chapter.paper
    errata = "".join(map(_erratum, paper.errata))
    lines = [
        f'<section id="{escape(paper.family)}"><h2>{escape(paper.title)}</h2>',
        f"<p>{escape(paper.reference)}. Statements about experiments: {statements([chapter])}.</p>",
        *(f"<p>{escape(explained(sentence, chapter))}</p>" for sentence in refuted(chapter)),
        *(
            _experiment(run, [row for row in chapter.rows if row.experiment == run.name], chapter.beside[run.name])
            for run in chapter.runs
        ),
    ]
    if errata:
        lines += ["<h3>Errata</h3>", _table(_ERRATA, errata, "claims")]
    notes = {"Easy": paper.easy, "Difficult": paper.difficult, "Guessed": paper.guessed}
    lines += [f"<p><strong>{what}:</strong> {escape(text)}</p>" for what, text in notes.items() if text]
    lines.append("</section>")
    return "\n".join(lines)


def _erratum(erratum: Erratum) -> str:
    *words, command = erratum
    texts = (*map(_text, words), f"<code>{escape(command)}</code>")
    cells = (f'<td data-of="{of}: ">{text}</td>' for of, text in zip(_ERRATA, texts, strict=True))
    return f"<tr>{''.join(cells)}</tr>"


def _experiment(run: Run, rows: Sequence[LedgerRow], beside: Sequence[Beside]) -> str:
    made, took = run.manifest, minutes(run)
    settings = (
        f"{made['preset']} preset: {made['presets'][made['preset']]}. {made['horizon']:,} rounds, "
        f"{run.precision or 'any precision'}, seeds {seeds_of(run)}; commit {made.get('commit') or 'unknown'}, "
        f"manifest {run.digest}{f'; {took} minutes' if took else ''}."
    )
    lines = [
        f'<h3 id="{_mark(run.name)}">{escape(run.name)}: {escape(made["title"])}</h3>',
        f'<p class="soft">{escape(made["source"])}. {escape(settings)}</p>',
    ]
    standing = ", ".join(dict.fromkeys(made["stand_ins"].values()))
    if standing:
        lines.append(f"<p>On a stand-in for {escape(standing)}: synthetic data of its shape.</p>")
    lines += [f'<p class="soft">Beside it, {escape(o.kind)}: {escape(o.detail)}.</p>' for o in beside]
    lines += [f"<p class='soft'>{_text(note)}</p>" for note in (*made["notes"], *judged_before(run))]
    figures = [run.directory / Path(name).name for name in made["files"] if name.endswith(".svg")]  # of no other folder
    lines += [_figure(path, f"{made['title']}, {path.stem}") for path in figures]
    if rows:
        columns = kinds(rows)
        header = ("verdict", "adjusted", "claim", "source", "statistic", *(["beside"] if columns else []), "manifest")
        lines.append(_table(header, "".join(_claim(row, columns) for row in rows), "claims"))
    for timed in made["times"]:
        width = re.search(r"\((.*?)\)", timed["text"])  # one trial, or how many side by side
        which = f": {width[1]}" if width else ""
        summary = f"<summary>cost, panel {escape(timed['panel'] + which)}</summary>"
        lines.append(f"<details>{summary}<pre>{escape(timed['text'])}</pre></details>")
    versions = ", ".join(f"{name} {version}" for name, version in made["versions"].items())
    lines.append(
        f"<details><summary>settings</summary><p class='soft'>{escape(versions)}</p>"
        f'<pre>{escape(made["command"])}</pre><pre class="wrapped">{escape(_specs(run))}</pre></details>'
    )
    return "\n".join(lines)


def _specs(run: Run) -> str:
    """Return the settings of every learner and environment, one a line."""
    lines = []
    for panel, result in run.manifest["panels"].items():
        for label, ran in result["labels"].items():
            kept = ("algorithm", "environment", "horizon", "width")
            spec = {key: ran["spec"][key] for key in kept if key in ran["spec"]}
            text = json.dumps(spec)
            lines.append(f"{panel}, {label}: {text if len(text) < 2000 else text[:2000] + ' ...'}")
    return "\n".join(lines)


def _claim(row: LedgerRow, columns: Sequence[str]) -> str:
    cells = [
        _verdict(verdict, row.word(verdict), of)
        for verdict, of in ((row.claim["verdict"], ""), (row.adjusted, "adjusted"))
    ]
    cells += [f"<td>{escape(text)}</td>" for text in (row.claim["claim"], row.claim["source"], statistic_of(row))]
    if columns:
        cells.append(f'<td data-of="beside it:">{_beside(row.others)}</td>' if row.others else "<td></td>")
    return f"<tr>{''.join(cells)}<td class='soft'>{row.manifest}</td></tr>"


def _beside(others: Mapping[str, str]) -> str:
    """Return a line for each verdict with its runs; a column for each run would leave no room for the claim."""
    lines = []
    for verdict in VERDICTS:
        if kinds_ := [kind for kind, found in others.items() if found == verdict]:
            word = f'<span class="verdict {_class(verdict)}">{_SIGNS[verdict]} {escape(verdict)}</span>'
            lines.append(f"<div>{word}: {escape(', '.join(kinds_))}</div>")
    return "".join(lines)


def _verdict(verdict: str, word: str, of: str = "") -> str:
    """Return the word for a verdict with a sign, so that colour alone does not show it."""
    data = f' data-of="{escape(of)}: "' if of else ""
    return f'<td class="verdict {_class(verdict)}"{data}>{_SIGNS[verdict]} {escape(word)}</td>'


def _class(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _text(text: str) -> str:
    """Return escaped text, with what stands between backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def _table(header: Sequence[str], body: str, kind: str = "") -> str:
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in header)
    whole = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="scroll"><table class="{kind}">{whole}</table></div>'


def _figure(path: Path, title: str) -> str:
    """Return an SVG as an image, which runs no script and loads nothing; a line of text where there is no file."""
    if path.is_symlink() or not path.is_file():
        return f"<p class='soft'>{escape(path.name)} is not there any more.</p>"
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<div class="figure"><img alt="{escape(title)}" src="data:image/svg+xml;base64,{data}"></div>'
