"""Compiled programs on disk, found by their content, so that a later process does not compile them again.

The key of a program is a digest of its lowered text (which contains all operations and constants), its compilation
options, the versions of the packages that compile it, every setting of JAX and XLA, and the device.

The files are machine code, which JAX serialises as pickles, so anyone who can write a file can run code. A file is read
only if nobody else can have written it (`base.private_files`), and only under the key with which it was saved: each
file begins with a checksum of key and content. A program that cannot be saved or read is compiled.

Machine code may call functions of the process by name (custom calls). JAX looks up the addresses of LAPACK's routines
when it lowers a program that needs them. A process that reads such a program from disk looks up the addresses first,
since a call to a missing address crashes the process. Programs with any other custom call (host callbacks, FFI targets
of a user) are not saved, since a later process may not have registered them.
"""

import contextlib
import functools
import hashlib
import math
import os
import zlib
from collections.abc import Set
from pathlib import Path
from typing import Any

import jax
from jax.lax import linalg as lax_linalg

from jaxbandits.base.files import write_atomically
from jaxbandits.base.private_files import read_private
from jaxbandits.base.pytree import PyTree
from jaxbandits.tracing.jax_compat import executables

LARGEST = 2**30  # size of all files in bytes above which the least recently used files are deleted
_CHECKED = 16  # a process looks at the size at its first save, and whenever it has saved LARGEST / 16 bytes since
_LAPACK = "lapack_"  # prefix of the names of jaxlib's LAPACK targets
_CHECKSUM = hashlib.sha256().digest_size  # bytes at the beginning of a file
_WITH_LAPACK, _PLAIN = b"L", b"P"  # the byte after the checksum: whether the program calls routines of LAPACK


class Executables:
    """Compiled programs in a directory."""

    def __init__(self, directory: Path):
        self.directory = directory
        self._unchecked: float = math.inf  # bytes saved since the last look at the size of all files

    def load(self, key: str, args: PyTree, out: PyTree, device: Any) -> Any | None:
        """Return the program (`jax.stages.Compiled`) that was saved under a key; None if it is missing or damaged.

        Args:
          key: digest of everything that determines the program.
          args: arguments of the program, or a pytree with the same structure.
          out: results of the program, or a pytree with the same structure.
          device: device that will run the program.
        """
        path = self.directory / key
        try:
            file = read_private(self.directory, key)
            if file is None:
                return None
            content = file[_CHECKSUM:]
            if file[:_CHECKSUM] != _checksum(key, content):
                raise ValueError("the file of another key, or damaged")
            if content[:1] == _WITH_LAPACK:
                _initialize_lapack()
            packed = zlib.decompress(content[1:])
            trees = jax.tree.structure((args, {})), jax.tree.structure(out)
            program = executables().deserialize_and_load(packed, *trees, device.client, [device])
            with contextlib.suppress(OSError):  # deleted in the meantime
                os.utime(path)  # the time of its last use
        except OSError:  # no such file
            return None
        except Exception:  # damaged, or in the format of another version of JAX; the program is compiled again
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        return program

    def save(self, key: str, program: Any, targets: Set[str]) -> None:
        """Save a program, unless it makes custom calls other than LAPACK's or cannot be written.

        Args:
          key: digest of everything that determines the program.
          program: the program (`jax.stages.Compiled`).
          targets: names of the external functions that the program calls.
        """
        try:
            if not all(name.startswith(_LAPACK) for name in targets):
                return
            packed = zlib.compress(executables().serialize(program)[0], 1)
            content = (_WITH_LAPACK if targets else _PLAIN) + packed
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            # A file that a crash of the machine leaves incomplete fails its checksum, so it need not reach the disk.
            write_atomically(self.directory / key, _checksum(key, content) + content, mode=0o600, sync=False)
            self._unchecked += len(content)
            if self._unchecked > LARGEST / _CHECKED:  # not at each save: a full cache has some 20,000 files
                self._unchecked = 0  # first, since several threads save
                self._evict()
        except Exception:  # caching is best effort: JAX cannot serialise callbacks, and a disk may be full
            return

    def _evict(self) -> None:
        """Delete the least recently used files beyond `LARGEST`."""
        files: list[tuple[float, int, str]] = []
        with os.scandir(self.directory) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):  # another process deletes files too
                    status = entry.stat()
                    files.append((status.st_mtime, status.st_size, entry.path))
        excess = sum(size for _, size, _ in files) - LARGEST
        for _, size, path in sorted(files) if excess > 0 else []:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            excess -= size
            if excess <= 0:
                return


@functools.cache
def _initialize_lapack() -> None:
    """Look up the addresses of all LAPACK routines, as JAX does when it lowers a program that needs one."""
    jax.jit(lax_linalg.cholesky).trace(jax.ShapeDtypeStruct((1, 1), "float32")).lower(lowering_platforms=("cpu",))


def _checksum(key: str, content: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + content).digest()
