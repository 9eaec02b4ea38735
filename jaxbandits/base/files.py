"""Atomic writing of files, checksums, and locks on directories.

A file is written under a temporary name, synced and renamed, so that the previous file remains if the process is killed
before the renaming. The temporary name is random, and no file of that name may exist, so that writing follows no link
that another user has put into the directory. Nothing is pickled, and reading a file never executes code.
"""

import contextlib
import hashlib
import io
import json
import math
import os
import secrets
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import filelock
import numpy as np

from jaxbandits.base.errors import InputError, format_value

_MOST_TRIES = 200  # largest number of attempts to lock a directory, which other processes may remove at any moment
LONGEST_TEXT = 2**26  # largest number of bytes of JSON in an npz file
_DENSEST = 32  # largest compression ratio of increasing numbers of 8 bytes; those of results have a ratio of 3 to 5
_PIECE = 2**20  # number of bytes that are read and hashed at a time
_LEAST_BYTES = 4096  # size of an array up to which its compression ratio is not checked
_CHECKSUMS = "sha256.json"  # the last member of an npz file: array name -> checksum of its bytes in the archive


class LockedError(InputError):
    """Error that is raised if another process holds the lock on a directory."""


class UnwritableError(InputError):
    """Error that is raised if a file or directory cannot be written (permission, full disk)."""


def path_of(value: object, what: str = "the name of a file must be a string or a path object") -> Path:
    """Check a path given by a user and return it as a `Path`.

    Args:
      value: text or a path.
      what: first part of the error message, which says what the value must be.

    Raises:
      InputError: if the value is neither text nor a path, is empty, or contains characters that no path can contain.
    """
    text = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if not isinstance(text, str) or not text:
        raise InputError(f"{what}, got {format_value(value)}")
    try:
        is_possible = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        is_possible = False
    if not is_possible:
        raise InputError(
            f"{what}, without NUL and other characters that file names cannot contain, got {format_value(value)}"
        )
    return Path(text)


def append_to_name(path: Path, text: str) -> Path:
    """Return a path with text appended to its last part.

    Raises:
      InputError: if the last part is not a name, as in `.`, `..` and `/`.
    """
    if path.name in ("", ".."):
        raise InputError(f"{path} is a directory: add the name of a file")
    return path.with_name(path.name + text)


@contextlib.contextmanager
def lock_directory(directory: Path, patience: float = 0.0) -> Iterator[None]:
    """Create a directory and hold a lock on it within a `with` block.

    If another process removes the directory while the lock is being acquired, the directory is created again.

    Args:
      directory: path of the directory.
      patience: seconds to wait for another process to release the lock.

    Raises:
      InputError: if the directory cannot be written, or another process holds the lock.
    """
    lock = filelock.FileLock(str(directory / ".lock"))
    for attempt in range(_MOST_TRIES):
        try:
            make_directory(directory)
            lock.acquire(timeout=patience)
            break
        except filelock.Timeout:
            raise LockedError(
                f"another process is writing to {directory}; wait for it or choose another directory"
            ) from None
        except (UnwritableError, FileNotFoundError, FileExistsError):  # another process has removed the directory
            if attempt + 1 == _MOST_TRIES:
                raise
        except OSError as error:
            raise UnwritableError(f"cannot write {directory / '.lock'}: {error.strerror or error}") from None
    try:
        yield
    finally:
        lock.release()


def is_locked(directory: Path) -> bool:
    """Return whether a process holds the lock on a directory.

    The function creates no file if no process ever locked the directory. It returns False if the lock file cannot be
    opened.
    """
    path = directory / ".lock"
    if not os.path.exists(path):
        return False
    lock = filelock.FileLock(str(path))
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        return True
    except OSError:
        return False
    lock.release()
    return False


