"""Merge the directories of a sweep whose shards ran on several machines without a common file system."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from jaxbandits.base import files
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.forms import JsonObject
from jaxbandits.sweeps.directory import Directory
from jaxbandits.sweeps.load import SweepResult, load_sweep


def merge_sweeps(directories: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str]) -> SweepResult:
    """Copy the finished parts of several directories of a sweep into one, in which the sweep can continue.

    The file of a part has the same bytes on all machines of the same kind, so that shards merge to the directory that
    one machine would have written. A part that failed in one directory and is not done in any other remains failed. The
    call may be repeated when more parts are done.

    Args:
      directories: one or more directories of the same sweep.
      out: a new directory, or one that holds the same sweep.

    Returns:
      The results in `out` after the merge.

    Raises:
      InputError: if the directories belong to different sweeps (the message names the difference), a part is damaged,
        two directories hold different results of a part, or digests do not identify the code of the sweep.
    """
    if not isinstance(directories, (list, tuple)) or not directories:
        raise InputError(f"merge needs a list of directories, got {format_value(directories)}")
    sources, target = [Directory(path) for path in directories], Directory(out)
    manifests = [source.read_manifest() for source in sources]
    for source, manifest in zip(sources, manifests, strict=True):
        _check_same(manifests[0], manifest, f"{sources[0].path} and {source.path}")
    for source, manifest in zip(sources, manifests, strict=True):
        if len(sources) > 1:
            source.check_identified(manifest)
    content = {key: value for key, value in manifests[0].items() if key != "format"}

    def check_same(saved: JsonObject, new: JsonObject) -> None:
        _check_same(saved, new, f"{target.path} and {sources[0].path}")
        target.check_identified(new)

    target.begin(content, check_same)
    for part in content["parts"]:
        _merge_part(part["name"], sources, target)
    return load_sweep(target.path)


def _merge_part(name: str, sources: Sequence[Directory], target: Directory) -> None:
    """Copy a part, or its failure, from the directories that have it to `target`."""
    records = {place: record for place in (target, *sources) if (record := place.read_record(name)) is not None}
    checksums = {record["sha256"]: place for place, record in records.items()}
    if len(checksums) > 1:
        raise InputError(f"part {name} differs between {' and '.join(str(place.path) for place in checksums.values())}")
    if target in records and target.is_intact(name, records[target]):
        return
    intact = [place for place, record in records.items() if place.is_intact(name, record)]
    if records and not intact:
        raise InputError(f"{next(iter(records)).result_path(name)} is damaged; run its sweep again to replace it")
    for place in intact[:1]:
        record = records[place]
        with target.lock(name):
            _copy(place.result_path(name), target.result_path(name))
            target.write_record(name, {key: value for key, value in record.items() if key not in ("sha256", "bytes")})
        target.clean_up(name)
        return
    failures = [error for source in sources if (error := source.read_failure(name)) is not None]
    if failures:
        target.write_failure(name, failures[0])


def _copy(path: Path, to: Path) -> None:
    with path.open("rb") as file, files.open_atomically(to) as copy:
        shutil.copyfileobj(file, copy)


def _check_same(first: JsonObject, second: JsonObject, names: str) -> None:
    if first["spec"] != second["spec"]:
        raise InputError(
            f"{names} hold different sweeps: {files.first_difference(first['spec'], second['spec'])[:300]}"
        )
