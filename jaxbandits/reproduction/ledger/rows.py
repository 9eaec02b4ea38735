"""Convert verdicts to and from rows of a manifest (all declared fields) and rows of the ledger (numbers only)."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, get_args

from jaxbandits.analysis.intervals import Estimate
from jaxbandits.base.errors import InputError
from jaxbandits.base.forms import JsonObject
from jaxbandits.base.pytree import FieldValue
from jaxbandits.reproduction.engine.claim import KINDS, Claim, Measurements, Unit
from jaxbandits.reproduction.engine.verdict import Decision, Verdict

_NUMBER = (float, None)
FORM = {
    "id": str,
    "says": str,
    "test": str,
    "where": str,
    "place": str,
    "kind": str,
    "panels": [str],
    "labels": [str],
    "rival": str,
    "unit": str,
    "least": int,
    "presets": [str],
    "cannot_fail": str,
    "cannot_be_judged": str,
    "remark": str,
    "claimed": [_NUMBER],
    "statistic": str,
    "verdict": str,
    "value": _NUMBER,
    "interval": [_NUMBER],
    "n": int,
    "failed": int,
    "enough_rounds": bool,
    "p": _NUMBER,
    "deterministic": bool,
    "missing": bool,
    "applies": bool,
    "beside": {str: _NUMBER},
    "read": [str],
    "stand_ins": [str],
    "guesses": [str],
}
_DECLARED = (
    "id",
    "says",
    "test",
    "where",
    "place",
    "kind",
    "panels",
    "labels",
    "rival",
    "unit",
    "least",
    "presets",
    "cannot_fail",
    "cannot_be_judged",
    "remark",
)


def of_manifest(verdict: Verdict) -> JsonObject:
    """Return a verdict as a JSON object for a manifest; NaN and infinities, which JSON lacks, become null."""
    claim = verdict.claim
    declared = {name: getattr(claim, name) for name in _DECLARED}
    return declared | {
        "claimed": [_or_null(claim.low), _or_null(claim.high)],
        "statistic": getattr(claim.statistic, "__name__", ""),
        "verdict": verdict.decision,
        "value": _or_null(verdict.value),
        "interval": [_or_null(verdict.low), _or_null(verdict.high)],
        "n": verdict.n,
        "failed": verdict.failed,
        "enough_rounds": verdict.enough_rounds,
        "p": _or_null(verdict.p),
        "deterministic": verdict.deterministic,
        "missing": verdict.missing,
        "applies": verdict.applies,
        "beside": {name: _or_null(number) for name, number in verdict.companions},
        "read": verdict.panels,
        "stand_ins": verdict.stand_ins,
        "guesses": verdict.marks,
    }


def from_manifest(row: JsonObject, claim: Claim | None = None) -> Verdict:
    """Return the verdict that a row of a manifest describes.

    Args:
      row: row of the form `FORM`, as written by `of_manifest`.
      claim: current declaration of the claim, whose wording is used; None: use the declaration in the row.

    Raises:
      InputError: if the row has an unknown verdict, kind or unit, or if the claimed region of `claim` differs from that
        of the row.
    """
    if row["verdict"] not in get_args(Decision) or row["kind"] not in KINDS or row["unit"] not in get_args(Unit):
        raise InputError(f"claim {row['id']} has an unknown verdict, kind or unit")
    low, high = row["claimed"]
    ends = (-math.inf if low is None else low, math.inf if high is None else high)
    if claim is None:
        declared: dict[str, Any] = {
            name: tuple(row[name]) if isinstance(row[name], list) else row[name] for name in _DECLARED
        }
        claim = Claim(statistic=_refuse, low=ends[0], high=ends[1], **declared)
    elif not all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip((claim.low, claim.high), ends, strict=True)):
        raise InputError(
            f"claim {claim.id} was judged with another region ({ends[0]:g}, {ends[1]:g}): run the experiment again"
        )
    low, high = row["interval"]
    return Verdict(
        claim,
        row["verdict"],
        _or(row["value"], math.nan),
        _or(low, -math.inf),
        _or(high, math.inf),
        row["n"],
        row["failed"],
        row["enough_rounds"],
        _or(row["p"], math.nan),
        row["deterministic"],
        row["missing"],
        row["applies"],
        tuple((name, _or(number, math.nan)) for name, number in row["beside"].items()),
        tuple(row["read"]),
        tuple(row["stand_ins"]),
        tuple(row["guesses"]),
    )


NUMBERS = ("n", "failed", "estimate", "low", "high", "p", "beside", "verdict")  # columns of the ledger


def of_ledger(verdict: Verdict) -> dict[str, str]:
    """Return the numbers of a verdict as cells of the ledger, keyed by column (`NUMBERS`)."""
    numbers = zip(("estimate", "low", "high"), (verdict.value, verdict.low, verdict.high), strict=True)
    beside = "; ".join(f"{name.replace(';', '')} = {number:.4g}" for name, number in verdict.companions).replace(
        ",", ""
    )
    return {
        "n": str(verdict.n),
        "failed": str(verdict.failed),
        **{name: f"{number:.6g}" for name, number in numbers},
        "p": "missing" if verdict.missing else "fixed" if verdict.deterministic else f"{verdict.p:.3g}",
        "beside": beside,
        "verdict": verdict.decision,
    }


def from_ledger(row: Mapping[str, str], claim: Claim, **fields: FieldValue) -> Verdict:
    """Return the verdict that a row of the ledger describes.

    Args:
      row: cells by column.
      claim: claim of the row.
      **fields: fields of `Verdict` that other columns determine.
    """
    fixed, missing = row["p"] == "fixed", row["p"] == "missing"
    pairs = (part.rpartition(" = ") for part in row["beside"].split("; ") if part)
    decision: Any = row["verdict"]
    return dataclasses.replace(
        Verdict(claim, decision, float(row["estimate"]), float(row["low"]), float(row["high"]), int(row["n"])),
        failed=int(row["failed"]),
        p=0.0 if fixed else math.nan if missing else float(row["p"]),
        deterministic=fixed,
        missing=missing,
        companions=tuple((name, float(number)) for name, _, number in pairs),
        panels=claim.panels,
        **fields,
    )


def _refuse(measured: Measurements) -> Estimate:
    raise InputError("the statistic of this claim is unknown, since its experiment is not registered")


def _or_null(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _or(number: float | None, otherwise: float) -> float:
    return otherwise if number is None else number
