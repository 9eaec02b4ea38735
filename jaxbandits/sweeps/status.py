"""Status of a sweep, which any process can read from its directory at any time."""

import os

from jaxbandits.base.forms import JsonObject
from jaxbandits.sweeps.directory import Directory, PartState


def read_status(path: str | os.PathLike[str]) -> JsonObject:
    """Return the state of a sweep as a JSON object.

    Args:
      path: directory of the sweep.

    Returns:
      A dict with the entries:

      * `directory`: path of the sweep.
      * `parts`: dict with the total number of parts and the number in each state.
      * `trials`, `rounds`: dicts with the total number and the number done (rounds also in parts that are not done).
      * `failed_trials`: number of finished trials with a NaN or an infinity.
      * `inadmissible_trials`: number of finished trials with inadmissible decisions.
      * `rounds_per_s`: rate of one process, measured on finished parts; if no part is finished, on the checkpoints of
        running parts; None if there are no checkpoints either.
      * `seconds_left`: time left at this rate with the number of processes that are running; None without a rate.
      * `running`: list of the running parts.
      * `failures`: list of the failed parts, with their errors.

    Raises:
      InputError: if the directory holds no sweep.
    """
    directory = Directory(path)
    manifest = directory.read_manifest()
    states = {"done": 0, "running": 0, "failed": 0, "missing": 0}
    trials = {"total": 0, "done": 0}
    rounds = {"total": 0, "done": 0}
    bad_trials = {"failed_trials": 0, "inadmissible_trials": 0}
    running, failures = [], []
    computed, seconds, left = 0, 0.0, 0
    under_way, busy = 0, 0.0  # rounds and seconds of the running parts
    for part in manifest["parts"]:
        name = part["name"]
        trials["total"] += part["trials"]
        rounds["total"] += part["rounds"]
        state, record = directory.read_state(name), directory.read_record(name)
        played = min(part["rounds"], directory.count_rounds(name, part["width"]))
        if state is PartState.DONE and record is not None:
            played = part["rounds"]
            trials["done"] += part["trials"]
            computed += record["timing"]["rounds"]
            seconds += _seconds_of_rounds(record["wall_s"], record["timing"]["compile_s"])
            for count in ("failed_trials", "inadmissible_trials"):
                bad_trials[count] += record[count]
        elif state is PartState.RUNNING:
            running.append({"part": name, "label": part["label"], "rounds": played, "of": part["rounds"]})
            under_way, busy = under_way + played, busy + directory.seconds_since_begin(name)
        elif state is PartState.FAILED:
            failures.append({"part": name, "label": part["label"], "error": directory.read_failure(name) or ""})
        states[state.value] += 1
        rounds["done"] += played
        left += part["rounds"] - played if state in (PartState.RUNNING, PartState.MISSING) else 0
    if not computed:
        computed, seconds = under_way, busy
    rate = computed / seconds if computed and seconds else None
    return {
        "directory": str(directory.path),
        "parts": {"total": len(manifest["parts"]), **states},
        "trials": trials,
        "rounds": rounds,
        **bad_trials,
        "rounds_per_s": rate,
        "seconds_left": None if rate is None else left / rate / max(1, len(running)),
        "running": running,
        "failures": failures,
    }


def format_status(state: JsonObject) -> str:
    """Format the state of a sweep in a few lines."""
    parts, trials, rounds = state["parts"], state["trials"], state["rounds"]
    lines = [
        f"{state['directory']}: {parts['done']:,} of {parts['total']:,} parts done, {parts['running']:,} running, "
        f"{parts['missing']:,} missing, {parts['failed']:,} failed",
        f"{trials['done']:,} of {trials['total']:,} trials, {_percent(rounds['done'], rounds['total'])} of the rounds",
        f"{state['failed_trials']:,} trials with a NaN or an infinity, {state['inadmissible_trials']:,} with "
        "inadmissible decisions",
    ]
    if state["rounds_per_s"] is not None:
        rate = f"{state['rounds_per_s'] / 1e6:,.3g} million rounds/s per process"
        is_unfinished = parts["running"] or parts["missing"]
        lines.append(f"{rate}, {format_seconds(state['seconds_left'])} left" if is_unfinished else rate)
    lines += [f"running {p['part']} ({p['label']}): {_percent(p['rounds'], p['of'])}" for p in state["running"]]
    lines += [f"failed {p['part']} ({p['label']}): {p['error']}" for p in state["failures"]]
    return "\n".join(lines)


def _seconds_of_rounds(wall_s: float, compile_s: float) -> float:
    """Return the seconds that the rounds of a part took: wall time less compilation, if compilation took less."""
    return wall_s - compile_s if compile_s < wall_s else wall_s


def _percent(part: float, whole: float) -> str:
    return f"{100.0 * part / whole:.3g} %"


def format_seconds(seconds: float) -> str:
    """Format a duration in seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
