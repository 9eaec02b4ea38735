"""Plain text tables: summaries and the claims ledger."""

import textwrap
from collections.abc import Sequence

import numpy as np

from jaxbandits.experiments.declare import Judged
from jaxbandits.results.result import Row
from jaxbandits.simulation import RoundTimes


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Aligned columns; the first `left` columns to the left, the others to the right."""
    cells = [list(header), *map(list, rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]

    def line(row: Sequence[str]) -> str:
        padded = [c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        return "  ".join(padded).rstrip()

    lines = [line(row) for row in cells]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def number(value: float) -> str:
    """Four significant digits, no exponent for everyday sizes."""
    return f"{value:.1f}" if 1000 <= abs(value) < 1e7 else f"{value:.4g}"


def summary(rows: Sequence[Row], metric: str) -> str:
    """The table of `Result.summary`."""
    quantiles = ("median", "10 %", "25 %", "75 %", "90 %")
    counts = ("trials", "failed", "ns/round")
    header = ["algorithm", *rows[0].point, f"mean {metric}", "95 % t-interval", *quantiles, *counts]
    body = []
    for row in rows:
        point = [f"{value:g}" for value in row.point.values()]
        interval = f"[{number(row.low)}, {number(row.high)}]"
        at = [number(value) for value in (row.median, row.q10, row.q25, row.q75, row.q90)]
        tail = [str(row.trials), str(row.failed), number(row.ns_per_round)]
        body.append([row.algorithm, *point, number(row.mean), interval, *at, *tail])
    return table(header, body)


def times(measured: RoundTimes, unit: str = "", marks: Sequence[int] = (1_000, 4_000, 16_000)) -> str:
    """Nanoseconds per round and trial around some rounds, also as multiples of those of `unit` ("": of the fastest)."""
    reached = [t for t in marks if t <= measured.stops[-1]] or [int(measured.stops[-1])]
    at = {name: [float(np.median(measured.at(name, t))) for t in reached] for name in measured.ns}
    units = at[unit] if unit in at else [min(column) for column in zip(*at.values(), strict=True)]
    body = [
        [name, *map(_time, row), *map(_multiple, row, units), f"{measured.state_bytes[name]:,}"]
        for name, row in at.items()
    ]
    side = "one trial" if measured.width == 1 else f"{measured.width} trials side by side"
    of = f"{unit}'s" if unit in at else "the fastest"
    heading = f"time per round and trial, ns, on one core ({side}), also as a multiple of {of}, and bytes of state"
    columns = [f"t = {t:,}" for t in reached]
    return heading + "\n" + table(["algorithm", *columns, *(f"x, {c}" for c in columns), "state"], body)


def _time(ns: float) -> str:
    return number(ns) if ns > 0.0 else "~0"  # less than the cost of the call that was taken off varies


def _multiple(value: float, of: float) -> str:
    return f"{value / of:.1f}x" if value > 0.0 and of > 0.0 else "-"


def ledger(judged: Sequence[Judged], width: int = 100) -> str:
    """The claims, each with its verdict and the numbers behind it."""
    lines = []
    for item in judged:
        verdict = item.verdict.upper().ljust(13)
        text = textwrap.wrap(f"{item.claim.text} [{item.claim.source}]", width - 15)
        lines += [f"{verdict}  {text[0]}", *(" " * 15 + more for more in text[1:]), " " * 15 + item.why]
    return "\n".join(lines)
