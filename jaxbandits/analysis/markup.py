"""Tables as HTML, for notebooks, and as LaTeX, for papers."""

import html
import re
from collections.abc import Mapping, Sequence

from jaxbandits.analysis.table import printable

# Notebooks and sites style tables differently, and some leave no space around cells. `dataframe` is the class of tables
# of pandas, for which notebooks and sites have styles, including a dark mode.
_STYLE = (
    "<style>.jaxbandits td, .jaxbandits th { padding: 0.25em 0.7em; text-align: right; }"
    ".jaxbandits td { white-space: nowrap; }.jaxbandits .left { text-align: left; }</style>"
)
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "[": "{[}",  # at the start of a line, an argument of the preceding "\\"
    "*": "{*}",  # likewise
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}
_NUMBER = re.compile(r"(?<![\w.])(-?)(\d+(?:\.\d+)?)(?:e([+-]\d+))?(?![\w.])|(?<![\w.])(-?)inf(?!\w)")


def html_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: int = 1,
    *,
    most: int | None = None,
    titles: Mapping[str, str] | None = None,
) -> str:
    """Return a table as HTML that scrolls horizontally if it is wider than the page.

    Args:
      header: names of the columns.
      rows: text of the cells.
      left: number of columns that are aligned to the left; all others are aligned to the right.
      most: largest number of rows to show; if there are more, the last line gives the number of rows left out.
      titles: mapping from names of columns to explanations, which are shown as tooltips and below the table.
    """
    shown = rows if most is None else rows[:most]
    cells = [_cell("th", text, i < left, (titles or {}).get(text, "")) for i, text in enumerate(header)]
    lines = ["<thead><tr>" + "".join(cells) + "</tr></thead><tbody>"]
    for row in shown:
        lines.append("<tr>" + "".join(_cell("td", text, i < left) for i, text in enumerate(row)) + "</tr>")
    if len(shown) < len(rows):
        lines.append(f'<tr><td class="left" colspan="{len(header)}">and {len(rows) - len(shown):,} more</td></tr>')
    table = '<table class="dataframe jaxbandits">' + "".join(lines) + "</tbody></table>"
    legend = "".join(f"<div><small>{html.escape(text)}</small></div>" for text in (titles or {}).values())
    return f'{_STYLE}<div style="overflow-x: auto; max-width: 100%">{table}</div>{legend}'


def _cell(tag: str, text: str, is_left: bool, title: str = "") -> str:
    about = f' title="{html.escape(title)}"' if title else ""
    return f"<{tag}{about}" + (' class="left"' if is_left else "") + f">{html.escape(text)}</{tag}>"


def latex_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a table as a LaTeX `tabular` with the rules of the package booktabs.

    Text is escaped; minus signs, powers of ten and infinities are set as mathematics.

    Args:
      header: names of the columns.
      rows: text of the cells.
      left: number of columns that are aligned to the left; all others are aligned to the right.
    """
    columns = "l" * min(left, len(header)) + "r" * max(len(header) - left, 0)
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _latex_row(header), r"\midrule"]
    return "\n".join([*lines, *(_latex_row(row) for row in rows), r"\bottomrule", r"\end{tabular}"])


def _latex_row(row: Sequence[str]) -> str:
    return " & ".join(latex_text(cell) for cell in row) + r" \\"


def latex_text(text: str) -> str:
    """Return text escaped for LaTeX; minus signs, powers of ten and infinities are set as mathematics."""
    found: list[str] = []
    at = 0
    text = printable(text)
    for token in _NUMBER.finditer(text):
        found += [_escape(text[at : token.start()]), _latex_number(token)]
        at = token.end()
    return "".join([*found, _escape(text[at:])])


def _escape(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def _latex_number(token: re.Match[str]) -> str:
    sign, digits, exponent, sign_of_infinity = token.groups()
    if digits is None:
        return rf"${sign_of_infinity}\infty$"
    if exponent is not None:
        return rf"${sign}{digits} \times 10^{{{int(exponent)}}}$"
    return f"$-{digits}$" if sign else digits
