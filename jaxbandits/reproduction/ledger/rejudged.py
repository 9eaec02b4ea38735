"""Finished runs judged anew: the results that they left, the thresholds that they had, the statistics of this version.

A statistic that is found wanting after a run need not cost another one: results are stored, and verdicts follow from
them. What may not change with it is what was claimed: a claim of another wording or threshold is refused.
"""

import dataclasses
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.reproduction.engine.claim import METHOD, Claim, Measured, region
from jaxbandits.reproduction.engine.experiment import Experiment
from jaxbandits.reproduction.engine.statistic import exact_share, is_share
from jaxbandits.reproduction.ledger import files
from jaxbandits.reproduction.ledger.ledger import Run
from jaxbandits.results.intervals import Estimate
from jaxbandits.results.result import Result


def rejudged(runs: Sequence[Run], experiments: Mapping[str, Experiment], commit: str | None) -> list[Run]:
    """Return the runs with the claims that their stored results have now; their directories stay as they are.

    Where a number or a verdict differs from the run's, the claim keeps that one under "at run". Claims on times keep
    their verdicts: times are not stored. Places in the papers are those that this version names.

    Args:
      runs: as `ledger.read` finds them.
      experiments: name to declaration.
      commit: of this source, as manifests name it.

    Raises:
      InputError: for a claim that is no longer there or has another threshold, or results that cannot be read.
    """
    return [_rejudged(run, experiments.get(run.name), commit) for run in runs]


def _rejudged(run: Run, experiment: Experiment | None, commit: str | None) -> Run:
    stem = run.name.rpartition("/")[2]
    results = {panel: Result.load(run.directory / f"{stem}-{panel}.npz") for panel in run.manifest["panels"]}
    measured = Measured(results, {})
    standing = experiment.stand_ins if experiment is not None and run.manifest["stand_ins"] else {}
    rows = [_row(run, experiment, kept, measured, standing) for kept in run.manifest["claims"]]
    fields = {} if experiment is None else _fields(experiment, run)
    return run._replace(
        manifest={**run.manifest, **fields, "claims": rows, "method": METHOD, "judged anew": commit or "unknown"}
    )


def _row(
    run: Run, experiment: Experiment | None, kept: Mapping[str, Any], measured: Measured, standing: Mapping[str, str]
) -> Mapping[str, Any]:
    claim = _declared(run, experiment, kept)
    marks = () if experiment is None else experiment.marks(claim)
    judged = claim.judge(measured, kept["enough_rounds"], run.manifest["preset"])
    judged = dataclasses.replace(judged, marks=marks)
    if judged.missing:  # a time, or a label that was left out
        source = dataclasses.replace(judged, stand_ins=tuple(kept["stand_ins"])).source
        return {**kept, **files.declared(claim), "source": source}
    data = tuple(dict.fromkeys(standing[panel] for panel in judged.panels if panel in standing))
    row = files.row(dataclasses.replace(judged, stand_ins=data))
    return row if _same(row, kept) else row | {"at run": {name: kept[name] for name in ("verdict", "p", "interval")}}


def _declared(run: Run, experiment: Experiment | None, kept: Mapping[str, Any]) -> Claim:
    """Return the claim of a stored row, whose wording and threshold must be those of the row."""
    claims = {} if experiment is None else {claim.text: claim for claim in experiment.claims}
    if (claim := claims.get(kept["claim"])) is None:
        raise InputError(f"{run.directory} has a claim that {run.name} makes no more ({kept['claim']}): run it anew")
    _, found, after = kept["why"].partition("claimed ")
    if found and not f"{after},".startswith(f"{region(claim)},"):
        raise InputError(f"{run.directory} was judged by another threshold ({kept['claim']}): run it anew")
    return claim


def _fields(experiment: Experiment, run: Run) -> dict[str, Any]:
    """Return what a manifest says of a declaration that no run depends on, and its real data."""
    real = [] if run.manifest["stand_ins"] else list(dict.fromkeys(experiment.stand_ins.values()))
    named = {"notes": list(experiment.notes), "headline": experiment.headline, "presets": dict(experiment.presets)}
    return {**named, "real_data": real}


