"""The directory of a sweep, read and written without JAX.

    manifest.json      what the sweep is, and its parts
    parts/NAME.npz     the results of one part: the same bytes whoever computed it, whenever
    parts/NAME.json    its record: checksum of the file, cost, failed trials; a part is done when this is there
    failed/NAME.json   why a part failed
    working/NAME/      lock and checkpoint of a part that is being computed

Every file is replaced atomically. A name carries a digest of everything that determines the numbers of its part.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandits.base import files
from jaxbandits.base.errors import InputError, shown

_FORMAT = "jaxbandits sweep 2"
_ROOMS = ("parts", "failed", "working")
_PATIENCE = 0.5  # seconds: a look at the lock of a part is shorter


class Directory:
    """Directory of a sweep."""

    def __init__(self, path: str | os.PathLike[str]):
        """A directory, which need not exist."""
        if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
            raise InputError(f"a sweep lives in a directory, got {shown(path)}")
        self.path = Path(path)

    @property
    def manifest(self) -> Path:
        """The file that says what the sweep is."""
        return self.path / "manifest.json"

    def read_manifest(self) -> dict[str, Any]:
        """Read the manifest of the sweep.

        Raises:
          InputError: when there is none here, or it is damaged or of another version.
        """
        if not self.manifest.exists():
            raise InputError(f"{self.path} holds no sweep (it has no manifest.json)")
        found = files.read_json(self.manifest)
        if not isinstance(found, dict) or found.get("format") != _FORMAT:
            raise InputError(f"{self.manifest} is not of this version of jaxbandits; choose another directory")
        return found

    def begin(self, manifest: dict[str, Any], same: Any) -> None:
        """Writes the manifest, or compares it with the one that is there, if anything was computed.

        Args:
          manifest: what the sweep is.
          same: a function of the saved and the new manifest that refuses another sweep.
        """
        manifest = {"format": _FORMAT, **manifest}
        with files.lock_directory(self.path, patience=30.0):
            if self.manifest.exists() and any(any(self.path.glob(f"{room}/*")) for room in _ROOMS):
                same(self.read_manifest(), manifest)
            elif any(self.path.glob("parts/*")):
                raise InputError(f"{self.path} holds parts of a sweep but no manifest.json; choose another directory")
            else:
                self._refuse_another()
                files.write_json(self.manifest, manifest)
            for leftover in self.path.glob("manifest.json.*.tmp"):
                leftover.unlink(missing_ok=True)
        for name in _ROOMS:
            files.make_directory(self.path / name)

    def _refuse_another(self) -> None:
        """A manifest of a reproduction, say, would be lost."""
        if self.manifest.exists():
            try:
                self.read_manifest()
            except InputError:
                what = "something else (its manifest.json is not that of a sweep)"
                raise InputError(f"{self.path} holds {what}; choose another directory") from None

    def result(self, name: str) -> Path:
        """The results of a part."""
        return self.path / "parts" / f"{name}.npz"

    def _record(self, name: str) -> Path:
        return self.path / "parts" / f"{name}.json"

    def _failure(self, name: str) -> Path:
        return self.path / "failed" / f"{name}.json"

    def working(self, name: str) -> Path:
        """Return the directory in which a part is computed."""
        return self.path / "working" / name

    def record(self, name: str) -> dict[str, Any] | None:
        """The record of a part that is done; None for any other, or where its file is gone or has another size."""
        try:
            found = files.read_json(self._record(name))
            return found if self.result(name).stat().st_size == found["bytes"] else None
        except (InputError, OSError, KeyError, TypeError):
            return None

    def is_whole(self, name: str, record: dict[str, Any]) -> bool:
        """Return whether the results of a part have the recorded checksum."""
        try:
            return checksum(self.result(name)) == record.get("sha256")
        except OSError:
            return False

    def finish(self, name: str, about: dict[str, Any]) -> None:
        """Records that a part is done; its results are in place."""
        path = self.result(name)
        written = {"sha256": checksum(path), "bytes": path.stat().st_size}
        files.write_json(self._record(name), {**written, **about})
        self.forget_failure(name)

    def failure(self, name: str) -> str | None:
        """Why a part failed; None if it has not."""
        path = self._failure(name)
        if not path.exists():
            return None
        try:
            return str(files.read_json(path)["error"])
        except (InputError, KeyError, TypeError):
            return "unknown (its record is damaged)"

    def fail(self, name: str, error: str) -> None:
        """Records why a part failed."""
        files.write_json(self._failure(name), {"error": error})

    def forget_failure(self, name: str) -> None:
        """A part is tried again, or was computed."""
        self._failure(name).unlink(missing_ok=True)

    @contextlib.contextmanager
    def held(self, name: str) -> Iterator[Path]:
        """Holds a part against other processes, in the directory where it is computed.

        Raises:
          LockedError: when another process computes it.
        """
        directory = self.working(name)
        with files.lock_directory(directory, patience=_PATIENCE):
            yield directory

    def played(self, name: str, width: int) -> int:
        """Trial-rounds in the checkpoint of a part, padding counted: about what is done of it."""
        found = 0
        for path in (self.working(name) / "checkpoint").glob("batch-*.npz"):
            with contextlib.suppress(Exception), np.load(path, allow_pickle=False) as arrays:  # a file that is going
                found += int(arrays["rounds"]) * width
        return found

    def tidy(self, name: str) -> None:
        """Removes lock and directory of a part that is done, and files that killed processes left half written."""
        for room in ("parts", "failed"):
            for leftover in (self.path / room).glob(f"{name}.*.tmp"):
                leftover.unlink(missing_ok=True)
        (self.working(name) / ".lock").unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.working(name).rmdir()


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