def make_directory(directory: Path) -> None:
    """Create a directory and check that it can be written.

    Raises:
      InputError: if it cannot be created or written; the message names the path and the reason.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritableError(f"cannot create {directory}: {error.strerror or error}") from None
    if not os.access(directory, os.W_OK):
        raise UnwritableError(f"cannot write to {directory}: {_refusal(directory)}")


def _refusal(directory: Path) -> str:
    """Return the reason why a directory cannot be written, which `os.access` does not report."""
    read_only = hasattr(os, "statvfs") and os.statvfs(directory).f_flag & os.ST_RDONLY
    return "read-only file system" if read_only else "permission denied"


def write_atomically(path: Path, data: bytes, mode: int = 0o666, sync: bool = True) -> None:
    """Replace a file atomically: a process that is killed leaves either the old or the new file, and it is complete.

    Args:
      path: path of the file.
      data: content of the file.
      mode: permissions of the file, before the umask of the process is applied.
      sync: True to wait until the content is on the disk; otherwise a crash of the machine may damage the new file.

    Raises:
      InputError: if the path cannot be written (full disk, read-only directory); the message names it.
    """
    with open_atomically(path, mode, sync) as file:
        file.write(data)


@contextlib.contextmanager
def open_atomically(path: Path, mode: int = 0o666, sync: bool = True) -> Iterator[IO[bytes]]:
    """Open a temporary file for writing in a `with` block, and rename it to `path` if the block raises no error.

    If the block raises an error, the temporary file is deleted, and a previous file at `path` is left as it is.

    Raises:
      InputError: if the path cannot be written; the message names it.
    """
    temporary = append_to_name(path, f".{secrets.token_hex(8)}.tmp")

    def create(name: str, flags: int) -> int:
        return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0), mode)

    is_made = False
    try:
        with open(temporary, "xb", opener=create) as file:
            is_made = True
            yield file
            file.flush()
            if sync:
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        if is_made:
            with contextlib.suppress(OSError):
                temporary.unlink()
        if isinstance(error, OSError):
            raise UnwritableError(f"cannot write {path}: {error.strerror or error}") from None
        raise


def write_npz(path: Path, arrays: dict[str, np.ndarray], compress: bool = False) -> None:
    """Write an npz file with a checksum of every array, atomically.

    Raises:
      InputError: if the file cannot be written.
    """
    buffer, checksums = io.BytesIO(), {}
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, array in arrays.items():
            with archive.open(_member(name + ".npy", method), "w", force_zip64=True) as member:
                hashed = _HashingFile(member)
                np.lib.format.write_array(hashed, np.asanyarray(array), allow_pickle=False)
            checksums[name] = hashed.hexdigest()
        archive.writestr(_member(_CHECKSUMS, method), json.dumps(checksums))
    write_atomically(path, buffer.getvalue())


class NpzFile:
    """The arrays of an npz file that `write_npz` wrote.

    The dict `outlines` maps the name of each array to zeros of its shape and type that take no memory, so that the
    sizes are known before any array is read.
    """

    def __init__(self, archive: zipfile.ZipFile):
        self._archive = archive
        self._checksums: dict[str, str] = json.loads(self._read_member(_CHECKSUMS))
        if sorted(archive.namelist()) != sorted([_CHECKSUMS, *(name + ".npy" for name in self._checksums)]):
            raise ValueError
        self.outlines = {name: self._outline(name + ".npy") for name in self._checksums}

    @property
    def is_stored(self) -> bool:
        """True if no array is compressed, so that the arrays take no more memory than the file."""
        return all(info.compress_type == zipfile.ZIP_STORED for info in self._archive.infolist())

    def read(self, name: str) -> np.ndarray:
        """Read an array and compare it with its checksum.

        If the compression ratio is large, the checksum is first computed in chunks, because an untrusted file could
        expand to more than the memory.

        Raises:
          ValueError: if the array differs from its checksum.
        """
        member = name + ".npy"
        if self._is_dense(member):
            with self._archive.open(member) as file:
                if _digest_of(file) != self._checksums[name]:
                    raise ValueError
        return _read_array(self._archive.read(member), self._checksums[name])

    def read_increasing(self, name: str) -> np.ndarray:
        """Read an array of increasing whole numbers, after a check that its compression ratio is possible for these.

        Raises:
          ValueError: if the compression ratio is too large for increasing numbers, or the array differs from its
            checksum.
        """
        if self._is_dense(name + ".npy"):
            raise ValueError(f"{name} must increase")
        return self.read(name)

    def _is_dense(self, member: str) -> bool:
        info = self._archive.getinfo(member)
        return info.file_size > _LEAST_BYTES + _DENSEST * info.compress_size

    def read_text(self, name: str) -> bytes:
        """Read an array of at most `LONGEST_TEXT` bytes, and return it as bytes.

        Raises:
          ValueError: if the array is longer, or differs from its checksum.
        """
        self._read_member(name + ".npy")
        return self.read(name).tobytes()

    def _read_member(self, member: str) -> bytes:
        if self._archive.getinfo(member).file_size > LONGEST_TEXT:
            raise ValueError(f"more than {LONGEST_TEXT} bytes of text")
        return self._archive.read(member)

    def _outline(self, member: str) -> np.ndarray:
        """Return zeros that take no memory, with an array's shape and type, with which the member's size must agree."""
        with self._archive.open(member) as file:
            version = np.lib.format.read_magic(file)
            read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            shape, _, dtype = read_header[version](file)
            size = file.tell() + math.prod(shape) * dtype.itemsize
        if dtype.hasobject or size != self._archive.getinfo(member).file_size:
            raise ValueError("an array whose size differs from the size in its header")
        return np.broadcast_to(np.zeros((), dtype), shape)


@contextlib.contextmanager
def open_npz(path: Path) -> Iterator[NpzFile]:
    """Open an npz file that `write_npz` wrote, as an `NpzFile` for use in a `with` block.

    Raises:
      InputError: if the file is missing, truncated or of another kind, or if an array differs from its checksum when it
        is read; the message is one line that names the file.
    """
    with _reading(path), zipfile.ZipFile(io.BytesIO(_content(path))) as archive:
        yield NpzFile(archive)


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Read all arrays of an npz file that `write_npz` wrote, and return a dict from name to array.

    Raises:
      InputError: as for `open_npz`.
    """
    with open_npz(path) as file:
        return {name: file.read(name) for name in file.outlines}


