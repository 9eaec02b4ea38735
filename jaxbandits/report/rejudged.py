"""Finished runs judged anew: the results that they left, the thresholds that they had, the statistics of this version.

A statistic that is found wanting after a run need not cost another one: results are stored, and verdicts follow from
them. What may not change with it is what was claimed: a claim of another wording or threshold is refused.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from jaxbandits.base.errors import InputError
from jaxbandits.experiments.engine.claim import METHOD, Claim, Measured, region
from jaxbandits.experiments.engine.experiment import Experiment
from jaxbandits.report import files
from jaxbandits.report.ledger import Run
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
    claims = {} if experiment is None else {claim.text: claim for claim in experiment.claims}
    stem = run.name.rpartition("/")[2]
    results = {panel: Result.load(run.directory / f"{stem}-{panel}.npz") for panel in run.manifest["panels"]}
    measured = Measured(results, {})
    standing = experiment.stand_ins if experiment is not None and run.manifest["stand_ins"] else {}
    rows = [_row(run, claims, kept, measured, standing) for kept in run.manifest["claims"]]
    return run._replace(manifest={**run.manifest, "claims": rows, "method": METHOD, "judged anew": commit or "unknown"})


def _row(
    run: Run, claims: Mapping[str, Claim], kept: Mapping[str, Any], measured: Measured, standing: Mapping[str, str]
) -> Mapping[str, Any]:
    claim = claims.get(kept["claim"])
    if claim is None:
        raise InputError(f"{run.directory} has a claim that {run.name} makes no more ({kept['claim']}): run it anew")
    _, found, after = kept["why"].partition("claimed ")
    if found and not f"{after},".startswith(f"{region(claim)},"):
        raise InputError(f"{run.directory} was judged by another threshold ({kept['claim']}): run it anew")
    judged = claim.judge(measured, kept["enough_rounds"], run.manifest["preset"])
    if judged.missing:  # a time, or a label that was left out
        return {**kept, "source": dataclasses.replace(judged, stand_ins=tuple(kept["stand_ins"])).source}
    data = tuple(dict.fromkeys(standing[panel] for panel in judged.panels if panel in standing))
    row = files.row(dataclasses.replace(judged, stand_ins=data))
    return row if _same(row, kept) else row | {"at run": {name: kept[name] for name in ("verdict", "p", "interval")}}


def _same(row: Mapping[str, Any], kept: Mapping[str, Any]) -> bool:
    """Return verdict and numbers, these to rounding."""
    pairs = zip((row["value"], row["p"], *row["interval"]), (kept["value"], kept["p"], *kept["interval"]), strict=True)
    return row["verdict"] == kept["verdict"] and all(
        a == b or (None not in (a, b) and math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-12)) for a, b in pairs
    )
