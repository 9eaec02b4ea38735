"""Files that survive a kill: written under a temporary name, synced, renamed; directories held by one process.

Nothing is pickled, and reading a file never executes code.
"""

import contextlib
import io
import os
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import filelock
import numpy as np

from jaxbandits.core.errors import InputError


@contextlib.contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    """Creates a directory and holds it against other processes.

    Raises:
      InputError: when it cannot be written or another process holds it.
    """
    make_directory(directory)
    lock = filelock.FileLock(str(directory / ".lock"))
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        raise InputError(
            f"another process is writing to {directory}; wait for it or choose another directory"
        ) from None
    try:
        yield
    finally:
        lock.release()


def make_directory(directory: Path) -> None:
    """Creates a directory and checks that it can be written.

    Raises:
      InputError: naming the path and the reason.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create {directory}: {error.strerror or error}") from None
    if not os.access(directory, os.W_OK):
        raise InputError(f"cannot write to {directory}: permission denied")


def write_atomically(path: Path, data: bytes) -> None:
    """Temporary name, fsync, rename: the old file or the new one survives a kill, never half of one.

    Raises:
      InputError: naming the path when it cannot be written (full disk, read-only directory).
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None


def write_npz(path: Path, arrays: dict[str, np.ndarray], compress: bool = False) -> None:
    """An npz file, replaced atomically."""
    buffer = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(buffer, allow_pickle=False, **arrays)
    write_atomically(path, buffer.getvalue())


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """All arrays of an npz file.

    Raises:
      InputError: one line when the file is missing, truncated or not an npz file.
    """
    try:
        # Read first: np.load leaves a damaged file open.
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise InputError(f"no such file: {path}") from None
    except (
        OSError,
        ValueError,
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
        KeyError,
        AttributeError,
        TypeError,
    ) as error:
        raise InputError(f"{path} is damaged or not a jaxbandits file ({type(error).__name__})") from None