def described(runs: Sequence[Run], experiments: Mapping[str, Experiment], anew: Collection[str] = ()) -> list[Run]:
    """Return the runs of a JSON with places, kinds, sentences and notes of this version; verdicts are as they are.

    Where another version wrote it, p is that of this one, from the numbers that are printed.

    Args:
      runs: as `record.read_settings` returns them.
      experiments: name to declaration; runs of others stay as they are.
      anew: experiments that a later run judges: claims that are no longer there, or have another threshold, are left
        out of their earlier runs.

    Raises:
      InputError: for such a claim of any other experiment.
    """
    return [
        run if run.name not in experiments else _described(run, experiments[run.name], run.name in anew) for run in runs
    ]


def _described(run: Run, experiment: Experiment, is_superseded: bool) -> Run:
    rows = []
    for kept in run.manifest["claims"]:
        if "why" not in kept:  # of a run beside the usual one verdicts are kept only
            rows.append(kept)
            continue
        try:
            claim = _declared(run, experiment, kept)
        except InputError:
            if not is_superseded:
                raise
            continue
        before = {name: value for name, value in kept.items() if name not in _DECLARED}
        data = tuple(re.findall("on a stand-in for ([^;]+)", kept["source"]))
        standing = tuple(f"on a stand-in for {name}" for name in data)
        source = "; ".join((claim.source, *standing, *experiment.marks(claim)))
        p = kept["p"] if run.manifest["method"] == METHOD else _p_of_printed(kept, claim)
        rows.append({**before, **files.declared(claim), "source": source, "p": p})
    found = run._replace(manifest={**run.manifest, **_fields(experiment, run), "claims": rows, "method": METHOD})
    if found.usual and not any("why" in row for row in rows):
        return found._replace(manifest={**found.manifest, "claims": _of_verdicts(found, experiment)})
    return found


_NUMBER = r"-?[\d.]+(?:e[+-]?\d+)?"
_PRINTED = re.compile(rf"({_NUMBER}) in \[({_NUMBER}), ({_NUMBER})\], claimed")


def _p_of_printed(kept: Mapping[str, Any], claim: Claim) -> float | None:
    """Return the p of a stored row by this version, from the numbers that it prints; that of the row where it has none.

    A share has the p of its exact interval, if its four digits tell the successes, without ties.
    """
    found = _PRINTED.match(kept["why"])
    if kept["p"] is None or kept["fixed"] or found is None:
        return kept["p"]
    value, low, high = (float(number) for number in found.groups())
    estimate = Estimate(*map(np.asarray, (value, low, high)), n=kept["seeds"])
    if is_share(claim.statistic):
        estimate = exact_share(round(value * kept["seeds"]), kept["seeds"])
        if [f"{float(number):.4g}" for number in estimate[:3]] != list(found.groups()):
            return kept["p"]
    return claim.p_value(estimate)


def _of_verdicts(run: Run, experiment: Experiment) -> list[Mapping[str, Any]]:
    """Return full rows of a run that stood beside another one, whose verdicts were kept without their numbers."""
    verdicts = {row["claim"]: row["verdict"] for row in run.manifest["claims"]}
    standing = dict.fromkeys(run.manifest["stand_ins"].values())
    rows = []
    for claim in experiment.claims:
        if claim.text in verdicts:
            marks = (*(f"on a stand-in for {name}" for name in standing), *experiment.marks(claim))
            numbers = {"why": "the numbers of this run are not kept", "seeds": run.manifest["request"]["seeds"]}
            flags = {"p": None, "fixed": False, "applies": True, "missing": False}
            named = {"claim": claim.text, **files.declared(claim), "source": "; ".join((claim.source, *marks))}
            rows.append({**named, "verdict": verdicts[claim.text], **numbers, **flags})
    return rows


_DECLARED = ("kind", "sentence", "cannot fail", "remark", "source")


def _same(row: Mapping[str, Any], kept: Mapping[str, Any]) -> bool:
    """Return verdict and numbers, these to rounding."""
    pairs = zip((row["value"], row["p"], *row["interval"]), (kept["value"], kept["p"], *kept["interval"]), strict=True)
    return row["verdict"] == kept["verdict"] and all(
        a == b or (None not in (a, b) and math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-12)) for a, b in pairs
    )
