"""Files that `reproduce` writes: figures, result files, tables and a manifest, each replaced atomically."""

import json
import math
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxbandits.analysis import table
from jaxbandits.base.files import write_atomically
from jaxbandits.base.forms import JsonObject
from jaxbandits.base.text import count_of
from jaxbandits.base.versions import versions
from jaxbandits.reproduction.engine.experiment import Experiment
from jaxbandits.reproduction.engine.run import Report
from jaxbandits.reproduction.engine.verdict import METHOD
from jaxbandits.reproduction.figures import render
from jaxbandits.reproduction.ledger import rows, tables
from jaxbandits.results.result import Result

_MOST_ROWS = 20  # largest number of rows of a table


class Start(NamedTuple):
    """Start of a run: the commit of the source and the time before anything is computed."""

    commit: str | None  # commit of a git checkout, with a "+" if files have changed since the commit; else None
    at: float  # start time, in seconds of `time.perf_counter`

    @classmethod
    def at_present(cls) -> "Start":
        """Return the start of a run that begins with this call."""
        return cls(commit(), time.perf_counter())


def text(report: Report) -> str:
    """Return a report as text: claims with verdicts, tables of every panel, and notes."""
    experiment = report.experiment
    lines = [f"{experiment.name}: {experiment.title} ({experiment.source})"]
    lines += [f"preset {report.preset}: {experiment.presets[report.preset]}"]
    lines += [f"reading {experiment.interpretation}: {reading}"] if (reading := _reading(experiment)) else []
    lines += [f"panel {panel}: a stand-in for {data}" for panel, data in experiment.standing_in(report.panels).items()]
    lines += [f"real data: {name}" for name in experiment.data_sets(report.panels)]
    lines += ["", tables.claims(report.judged)] if report.judged else []
    for panel, result in report.results.items():
        rounds = _rounds({label: trials.horizon for label, trials in result.trials.items()})
        for metric in (experiment.metric, *experiment.tabulated):
            header = f"panel {panel}: {metric.replace('_', ' ')} after {rounds}"
            summed = result.summary(metric)
            if len(summed) > _MOST_ROWS:
                header += f"; {len(summed):,} points, the best {_MOST_ROWS} of them"
                summed = sorted(summed, key=lambda row: row.mean)[:_MOST_ROWS]
            lines += ["", header, table.summary(summed, metric)]
    unit = experiment.timed.unit if experiment.timed else ""
    for (panel, _), times in report.times.items():
        lines += ["", f"panel {panel}: {tables.times(times, unit)}"]
    for panel, points in report.chosen.items():
        lines += ["", f"panel {panel}: chosen on {_tuning_seeds(experiment, points)}"]
        lines += [_point(label, point, label in report.edges.get(panel, ())) for label, point in points.items()]
    if report.horizon != experiment.horizon:
        lines += [
            "",
            f"The experiment declares {experiment.horizon:,} rounds; these numbers are for {report.horizon:,} rounds.",
        ]
    lines += ["", *(f"note: {note}" for note in experiment.notes)]
    return "\n".join(lines)


def _rounds(horizons: Mapping[str, int]) -> str:
    """Describe the numbers of rounds of the learners of a panel: one number if all are equal, else one per learner."""
    if len(set(horizons.values())) == 1:
        return count_of(next(iter(horizons.values())), "round")
    return "rounds per learner: " + ", ".join(f"{label} {rounds:,}" for label, rounds in horizons.items())


def _reading(experiment: Experiment) -> str:
    """Describe the interpretation; "" for the usual reading."""
    return experiment.interpretations[experiment.interpretation].text if experiment.interpretation else ""


def _tuning_seeds(experiment: Experiment, labels: Iterable[str]) -> str:
    """Describe the seeds on which the multipliers of labels were chosen, and fewer seeds or rounds of slow labels."""
    tuning = experiment.tuning
    if tuning is None:
        return "other seeds"
    slow = [
        f"; {label} on {count_of(seeds, 'seed')}" + f" and 1/{part} of the rounds" * (part > 1)
        for label, (seeds, part) in tuning.slow.items()
        if label in labels
    ]
    rounds = f" and 1/{tuning.part} of the rounds" * (tuning.part > 1)
    return count_of(tuning.seeds, "other seed") + rounds + "".join(slow)


def _point(label: str, point: Mapping[str, Any], at_edge: bool) -> str:
    return f"{label}: {', '.join(f'{k} = {v:.4g}' for k, v in point.items())}{' (edge)' if at_edge else ''}"


