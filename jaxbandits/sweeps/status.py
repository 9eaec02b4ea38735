"""Status of a sweep, read from its directory alone by any process at any time."""

import os
from typing import Any

from jaxbandits.base import files
from jaxbandits.sweeps.directory import Directory


def status(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The state of a sweep as a JSON value.

    Args:
      path: its directory.

    Returns:
      `parts`, `trials` and `rounds` with the numbers of each state; `failed_trials` (with a NaN or an infinity) and
      `inadmissible_trials` (inadmissible decisions) of what is done; `rounds_per_s` of one process, None before the
      first part is done; `seconds_left` at that rate by all that run now; `running` and `failures` part by part.

    Raises:
      InputError: when the directory holds no sweep.
    """
    directory = Directory(path)
    manifest = directory.read_manifest()
    states = {"done": 0, "running": 0, "failed": 0, "missing": 0}
    trials = {"total": 0, "done": 0}
    rounds = {"total": 0, "done": 0}
    found: dict[str, Any] = {"failed_trials": 0, "inadmissible_trials": 0}
    running, failures = [], []
    computed, seconds, left = 0, 0.0, 0
    for part in manifest["parts"]:
        name = part["name"]
        trials["total"] += part["trials"]
        rounds["total"] += part["rounds"]
        record = directory.record(name)
        played = 0 if record else min(part["rounds"], directory.played(name, part["width"]))
        if record is not None:
            state, played = "done", part["rounds"]
            trials["done"] += part["trials"]
            computed += record["timing"]["rounds"]
            seconds += max(1e-9, record["wall_s"] - record["timing"]["compile_s"])
            for count in ("failed_trials", "inadmissible_trials"):
                found[count] += record[count]
        elif files.is_locked(directory.working(name)):
            state = "running"
            running.append({"part": name, "label": part["label"], "rounds": played, "of": part["rounds"]})
        elif (error := directory.failure(name)) is not None:
            state = "failed"
            failures.append({"part": name, "label": part["label"], "error": error})
        else:
            state = "missing"
        states[state] += 1
        rounds["done"] += played
        left += part["rounds"] - played if state in ("running", "missing") else 0
    rate = computed / seconds if computed and seconds else None
    return {
        "directory": str(directory.path),
        "parts": {"total": len(manifest["parts"]), **states},
        "trials": trials,
        "rounds": rounds,
        **found,
        "rounds_per_s": rate,
        "seconds_left": None if rate is None else left / rate / max(1, len(running)),
        "running": running,
        "failures": failures,
    }


def text(found: dict[str, Any]) -> str:
    """The state of a sweep in a few lines."""
    parts, trials, rounds = found["parts"], found["trials"], found["rounds"]
    lines = [
        f"{found['directory']}: {parts['done']:,} of {parts['total']:,} parts done, {parts['running']:,} running, "
        f"{parts['missing']:,} missing, {parts['failed']:,} failed",
        f"{trials['done']:,} of {trials['total']:,} trials, {share(rounds['done'], rounds['total'])} of the rounds",
        f"{found['failed_trials']:,} trials with a NaN or an infinity, {found['inadmissible_trials']:,} with "
        "inadmissible decisions",
    ]
    if found["rounds_per_s"] is not None:
        at_rate = f"{found['rounds_per_s'] / 1e6:,.3g} M rounds/s a process"
        more = parts["running"] or parts["missing"]
        lines.append(f"{at_rate}, {duration(found['seconds_left'])} left" if more else at_rate)
    lines += [f"running {p['part']} ({p['label']}): {share(p['rounds'], p['of'])}" for p in found["running"]]
    lines += [f"failed {p['part']} ({p['label']}): {p['error']}" for p in found["failures"]]
    return "\n".join(lines)


def share(part: float, whole: float) -> str:
    """A percentage."""
    return f"{100.0 * part / whole:.3g} %"


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
