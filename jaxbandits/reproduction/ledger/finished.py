"""Find finished runs of `reproduce` by their requests, so that nothing is computed twice or overwritten by accident."""

import hashlib
import json
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import jax

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.forms import JsonObject
from jaxbandits.engine.identity import digest_of_spec, guard
from jaxbandits.reproduction.engine.experiment import Experiment
from jaxbandits.reproduction.engine.run import Report
from jaxbandits.reproduction.ledger import manifest as manifests
from jaxbandits.reproduction.ledger import rows
from jaxbandits.reproduction.ledger.manifest import MANIFEST
from jaxbandits.reproduction.ledger.runs import overlap

REPLACED = "replaced.json"  # name of the manifest of a run that an unfinished run replaces


def request(  # noqa: PLR0913
    experiment: Experiment,
    *,
    seeds: int | None,
    horizon: int | None,
    preset: str | None,
    without: Sequence[str],
    seed: int,
    data: Path | None,
    first_seed: int = 0,
    timing: bool = True,
    host_code: Sequence[str] = (),
    identity: str | None = None,
    compile: str = "full",
) -> dict[str, Any]:
    """Return the request of a run, a JSON object with everything that determines its numbers.

    The user's data and the environments of all panels are represented by digests. The environments contain data that
    the experiment finds on this machine by itself, such as those of an installed package.

    Args:
      experiment: experiment to run.
      seeds: number of seeds; None: the number that the experiment declares.
      horizon: rounds per trial; None: the number that the experiment declares.
      preset: name of the preset; None: the default preset.
      without: labels of the learners that are left out.
      seed: base seed.
      data: file or directory of the user's data; None: no data.
      first_seed: index of the first seed.
      timing: True if times are measured.
      host_code: descriptions of the user's code on which the run depends and which no digest covers completely.
      identity: name that the user gives to the version of this code; None: no name.
      compile: how rounds are compiled, as in `Options`.

    Raises:
      InputError: for an unknown preset.
    """
    rounds = experiment.horizon if horizon is None else horizon
    environments = {name: panel.environment for name, panel in experiment.panels(rounds).items()}
    asked = {
        "experiment": experiment.name,
        "preset": experiment.preset(preset),
        "seeds": experiment.seeds if seeds is None else seeds,
        "horizon": rounds,
        "seed": seed,
        "first seed": first_seed,
        "timing": timing,
        "without": sorted(set(without)),
        "reading": experiment.interpretation,
        "data": None if data is None else _digest(data),
        "environments": digest_of_spec(environments),
    }
    if compile != "full":
        asked["compile"] = compile
    if identity is not None:
        asked["identity"] = identity
    elif host_code:
        asked["host code"] = list(host_code)
    return asked | guard(asked, 0, jax.local_devices())


def _digest(data: Path) -> str:
    """Return the digest of a file, or of the names and contents of all files in a directory."""
    if not data.is_dir():
        return hashlib.sha256(data.read_bytes()).hexdigest()
    found = hashlib.sha256()
    for path in sorted(path for path in data.rglob("*") if path.is_file()):
        found.update(f"{path.relative_to(data)}\0".encode())
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def refuse_a_sweep(directory: Path) -> None:
    """Check that a directory does not hold a sweep, which the files of a run would make unreadable.

    Raises:
      InputError: if the directory holds a sweep.
    """
    try:
        manifest = manifests.load(directory / MANIFEST)
    except (FileNotFoundError, InputError):
        return
    if manifests.is_of_a_sweep(manifest):
        raise InputError(f"{directory} holds a sweep: --out DIR gives the run a directory of its own")


