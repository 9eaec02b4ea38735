"""Plain text tables of times per round and of claims with their verdicts."""

import textwrap
from collections import Counter
from collections.abc import Sequence

import numpy as np

from jaxbandits.analysis.table import align, number
from jaxbandits.reproduction.engine.verdict import Verdict
from jaxbandits.simulation import RoundTimes


def times(measured: RoundTimes, unit: str = "", marks: Sequence[int] = (1_000, 4_000, 16_000)) -> str:
    """Return a table of times per round and trial, in nanoseconds and as multiples of the times of one label.

    Args:
      measured: timings of a panel.
      unit: label whose times are the unit of the multiples; "" for the fastest label at each round.
      marks: rounds at which times are given; if all lie beyond the horizon, times are given at the last round.
    """
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
    return heading + "\n" + align(["label", *columns, *(f"x, {c}" for c in columns), "state"], body)


def _time(ns: float) -> str:
    return number(ns) if ns > 0.0 else "~0"  # below the variation of the subtracted call overhead


def _multiple(value: float, of: float) -> str:
    return f"{value / of:.1f}x" if value > 0.0 and of > 0.0 else "-"


def claims(judged: Sequence[Verdict], width: int = 100) -> str:
    """Return the counts of verdicts as text, followed by each sentence with its rows below it.

    Claims that cannot be judged on this run, for example for lack of seeds or timings, are counted at the end, with one
    line per reason.
    """
    said = [verdict for verdict in judged if not reason_not_to_judge(verdict)]
    counts = Counter(verdict.word for verdict in said)
    lines = ["claims: " + (", ".join(f"{n} {word}" for word, n in counts.items()) or "none can be judged on this run")]
    for (_, says), rows in _sentences(said).items():
        lines += ["", *textwrap.wrap(says, width, subsequent_indent="    ")]
        for verdict in rows:
            claim = verdict.claim
            row = ": ".join(filter(None, (claim.test, claim.where))) or claim.place
            lines.append(f"  {verdict.word.upper():15s} {row}")
            lines += textwrap.wrap(verdict.reason, width, initial_indent=" " * 18, subsequent_indent=" " * 18)
    early = Counter(filter(None, map(reason_not_to_judge, judged)))
    lines += [""] * bool(early)
    lines += [f"{n} row{'s' * (n > 1)} cannot be judged on this run: {reason}" for reason, n in early.items()]
    return "\n".join(lines)


def _sentences(judged: Sequence[Verdict]) -> dict[tuple[str, str], list[Verdict]]:
    """Group verdicts by sentence; keys are pairs of the id of a sentence and its wording with its place."""
    found: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in judged:
        rests = "; ".join(filter(None, (verdict.claim.place, *verdict.rests_on)))
        words = verdict.claim.says + (f" [{rests}]" if rests else "")
        found.setdefault((verdict.claim.sentence, words), []).append(verdict)
    return found


def reason_not_to_judge(verdict: Verdict) -> str:
    """Return the reason why a claim cannot be judged on a run, whatever its numbers are; "" if it can be judged."""
    if verdict.failed or not (verdict.missing or verdict.is_early or not verdict.applies):
        return ""
    return verdict.reason
