"""One directory from those of several machines: the same sweep, computed in shares without a common file system."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxbandits.base import files
from jaxbandits.base.errors import InputError, shown
from jaxbandits.sweeps.directory import Directory
from jaxbandits.sweeps.load import SweepResult, load_sweep


def merge_sweeps(directories: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str]) -> SweepResult:
    """Copies the finished parts of several directories of one sweep into one, where the sweep may go on.

    Parts are files with the same bytes whoever computed them: shards merge to what one machine would have written. What
    failed, and was done nowhere, stays failed. May be called again when more is done.

    Args:
      directories: of the same sweep, at least one.
      out: a new directory, or one of that sweep.

    Returns:
      What `out` holds afterwards.

    Raises:
      InputError: directories of different sweeps (naming what differs), a part that is damaged, or of which two
        directories hold different results.
    """
    if not isinstance(directories, (list, tuple)) or not directories:
        raise InputError(f"merge needs a list of directories, got {shown(directories)}")
    sources, target = [Directory(path) for path in directories], Directory(out)
    manifests = [source.read_manifest() for source in sources]
    for source, manifest in zip(sources, manifests, strict=True):
        _same(manifests[0], manifest, f"{sources[0].path} and {source.path}")
    content = {key: value for key, value in manifests[0].items() if key != "format"}
    target.begin(content, lambda saved, now: _same(saved, now, f"{target.path} and {sources[0].path}"))
    for part in content["parts"]:
        _merge_part(part["name"], sources, target)
    return load_sweep(target.path)


def _merge_part(name: str, sources: Sequence[Directory], target: Directory) -> None:
    """Whichever directory has the part, `target` has it afterwards."""
    found = {place: record for place in (target, *sources) if (record := place.record(name)) is not None}
    sums = {record["sha256"]: place for place, record in found.items()}
    if len(sums) > 1:
        raise InputError(f"part {name} differs: {' and '.join(str(place.path) for place in sums.values())}")
    if target in found:
        return
    whole = [place for place, record in found.items() if place.is_whole(name, record)]
    if found and not whole:
        raise InputError(f"{next(iter(found)).result(name)} is damaged: the sweep it is from computes it again")
    for place in whole[:1]:
        record = found[place]
        with target.held(name):
            _copy(place.result(name), target.result(name))
            target.finish(name, {key: value for key, value in record.items() if key not in ("sha256", "bytes")})
        target.tidy(name)
        return
    failures = [error for source in sources if (error := source.failure(name)) is not None]
    if failures:
        target.fail(name, failures[0])


def _copy(path: Path, to: Path) -> None:
    with path.open("rb") as file, files.open_atomically(to) as copy:
        shutil.copyfileobj(file, copy)


def _same(first: dict[str, Any], second: dict[str, Any], which: str) -> None:
    if first["spec"] != second["spec"]:
        from jaxbandits.simulation.checkpoint import first_difference  # with it comes JAX, which a merge does not need

        raise InputError(f"{which} hold different sweeps: {first_difference(first['spec'], second['spec'])[:300]}")
