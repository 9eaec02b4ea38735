"""Overview of the papers' errata: the page `docs/errata.md`, which `tools/errata.py` writes."""

from collections.abc import Mapping

from jaxbandits.reproduction.engine.experiment import Paper
from jaxbandits.reproduction.ledger.markdown import cell, line

HEADER = ("paper", "wrong as published", "left open")


def markdown(papers: Mapping[str, Paper]) -> str:
    """Return the overview in Markdown: a table with the numbers of errata, and links to the pages of the papers."""
    lines = [
        "# Errata",
        "",
        "Some passages of the papers, or lines of their authors' code, are wrong as published; other passages leave",
        "open a choice that a program has to make. The page of each paper lists these places: what is published, what",
        "is wrong or left open, which version we run, and a command that shows or tests this.",
        "",
        line(HEADER),
        "|" + "---|" * len(HEADER),
    ]
    for family, paper in papers.items():
        page, still_open = f"papers/{family}.md", sum(erratum.left_open for erratum in paper.errata)
        wrong = _link(len(paper.errata) - still_open, f"{page}#wrong-as-printed")
        lines.append(line((f"[{cell(paper.title)}]({page})", wrong, _link(still_open, f"{page}#left-open"))))
    return "\n".join([*lines, "", "The table is generated from `jaxbandits/reproduction/papers.py`."]) + "\n"


def _link(places: int, target: str) -> str:
    return f"[{places} place{'s' * (places > 1)}]({target})" if places else "none"
