"""Plain text tables: summaries and the claims ledger."""

import textwrap
from collections.abc import Sequence

from jaxbandits.experiments.declare import Judged
from jaxbandits.simulation.results import Row


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Aligned columns; the first `left` columns to the left, the others to the right."""
    cells = [list(header), *map(list, rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = ["  ".join(c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))).rstrip() for row in cells]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def number(value: float) -> str:
    """Four significant digits, no exponent for everyday sizes."""
    return f"{value:.1f}" if 1000 <= abs(value) < 1e7 else f"{value:.4g}"


def summary(rows: Sequence[Row], metric: str) -> str:
    """The table of `Result.summary`."""
    header = ["algorithm", *rows[0].point, f"mean {metric}", "95 % t-interval", "median", "10 %", "25 %", "75 %", "90 %", "trials", "failed", "ns/round"]  # fmt: skip
    body = [
        [row.algorithm, *(f"{v:g}" for v in row.point.values()), number(row.mean), f"[{number(row.low)}, {number(row.high)}]", number(row.median),
         *map(number, (row.q10, row.q25, row.q75, row.q90)), str(row.trials), str(row.failed), number(row.ns_per_round)]
        for row in rows
    ]  # fmt: skip
    return table(header, body)


def ledger(judged: Sequence[Judged], width: int = 100) -> str:
    """The claims, each with its verdict and the numbers behind it."""
    lines = []
    for item in judged:
        verdict = item.verdict.upper().ljust(13)
        text = textwrap.wrap(f"{item.claim.text} [{item.claim.source}]", width - 15)
        lines += [f"{verdict}  {text[0]}", *(" " * 15 + more for more in text[1:]), " " * 15 + item.why]
    return "\n".join(lines)
