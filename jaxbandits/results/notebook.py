"""Representation of a result in notebooks: one small table of plain HTML."""

import html
import itertools

from jaxbandits.analysis import summary
from jaxbandits.analysis.labelled import LabelledTrials
from jaxbandits.analysis.table import cells

_MOST_ROWS = 20
_LEFT = ' style="text-align:left"'


def page(result: LabelledTrials) -> str:
    """Return the sizes of every label, and the summary of the first metric, at most 20 rows of each."""
    sizes = [
        [
            label,
            *(f"{n:,}" for n in (len(t.points), len(t.seeds), t.horizon, len(t.record_points))),
            ", ".join(t.metrics),
        ]
        for label, t in result.trials.items()
    ]
    parts = [_table(["label", "points", "seeds", "rounds", "record points", "metrics"], sizes, len(sizes))]
    if result.metrics:
        metric, of = result.measured()
        rows = list(itertools.islice(summary.rows(metric, of, 0.95, {}), _MOST_ROWS))
        number = sum(len(t.points) * len(t.entries(metric, {})) for t in of.values())
        parts.append(_table(*cells(rows, metric), number))
    return "<div>" + "".join(parts) + "</div>"


def _table(header: list[str], rows: list[list[str]], number: int) -> str:
    """Return the first rows of a table of `number` rows."""
    lines = ["<tr>" + "".join(f"<th>{html.escape(text)}</th>" for text in header) + "</tr>"]
    for first, *others in rows[:_MOST_ROWS]:
        lines.append(
            f"<tr><td{_LEFT}>{html.escape(first)}</td>"
            + "".join(f"<td>{html.escape(c)}</td>" for c in others)
            + "</tr>"
        )
    left = number - _MOST_ROWS
    if left > 0:
        lines.append(f'<tr><td colspan="{len(header)}"{_LEFT}>and {left:,} more: see <code>summary()</code></td></tr>')
    return "<table>" + "".join(lines) + "</table>"
