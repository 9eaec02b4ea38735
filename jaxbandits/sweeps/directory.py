"""Directory of a sweep, which can be read and written without JAX.

    manifest.json      the specification of the sweep, and its parts
    parts/NAME.npz     the results of one part: the same bytes in every run on machines of the same kind
    parts/NAME.json    the record of the part: checksum, cost, failed trials; a part is done once this file exists
    failed/NAME.json   the error of a part that failed
    working/NAME/      lock and checkpoint of a part that is being computed

Every file is replaced atomically. A name carries a digest of everything that determines the numbers of its part.
"""

import contextlib
import enum
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandits.base import files
from jaxbandits.base.errors import InputError
from jaxbandits.base.foreign import lack_of_identity
from jaxbandits.base.forms import JsonObject, misfit

_FORMAT = "jaxbandits sweep 2"
_PART = {
    "name": str,
    "label": str,
    "positions": [int],
    "first_seed": int,
    "seeds": int,
    "trials": int,
    "rounds": int,
    "width": int,
}
_MANIFEST = {
    "labels": {str: {"points": [dict], "seeds": int}},
    "parts": [_PART],
    "info": dict,
    "spec": dict,
    "file": dict,
}
_RECORD = {
    "part": str,
    "sha256": str,
    "bytes": int,
    "trials": int,
    "failed_trials": int,
    "inadmissible_trials": int,
    "wall_s": float,
    "timing": {"compile_s": float, "run_s": float, "rounds": int},
}
_FOLDERS = ("parts", "failed", "working")
_NUMBER_BYTES = 512  # largest size of an archive member that holds one number
_PATIENCE = 0.5  # seconds, longer than any process takes to test the lock of a part
_PATIENCE_TO_BEGIN = 30.0  # seconds, longer than any process takes to write or read a manifest


class PartState(enum.Enum):
    """State of a part of a sweep.

    A process sets a MISSING or DAMAGED part, or on request a FAILED part, to RUNNING, and later to DONE or FAILED. If
    the process is killed, the part is MISSING again, and the next process resumes from its checkpoint.
    """

    MISSING = "missing"
    RUNNING = "running"  # a process holds its lock
    FAILED = "failed"
    DAMAGED = "damaged"  # its record exists, but its results do not have the recorded checksum
    DONE = "done"


