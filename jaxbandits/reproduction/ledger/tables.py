"""Plain text tables: times per round and the claims ledger."""

import math
import textwrap
from collections.abc import Sequence

import numpy as np

from jaxbandits.reproduction.engine.claim import Decision, Verdict, adjusted
from jaxbandits.results.table import aligned, number
from jaxbandits.simulation import RoundTimes


def times(measured: RoundTimes, unit: str = "", marks: Sequence[int] = (1_000, 4_000, 16_000)) -> str:
    """Return nanoseconds per round and trial around some rounds, also as multiples of those of `unit`."""
    reached = [t for t in marks if t <= measured.stretch_ends[-1]] or [int(measured.stretch_ends[-1])]
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


def ledger(judged: Sequence[Verdict], width: int = 100, together: Sequence[Decision] | None = None) -> str:
    """Return the claims, each with its verdict and the numbers behind it.

    Those that nothing can be said of, since there are too few seeds or a label was left out, follow in one paragraph
    each reason, a line a claim with the estimate so far.

    Args:
      judged: the claims.
      width: of a line.
      together: their verdicts by Holm's procedure over all claims that stand together; None: over these. Where such a
        verdict is another one than that of the claim alone, it follows in brackets.
    """
    lines, waiting = [], {}
    for item, adjusted_ in zip(judged, adjusted(judged) if together is None else together, strict=True):
        reason = _too_early(item)
        if reason:
            waiting.setdefault(reason, []).append(item)
            continue
        verdict = item.word.upper().ljust(13)
        also = "" if adjusted_ == item.decision else f" ({adjusted_} among all claims together)"
        text = textwrap.wrap(f"{item.claim.text} [{item.source}]{also}", width - 15)
        lines += [f"{verdict}  {text[0]}", *(" " * 15 + more for more in text[1:]), " " * 15 + item.reason]
    for reason, items in waiting.items():
        lines += [f"NOT DECIDED, {len(items)} claim{'s' * (len(items) > 1)}: {reason}"]
        so_far = [_so_far(item) for item in items]
        indent = max(map(len, so_far)) + 4 if any(so_far) else 2
        for item, number_ in zip(items, so_far, strict=True):
            text = textwrap.wrap(f"{item.claim.text} [{item.source}]", max(40, width - indent))
            lines += [f"  {number_}".ljust(indent) + text[0], *(" " * indent + more for more in text[1:])]
    return "\n".join(lines)


_MISSING = "not measured in this run"


def _too_early(item: Verdict) -> str:
    """Return why a claim cannot be judged on this run, whatever its numbers are; "" where it can."""
    if item.decision != "not decided" or item.failed:
        return ""
    if item.reason == _MISSING:
        return _MISSING
    if item.reason.startswith("needs"):
        return f"{item.reason}; so far (claimed):"
    return ""


def _so_far(item: Verdict) -> str:
    if item.reason == _MISSING or math.isnan(item.value):
        return ""
    claim = item.claim
    ends = f"{claim.low:g} to {claim.high:g}"
    region = f"< {claim.high:g}" if math.isinf(claim.low) else f"> {claim.low:g}" if math.isinf(claim.high) else ends
    return f"{item.value:.4g} [{item.low:.4g}, {item.high:.4g}] ({region})"