def find(experiment: Experiment, asked: JsonObject, directory: Path) -> Report | None:
    """Return the finished run in a directory, with its verdicts but without its results; None if there is none.

    A run of which a file is missing does not count as finished.

    Args:
      experiment: experiment to run.
      asked: request of the run (`request`).
      directory: directory of the run.

    Raises:
      InputError: if the directory holds a sweep, or a run that differs from the request; the message is one line that
        names the difference.
    """
    refuse_a_sweep(directory)
    path = directory / MANIFEST
    try:
        manifest = manifests.read(path, "--overwrite replaces the run in this directory")
    except FileNotFoundError:
        return None
    before, files = manifest["request"] or {}, [directory / name for name in manifest.get("files", ())]
    if before != asked:
        raise InputError(
            f"{directory} holds a finished run that differs in {_difference(before, asked)}: --out DIR keeps both, "
            "--overwrite replaces it"
        )
    if found := ", ".join(asked.get("host code", ())):
        raise InputError(
            f"{directory} holds a finished run, perhaps of other code ({found}; no digest identifies its "
            "version): --overwrite replaces it, --out DIR keeps both, "
            "--identity NAME (of the version of that code) lets equal runs be found"
        )
    if not all(file.exists() for file in files):
        return None
    claims = {claim.id: claim for claim in experiment.claims}
    judged = [row["id"] for row in manifest["claims"]]
    if judged != [*claims]:
        first = next((name for name in (*claims, *judged) if (name in claims) != (name in judged)), "their order")
        raise InputError(
            f"{directory} holds a finished run whose claims differ from those of {experiment.name} "
            f"({format_value(first)}): "
            "--out DIR keeps both, --overwrite replaces it"
        )
    try:
        verdicts = tuple(rows.from_manifest(row, claims[row["id"]]) for row in manifest["claims"])
    except (InputError, ValueError, TypeError) as error:
        raise InputError(f"{path}: {error}, or --overwrite replaces the run in this directory") from None
    return Report(experiment, asked["preset"], asked["horizon"], {}, {}, verdicts)


def set_aside(directory: Path) -> None:
    """Rename the manifest of the run in a directory, if any, so that a new run can replace it.

    Until the new run is finished, the renamed manifest records which run is replaced, even after an interruption.
    """
    if (directory / MANIFEST).exists():
        os.replace(directory / MANIFEST, directory / REPLACED)


def discard_earlier(directory: Path, kept: Collection[Path]) -> None:
    """Delete the files of a replaced run, such as figures that the new run does not draw, and its renamed manifest.

    Args:
      directory: directory of the runs.
      kept: files of the new run.
    """
    path = directory / REPLACED
    try:
        names = [name for name in manifests.load(path)["files"] if isinstance(name, str)]
    except (FileNotFoundError, InputError, TypeError, KeyError):
        names = []
    for old in (directory / Path(name).name for name in names):  # names only, without folders
        if old.is_file() and old not in kept:
            old.unlink()
    path.unlink(missing_ok=True)


def judged_before(asked: JsonObject, directory: Path) -> str:
    """Return the seeds of a replaced run in the directory if they partly overlap the seeds of the request; else "".

    If a run replaces an earlier run with more or fewer seeds, its manifest has to name the earlier seeds, since the
    earlier verdicts may have influenced the new number of seeds.
    """
    try:
        before = manifests.load(directory / REPLACED)["request"] or {}
        alike = all(before[name] == asked[name] for name in ("experiment", "preset", "reading", "horizon"))
        first = before.get("first seed", 0)
        return f"{first} to {first + before['seeds'] - 1}" if alike and overlap(_seeds(before), _seeds(asked)) else ""
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return ""


def _seeds(asked: JsonObject) -> tuple[int, int, int]:
    return asked.get("seed", 0), asked.get("first seed", 0), asked["seeds"]


def _difference(before: JsonObject, asked: JsonObject) -> str:
    """Describe the fields that differ, with their values if these are short."""
    names = [name for name in asked | before if before.get(name) != asked.get(name) and name != "spec"]
    shown = []
    for name in names:
        old, new = (json.dumps(value[name]) if name in value else "none" for value in (before, asked))
        name = _WORDS.get(name, name)
        shown.append(f"{name} ({old}, now {new})" if len(old) + len(new) < 40 else name)
    return ", ".join(shown)


_WORDS = {"without": "learners left out", "reading": "interpretation"}