def write_json(path: Path, value: object) -> None:
    """Write a JSON value with its checksum, atomically.

    Raises:
      InputError: if the file cannot be written.
    """
    write_atomically(path, json.dumps({"sha256": _json_checksum(value), "content": value}, indent=1).encode())


def read_json(path: Path) -> Any:
    """Read the JSON value that `write_json` wrote.

    Raises:
      InputError: if the file is missing, of another kind, or damaged; the message is one line that names the file.
    """
    with _reading(path):
        file = json.loads(_content(path))
        if file.keys() != {"sha256", "content"} or file["sha256"] != _json_checksum(file["content"]):
            raise ValueError
        return file["content"]


class _HashingFile:
    """File whose content is hashed while it is written."""

    def __init__(self, file: IO[bytes]):
        self._file, self._sha = file, hashlib.sha256()
        self.hexdigest = self._sha.hexdigest

    def write(self, data: bytes) -> int:
        self._sha.update(data)
        return self._file.write(data)


def first_difference(saved: object, new: object, path: str = "") -> str:
    """Return text that names the first field in which two JSON values differ, and its two values.

    For a field `programs.<label>` the text says that the code of `<label>` has changed, and names no values.
    """
    if isinstance(saved, dict) and isinstance(new, dict):
        for key in [*new, *(k for k in saved if k not in new)]:
            if saved.get(key) != new.get(key):
                return first_difference(saved.get(key), new.get(key), f"{path}.{key}" if path else str(key))
    if path.startswith("programs."):
        label = path.removeprefix("programs.")
        return f"the code of {label}, or a value that it reads while it is traced, has changed"
    return f"{path} was {saved!r} and is now {new!r}"


def _member(name: str, method: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)  # dated 1980, so that equal arrays make equal files
    info.compress_type = method
    return info


def _read_array(data: bytes, checksum: str) -> np.ndarray:
    if hashlib.sha256(data).hexdigest() != checksum:  # before damaged data are parsed
        raise ValueError
    return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)


def _digest_of(file: IO[bytes]) -> str:
    found = hashlib.sha256()
    while piece := file.read(_PIECE):
        found.update(piece)
    return found.hexdigest()


def _json_checksum(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"no such file: {path}") from None
    except (OSError, MemoryError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or type(error).__name__}") from None


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn any error of a parser into an `InputError` whose message, of one line, says that the file is damaged."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # zip, zlib, JSON and NumPy raise a dozen kinds, RecursionError and MemoryError too
        raise InputError(f"{path} is damaged or not a jaxbandits file ({type(error).__name__})") from None