class Directory:
    """Directory of a sweep."""

    def __init__(self, path: str | os.PathLike[str]):
        """Choose a directory, which need not exist."""
        self.path = files.path_of(path, "the directory of a sweep must be a string or a path object")

    @property
    def manifest(self) -> Path:
        """Path of the manifest."""
        return self.path / "manifest.json"

    def read_manifest(self) -> JsonObject:
        """Read the manifest of the sweep.

        Raises:
          InputError: if the directory has no manifest, or if the manifest is damaged or of another version.
        """
        if not os.path.exists(self.manifest):
            raise InputError(f"{self.path} holds no sweep (it has no manifest.json)")
        found = files.read_json(self.manifest)
        if not isinstance(found, dict) or found.get("format") != _FORMAT:
            raise InputError(f"{self.manifest} was not written by this version of jaxbandits; choose another directory")
        if (wrong := misfit(found, _MANIFEST)) is not None:
            raise InputError(f"{self.manifest} is not the manifest of a sweep ({wrong}); choose another directory")
        return found

    def read_present_manifest(self) -> JsonObject:
        """Read the manifest when no process is replacing it.

        Raises:
          InputError: as for `read_manifest`.
        """
        with files.lock_directory(self.path, patience=_PATIENCE_TO_BEGIN):
            return self.read_manifest()

    def begin(self, manifest: JsonObject, check_same: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
        """Write the manifest; if anything was computed already, compare the manifest with the saved one instead.

        Args:
          manifest: manifest of the sweep.
          check_same: function of the saved and the new manifest that raises an error if they belong to different
            sweeps.

        Raises:
          InputError: if the directory holds something else than a sweep, or parts without a manifest.
        """
        manifest = {"format": _FORMAT, **manifest}
        with files.lock_directory(self.path, patience=_PATIENCE_TO_BEGIN):
            if self.manifest.exists() and any(any(self.path.glob(f"{folder}/*")) for folder in _FOLDERS):
                check_same(self.read_manifest(), manifest)
            elif any(self.path.glob("parts/*")):
                raise InputError(f"{self.path} holds parts of a sweep but no manifest.json; choose another directory")
            else:
                self._check_not_foreign()
                files.write_json(self.manifest, manifest)
            for leftover in self.path.glob("manifest.json.*.tmp"):
                leftover.unlink(missing_ok=True)
        for name in _FOLDERS:
            files.make_directory(self.path / name)

    def check_identified(self, manifest: JsonObject) -> None:
        """Raise `InputError` if results of the sweep depend on code that no digest identifies."""
        if why := lack_of_identity(manifest["spec"]):
            raise InputError(f"{self.path} can be neither resumed nor shared between processes nor merged: {why}")

    def _check_not_foreign(self) -> None:
        """Raise an error if the directory holds the manifest of something else, such as a reproduction."""
        if self.manifest.exists():
            try:
                self.read_manifest()
            except InputError:
                found = "something else (its manifest.json is not that of a sweep)"
                raise InputError(f"{self.path} holds {found}; choose another directory") from None

    def result_path(self, name: str) -> Path:
        """Return the path of the results of a part."""
        return self.path / "parts" / f"{name}.npz"

    def _record_path(self, name: str) -> Path:
        return self.path / "parts" / f"{name}.json"

    def _failure_path(self, name: str) -> Path:
        return self.path / "failed" / f"{name}.json"

    def working_path(self, name: str) -> Path:
        """Return the directory in which a part is computed."""
        return self.path / "working" / name

    def read_state(self, name: str) -> PartState:
        """Return the state of a part from its record, without reading its results; a DAMAGED part counts as DONE."""
        if self.read_record(name) is not None:
            return PartState.DONE
        if files.is_locked(self.working_path(name)):
            return PartState.RUNNING
        return PartState.MISSING if self.read_failure(name) is None else PartState.FAILED

    def verify_state(self, name: str) -> PartState:
        """Return the state of a part that no process is computing; its results are compared with their checksum."""
        if (record := self.read_record(name)) is not None:
            return PartState.DONE if self.is_intact(name, record) else PartState.DAMAGED
        return PartState.MISSING if self.read_failure(name) is None else PartState.FAILED

    def read_record(self, name: str) -> JsonObject | None:
        """Return the record of a part; None if the part is not done or its results are missing or of the wrong size."""
        try:
            record = files.read_json(self._record_path(name))
            is_own = misfit(record, _RECORD) is None and record["part"] == name
            return record if is_own and self.result_path(name).stat().st_size == record["bytes"] else None
        except (InputError, OSError):
            return None

    def is_intact(self, name: str, record: JsonObject) -> bool:
        """Return True if the results of a part have the recorded checksum."""
        try:
            return checksum(self.result_path(name)) == record.get("sha256")
        except OSError:
            return False

    def write_record(self, name: str, details: JsonObject) -> None:
        """Record that a part is done; called after its results have been written.

        Args:
          name: name of the part.
          details: further entries of the record.
        """
        path = self.result_path(name)
        record = {"part": name, "sha256": checksum(path), "bytes": path.stat().st_size, **details}
        files.write_json(self._record_path(name), record)
        self.clear_failure(name)

    def read_failure(self, name: str) -> str | None:
        """Return the error of a part that failed; None for a part that did not fail."""
        path = self._failure_path(name)
        if not path.exists():
            return None
        try:
            return str(files.read_json(path)["error"])
        except (InputError, KeyError, TypeError):
            return "unknown (its record is damaged)"

    def write_failure(self, name: str, error: str) -> None:
        """Record the error of a part that failed."""
        files.write_json(self._failure_path(name), {"error": error})

    def clear_failure(self, name: str) -> None:
        """Delete the recorded error of a part."""
        self._failure_path(name).unlink(missing_ok=True)

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[Path]:
        """Lock a part against other processes within a `with` block; yield the directory in which the part is computed.

        Raises:
          LockedError: if another process is computing the part.
        """
        directory = self.working_path(name)
        with files.lock_directory(directory, patience=_PATIENCE):
            yield directory

    def count_rounds(self, name: str, width: int) -> int:
        """Return the number of rounds in the checkpoint of a part, summed over trials and padding."""
        rounds = 0
        for path in (self.working_path(name) / "checkpoint").glob("batch-*.npz"):
            with contextlib.suppress(Exception), np.load(path, allow_pickle=False) as arrays:  # it may be deleted
                if arrays.zip.getinfo("rounds.npy").file_size > _NUMBER_BYTES:
                    continue
                rounds += int(arrays["rounds"]) * width
        return rounds

    def seconds_since_begin(self, name: str) -> float:
        """Return the seconds since the first file of a part's checkpoint was written; 0 without a checkpoint."""
        try:
            return max(0.0, time.time() - (self.working_path(name) / "checkpoint" / "spec.json").stat().st_mtime)
        except OSError:  # another process may delete the file
            return 0.0

    def clean_up(self, name: str) -> None:
        """Remove the lock and the working directory of a part that is done, and temporary files of killed processes."""
        for folder in ("parts", "failed"):
            for leftover in (self.path / folder).glob(f"{name}.*.tmp"):
                leftover.unlink(missing_ok=True)
        (self.working_path(name) / ".lock").unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.working_path(name).rmdir()


def checksum(path: Path) -> str:
    """Return the SHA-256 digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
