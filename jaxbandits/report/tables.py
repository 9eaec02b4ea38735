"""Plain text tables: times per round and the claims ledger."""

import textwrap
from collections.abc import Sequence

import numpy as np

from jaxbandits.experiments.claim import Judged
from jaxbandits.results.table import aligned, number
from jaxbandits.simulation import RoundTimes


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
    return heading + "\n" + aligned(["label", *columns, *(f"x, {c}" for c in columns), "state"], body)


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
