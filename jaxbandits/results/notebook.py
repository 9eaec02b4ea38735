"""HTML representation of a result in notebooks: two small tables."""

import itertools

from jaxbandits.analysis import summary
from jaxbandits.analysis.labelled import LabelledTrials
from jaxbandits.analysis.markup import html_table
from jaxbandits.analysis.table import NS_PER_ROUND, cells

_MOST_ROWS = 20


def page(result: LabelledTrials) -> str:
    """Return HTML tables of the sizes of all labels and the summary of the first metric, with at most 20 rows each."""
    sizes = [
        [
            label,
            *(f"{n:,}" for n in (len(t.points), len(t.seeds), t.horizon, len(t.record_points))),
            ", ".join(t.metrics),
        ]
        for label, t in result.trials.items()
    ]
    header = ["label", "points", "seeds", "rounds", "record points", "metrics"]
    parts = [html_table(header, sizes, most=_MOST_ROWS)]
    if result.metrics:
        metric, of = result.labels_with_metric()
        rows = list(itertools.islice(summary.rows(metric, of, 0.95, {}), _MOST_ROWS))
        number = sum(len(t.points) * len(t.entries(metric, {})) for t in of.values())
        header, lines = cells(rows, metric)
        parts.append(html_table(header, lines, titles={"ns/round": NS_PER_ROUND}))
        if number > len(rows):
            parts.append(f"<p>and {number - len(rows):,} more: see <code>summary()</code></p>")
    return "<div>" + "".join(parts) + "</div>"
