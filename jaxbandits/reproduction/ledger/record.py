"""Finished runs as JSON, so that a ledger can be extended when their directories are gone."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxbandits.base.errors import InputError
from jaxbandits.base.files import write_atomically
from jaxbandits.base.forms import misfit
from jaxbandits.reproduction.engine.claim import METHOD
from jaxbandits.reproduction.ledger.ledger import Run
from jaxbandits.reproduction.ledger.manifest import FORM

_KEPT = ("experiment", "title", "preset", "declared", "horizon", "request", "reading", "notes", "headline",
         "stand_ins", "real_data", "commit", "wall_s", "judged before", "judged anew")  # fmt: skip
_NEEDED = ("experiment", "title", "preset", "presets", "declared", "horizon", "request", "stand_ins", "manifest")
_OF_CLAIMS = (
    "claim",
    "kind",
    "sentence",
    "cannot fail",
    "remark",
    "source",
    "verdict",
    "why",
    "seeds",
    "p",
    "fixed",
    "applies",
    "missing",
    "at run",
)


def settings(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the settings and verdicts of runs, without their directories.

    It is enough to run them again, and to write the page of tables again, with other runs beside them. Of a run beside
    the usual one the page shows the verdicts only.
    """
    rows, has_usual = [], {run.name for run in runs if run.usual}
    for run in runs:
        made = run.manifest
        row = {name: made[name] for name in _KEPT if name in made}
        row |= {"presets": made["presets"], "manifest": run.digest}
        row["request"] = {name: value for name, value in run.asked.items() if name != "settings"}  # JAX's, a page
        row |= {} if made.get("method") == METHOD else {"method": made.get("method")}
        if run.usual or run.is_default or run.name not in has_usual:
            row["claims"] = [_of_claim(claim) for claim in made["claims"]]
        else:
            judged = [claim for claim in made["claims"] if claim["applies"] and not claim["missing"]]
            row["verdicts"] = {claim["claim"]: claim["verdict"] for claim in judged}
        rows.append(row)
    return {"method": METHOD, "runs": rows}


def _of_claim(claim: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a claim that are kept, p with three digits."""
    kept = {name: claim[name] for name in _OF_CLAIMS if name in claim}
    return kept if kept.get("p") is None else {**kept, "p": float(f"{kept['p']:.3g}")}


def read_settings(path: Path) -> list[Run]:
    """Return the runs that `write_settings` wrote; their directories may be gone.

    Raises:
      InputError: when the file cannot be read or was written otherwise.
    """
    try:
        body = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    try:
        kept = json.loads(body)
        runs = []
        for row in kept["runs"]:
            if missing := [name for name in _NEEDED if name not in row]:
                raise KeyError(missing[0])
            claims = [
                {"claim": claim, "verdict": verdict, "applies": True, "missing": False}
                for claim, verdict in row.get("verdicts", {}).items()
            ]
            manifest = {"method": kept["method"], "claims": claims, **row}
            if (wrong := misfit(manifest, {**FORM, "manifest": str})) is not None:
                raise InputError(f"{path} was not written by `jaxbandits report --settings` ({wrong})")
            runs.append(Run(path.parent, manifest, row["manifest"]))
    except InputError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} was not written by `jaxbandits report --settings` ({type(error).__name__})") from None
    return runs


def joined(runs: Sequence[Run], kept: Sequence[Run]) -> list[Run]:
    """Return runs together with earlier ones; of two with the same request, the new one.

    A usual run takes the place of an earlier one with other seeds, which then stands beside it.
    """
    mine = {_request(run) for run in runs}
    others = [run for run in kept if _request(run) not in mine]
    return [*(run for run in runs if run.usual), *others, *(run for run in runs if not run.usual)]


def _request(run: Run) -> tuple[str, ...]:
    names = ("seeds", "seed", "first seed", "reading", "without", "data")
    asked = (str(run.asked.get(name) or "") for name in names)
    return run.name, run.manifest["preset"], run.precision, str(run.manifest["horizon"]), *asked


def write_settings(runs: Sequence[Run], path: Path) -> Path:
    """Write `settings` to a JSON file.

    Raises:
      InputError: when the path cannot be written.
    """
    write_atomically(path, (json.dumps(settings(runs), indent=1) + "\n").encode())
    return path