def effort(report: Report, wall_s: float) -> str:
    """Describe the cost of a run (rounds and seconds) in one phrase."""
    every = [trials for result in report.results.values() for trials in result.trials.values()]
    played = sum(trials.timing.get("rounds", 0) for trials in every)
    total = sum(len(trials.points) * len(trials.seeds) * trials.horizon for trials in every)
    before = f" (of {total:,}; the others were played in an earlier process)" if played < total else ""
    timing = ", timing" if report.times else ""
    return f"{played:,} rounds{before} in {wall_s:.1f} s, compilation{timing} and figures included"


def text_name(experiment: Experiment) -> str:
    """Return the name of the file that holds the text of a report."""
    return f"{experiment.name.rpartition('/')[2]}.txt"


def write(
    report: Report,
    directory: Path,
    request: Mapping[str, Any] | None = None,
    start: Start | None = None,
    before: str = "",
    formats: Sequence[str] = render.FORMATS,
) -> list[Path]:
    """Write all files of a run into `directory` and return their paths.

    Args:
      report: report to write.
      directory: existing directory.
      request: request of the run (`finished.request`), by which a repeated command finds it; None: unknown.
      start: start of the run; None: unknown, so that the manifest has no commit and no duration.
      before: seeds of an earlier run that this run replaces (`finished.judged_before`); "" for none.
      formats: formats of the figures, a subset of `render.FORMATS`.

    Raises:
      InputError: if a path cannot be written; the message names it.
    """
    stem = directory / report.experiment.name.rpartition("/")[2]
    written = [result.save(directory / f"{stem.name}-{panel}.npz") for panel, result in report.results.items()]
    path = directory / text_name(report.experiment)
    write_atomically(path, (text(report) + "\n").encode())
    for i, drawing in enumerate(report.experiment.figures):
        if getattr(drawing, "timed", False) and not report.times:
            continue
        name = stem.with_name(f"{stem.name}-{drawing.name}") if i else stem
        written += render.save(render.draw(report, drawing), name, formats)
    unit = report.experiment.timed.unit if report.experiment.timed else ""
    manifest = {
        "experiment": report.experiment.name,
        "title": report.experiment.title,
        "source": report.experiment.source,
        "preset": report.preset,
        "presets": dict(report.experiment.presets),
        "reading": _reading(report.experiment),
        "notes": report.experiment.notes,
        "stand_ins": report.experiment.standing_in(report.panels),
        "real_data": report.experiment.data_sets(report.panels),
        "declared": {
            "horizon": report.experiment.horizon,
            "seeds": report.experiment.seeds,
            "float64": report.experiment.float64,
        },
        "horizon": report.horizon,
        "request": request,
        "command": shlex.join(["jaxbandits", *sys.argv[1:]]),
        "versions": versions(),
        **({"judged before": before} if before else {}),
        "commit": None if start is None else start.commit,
        "wall_s": None if start is None else time.perf_counter() - start.at,
        "times": [{"panel": panel, "text": tables.times(times, unit)} for (panel, _), times in report.times.items()],
        "chosen": report.chosen,
        "edges": report.edges,
        "panels": {panel: _ran(result) for panel, result in report.results.items()},
        "method": METHOD,
        "claims": [rows.of_manifest(verdict) for verdict in report.judged],
        "files": [p.name for p in (*written, path)],
    }
    body = json.dumps(_strict(manifest), indent=1, default=str, allow_nan=False)
    write_atomically(directory / "manifest.json", body.encode())
    return [*written, path, directory / "manifest.json"]


def commit() -> str | None:
    """Return the commit of a git checkout, with a "+" if files have changed since then; None without a checkout.

    A package that is installed below another checkout, as in a virtual environment, is not part of it.
    """
    package = Path(__file__).parents[2]
    try:
        asked = [
            ["ls-files", "--error-unmatch", "--", __file__],  # fails if git does not track this file
            ["rev-parse", "--short=12", "HEAD"],
            ["status", "--porcelain", "--", str(package)],
        ]
        _, head, changed = (
            subprocess.run(["git", *words], cwd=package, capture_output=True, text=True, check=True, timeout=20).stdout
            for words in asked
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return head.strip() + ("+" if changed.strip() else "")


def _ran(result: Result) -> JsonObject:
    """Return versions, devices and wall time of a result, and for each label its algorithm and duration."""
    return result.info | {
        "labels": {label: {"spec": trials.spec, "timing": trials.timing} for label, trials in result.trials.items()}
    }


def _strict(value: object) -> Any:
    """Replace NaN and infinities, which JSON lacks, by None."""
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
