"""Re-evaluate the claims of stored results with the statistics of this version, without a new run."""

import dataclasses

from jaxbandits.base.errors import InputError
from jaxbandits.reproduction.engine.claim import Measurements
from jaxbandits.reproduction.engine.verdict import Verdict, judge
from jaxbandits.reproduction.ledger.runs import Run
from jaxbandits.results.result import Result


def update_verdicts(run: Run) -> Run:
    """Return a run with verdicts that are computed again from its stored results.

    Claims about times keep their verdicts, since timings are not stored.

    Args:
      run: run with its directory, as returned by `runs.read`.

    Raises:
      InputError: if the run was read from a ledger, which has no results, or if results cannot be read.
    """
    if run.directory is None:
        raise InputError(f"a CSV file has no results of {run.experiment}: name the directory of the runs")
    stem = f"{run.experiment.rpartition('/')[2]}-"
    paths = [run.directory / name for name in run.files if name.endswith(".npz")]
    measured = Measurements({path.stem.removeprefix(stem): Result.load(path) for path in paths}, {})
    return run._replace(verdicts=tuple(_update_verdict(verdict, measured, run.preset) for verdict in run.verdicts))


def _update_verdict(verdict: Verdict, measured: Measurements, preset: str) -> Verdict:
    found = judge(verdict.claim, measured, verdict.enough_rounds, preset)
    return verdict if found.missing else dataclasses.replace(found, stand_ins=verdict.stand_ins, marks=verdict.marks)
