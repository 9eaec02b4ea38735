"""Compiled programs on disk, found by what was traced: a later process neither lowers them nor asks XLA.

JAX's own cache is found by the lowered program, and of a second process's time most is lowering. Here the key is a
digest of the traces that a program is made of (`tracing.traces`), of the source of this package, which makes it of
them, of versions, of every setting of JAX, and of the device: nothing that a user changes can find an older program.

Programs are what JAX makes of them, pickles of machine code: a directory for them is as trusted as the environment that
runs them, and a file that another user wrote is not read. Whatever cannot be kept or read back is compiled.

Machine code may call functions of its process by name (custom calls). JAX looks up the addresses of LAPACK's routines
when it lowers a program that needs them; a process that only reads such a program back looks them up first, for a call
to a missing address ends the process. Programs with any other custom call (host callbacks, FFI targets of a user) are
not kept: a later process may not have registered them.
"""

import contextlib
import functools
import os
import re
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
from jax.lax import linalg as lax_linalg

from jaxbandits.base.digests import digest, package_digest, package_files
from jaxbandits.base.files import write_atomically
from jaxbandits.base.versions import versions
from jaxbandits.tracing.jax_compat import executables
from jaxbandits.tracing.traces import trace_digest

LARGEST = 2**30  # bytes kept; beyond, what was not used for longest goes
_LOADED_AT = time.time()
_LAPACK = "lapack_"  # how the names of jaxlib's LAPACK targets begin
_TARGET = re.compile(r'custom_call\b(?: @"?([^\s("]+))?')  # of StableHLO; written otherwise, the name is empty
_WITH_LAPACK, _PLAIN = b"L", b"P"  # first byte of a file
_OF_THE_CACHE = ("jax_compilation_cache", "jax_persistent_cache")  # where JAX keeps programs says nothing of them


class Executables:
    """A directory of compiled programs."""

    def __init__(self, directory: Path):
        self.directory = directory

    def load(self, key: str, args: Any, out: Any, device: Any) -> Any | None:
        """A program (`jax.stages.Compiled`) that was saved under this key, None where there is none.

        Args:
          key: of `key_of`.
          args: its arguments, or pytrees of their structure.
          out: what it returns, likewise.
          device: where it will run.
        """
        path = self.directory / key
        try:
            if not _is_ours(path):
                return None
            content = path.read_bytes()
            if content[:1] == _WITH_LAPACK:
                _initialize_lapack()
            packed = zlib.decompress(content[1:])
            trees = jax.tree.structure((args, {})), jax.tree.structure(out)
            program = executables().deserialize_and_load(packed, *trees, device.client, [device])
            os.utime(path)  # used now
        except OSError:  # there is none
            return None
        except Exception:  # damaged, or of a JAX that keeps programs otherwise: it is compiled again
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        return program

    def save(self, key: str, lowered: Any, program: Any) -> None:
        """Keep a program on disk, unless it makes custom calls other than LAPACK's or cannot be written.

        Args:
          key: of `key_of`.
          lowered: the program before compilation (`jax.stages.Lowered`).
          program: the program (`jax.stages.Compiled`).
        """
        try:
            targets = custom_calls(lowered)
            if not all(name.startswith(_LAPACK) for name in targets):
                return
            packed = zlib.compress(executables().serialize(program)[0], 1)
            self.directory.mkdir(parents=True, exist_ok=True)
            write_atomically(self.directory / key, (_WITH_LAPACK if targets else _PLAIN) + packed)
            self._forget()
        except Exception:  # an aid: JAX cannot keep programs with callbacks, a disk may be full
            return

    def _forget(self) -> None:
        """Keeps what was used last."""
        files = sorted((s.st_mtime, s.st_size, path) for path in self.directory.iterdir() if (s := path.stat()))
        excess = sum(size for _, size, _ in files) - LARGEST
        for _, size, path in files:
            if excess <= 0:
                return
            path.unlink(missing_ok=True)
            excess -= size


def custom_calls(lowered: Any) -> set[str]:
    """Names of the functions outside the program that a lowered program (`jax.stages.Lowered`) calls."""
    return set(_TARGET.findall(lowered.as_text()))


@functools.cache
def _initialize_lapack() -> None:
    """Look up the addresses of all LAPACK routines, as JAX does when it lowers a program that needs one."""
    jax.jit(lax_linalg.cholesky).trace(jax.ShapeDtypeStruct((1, 1), "float32")).lower(lowering_platforms=("cpu",))


def _is_ours(path: Path) -> bool:
    """Whether this user wrote a file; Windows has no such number."""
    return not hasattr(os, "getuid") or path.stat().st_uid == os.getuid()


def key_of(
    name: str, jaxprs: Sequence[Any], shapes: Any, facts: Any, options: dict[str, Any], device: Any
) -> str | None:
    """The key of a program.

    Args:
      name: how it is made of its traces.
      jaxprs: the traces.
      shapes: of its arguments.
      facts: what else it is made with, a JSON value.
      options: of its compilation.
      device: where it runs.

    Returns:
      None where the traces hold what has no digest, or the package may have changed since this process began.
    """
    try:
        traced, package = trace_digest(*jaxprs), _package()
        settings = sorted((key, repr(x)) for key, x in jax.config.values.items() if not key.startswith(_OF_THE_CACHE))
    except Exception:  # a JAX whose traces or settings look otherwise: nothing is kept
        return None
    if traced is None or package is None:
        return None
    parts = (
        name, traced, facts, sorted(options.items()), [(x.shape, str(x.dtype)) for x in jax.tree.leaves(shapes)],
        [len(jax.tree.leaves(x)) for x in shapes], package, sorted(versions().items()), settings,
        os.environ.get("XLA_FLAGS"), (device.platform, device.device_kind, device.id, jax.local_device_count()),
    )  # fmt: skip
    return digest(parts)


@functools.cache
def _package() -> str | None:
    """The digest of the package; None where a file was written after it was read, and is not what runs."""
    changed = any(path.stat().st_mtime >= _LOADED_AT for path in package_files())
    return None if changed else package_digest()
