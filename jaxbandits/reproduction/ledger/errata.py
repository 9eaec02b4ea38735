"""The errata of the papers as a page: `docs/errata.md`, which `tools/errata.py` writes."""

from collections.abc import Mapping

from jaxbandits.reproduction.engine.experiment import Paper
from jaxbandits.reproduction.ledger.markdown import cell, line

HEADER = ("place", "printed", "why it cannot stand", "here", "shown by")


def markdown(papers: Mapping[str, Paper]) -> str:
    """Return a table for each paper: the printed text, why it cannot stand, the remedy, the command that shows it."""
    lines = [
        "# Errata",
        "",
        "Places in the five papers that do not hold as printed, or leave something open that a program has to decide.",
        "This page is written from `jaxbandits/reproduction/papers.py`.",
    ]
    for paper in papers.values():
        lines += ["", f"## {paper.title}", "", f"{paper.reference}.", "", line(HEADER), "|" + "---|" * len(HEADER)]
        lines += [line((*map(cell, row[:4]), f"`{cell(row.command)}`")) for row in paper.errata]
        lines += ["", f"Easy: {paper.easy}", "", f"Difficult: {paper.difficult}", "", f"Guessed: {paper.guessed}"]
    return "\n".join(lines) + "\n"
