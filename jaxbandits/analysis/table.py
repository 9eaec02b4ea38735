"""Plain text tables: aligned columns, and the summary of a metric."""

from collections.abc import Sequence
from typing import Any

from jaxbandits.analysis.summary import Row


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Align columns, the first `left` ones to the left, others to the right; control characters become escapes."""
    cells = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]

    def line(row: Sequence[str]) -> str:
        padded = [c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        return "  ".join(padded).rstrip()

    lines = [line(row) for row in cells]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def printable(text: str) -> str:
    """Replace control characters, which a terminal would obey, by escapes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def number(value: float) -> str:
    """Format a number with four significant digits, without an exponent for everyday sizes."""
    return f"{value:.1f}" if 1000 <= abs(value) < 1e7 else f"{value:.4g}"


def plain(value: Any) -> str:
    """Format a hyperparameter's value: numbers with six digits, anything else as text."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def summary(rows: Sequence[Row], metric: str, level: float = 0.95) -> str:
    """Format the rows of `Result.summary`: a line per row, a column per field that some label sweeps."""
    return aligned(*cells(rows, metric, level))


def cells(rows: Sequence[Row], metric: str, level: float = 0.95) -> tuple[list[str], list[list[str]]]:
    """Format header and lines of the summary of a metric as text."""
    fields = dict.fromkeys(name for row in rows for name in row.point)
    axes = dict.fromkeys(name for row in rows for name in row.entry)
    header = ["label", *fields, *axes, f"mean {metric.replace('_', ' ')}", f"{100.0 * level:g} % t-interval"]
    header += ["median", "10 %", "25 %", "75 %", "90 %", "trials", "failed", "ns/round"]
    lines = []
    for row in rows:
        point = [plain(row.point[name]) if name in row.point else "" for name in fields]
        entry = [str(row.entry.get(name, "")) for name in axes]
        interval = f"[{number(row.low)}, {number(row.high)}]"
        at = [number(value) for value in (row.median, row.q10, row.q25, row.q75, row.q90)]
        tail = [str(row.trials), str(row.failed), number(row.ns_per_round)]
        lines.append([row.label, *point, *entry, number(row.mean), interval, *at, *tail])
    return header, lines
