"""Directory of compiled programs, from which later processes read programs instead of compiling them.

The cache is on by default, in the user's cache directory, with one folder for each kind of CPU (a program compiled for
one kind may not run on another). If it grows beyond 1 GiB, the least recently used files are deleted. On a CPU the
files are those of `programs.executables`, on accelerators those of JAX's own compilation cache.

    JAXBANDITS_CACHE=off          no cache
    JAXBANDITS_CACHE=/some/where  another directory
    JAX_COMPILATION_CACHE_DIR, jax_compilation_cache_dir, jax_enable_compilation_cache: JAX's settings take precedence

Caching is best effort: an unwritable directory disables the cache without an error. Since programs are
code, a directory that other users can write is not used, and one warning is issued.
"""

import functools
import hashlib
import os
import platform
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax

from jaxbandits.base.private_files import why_not_private
from jaxbandits.programs.executables import Executables
from jaxbandits.tracing import target
from jaxbandits.tracing.jax_compat import executables, reset_cache

_SETTING = "JAXBANDITS_CACHE"
_LARGEST = 2**30  # largest size of JAX's cache in bytes
_QUICK = 0.05  # programs that compile in fewer seconds are not saved in JAX's cache


def executables_for(device: Any) -> Executables | None:
    """Return the stored programs for a device; None if the cache is off, or if JAX's own cache is used instead.

    For an accelerator, JAX's cache is switched on. Like every setting of JAX, it applies to the whole process, so that
    other jitted functions are cached, too.
    """
    if jax.config.jax_compilation_cache_dir is not None or not jax.config.jax_enable_compilation_cache:
        return None  # JAX's own cache is in use, and programs that are read from it cannot be serialised again
    directory = cache_directory()
    if directory is None:
        return None
    if target.is_accelerator(device.platform):
        _enable(directory)
        return None
    return _executables(directory) if executables() else None


_executables = functools.cache(Executables)  # one per directory, since it counts the bytes that it saves


def _enable(directory: Path) -> None:
    """Switch JAX's cache on."""
    jax.config.update("jax_compilation_cache_dir", str(directory))
    jax.config.update("jax_compilation_cache_max_size", _LARGEST)
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", _QUICK)
    reset_cache()


@functools.cache
def cache_directory() -> Path | None:
    """Create and return the cache directory of this process; None if the cache is off or cannot be written safely."""
    directory = choose_directory(os.environ, cpu_kind())
    return directory if directory is not None and _usable(directory) else None


def choose_directory(environment: Mapping[str, str], kind: str) -> Path | None:
    """Return the cache directory for a kind of CPU; None if the cache is off or there is no home directory.

    Args:
      environment: environment variables.
      kind: digest of the kind of CPU (`cpu_kind`).
    """
    wanted = environment.get(_SETTING, "")
    if wanted.lower() in ("off", "0", "no", "false"):
        return None
    if wanted:
        return Path(wanted).expanduser() / kind
    try:
        base = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        return None
    return Path(base) / "jaxbandits" / "programs" / kind


def cpu_kind() -> str:
    """Return a digest of the instruction set of this machine, since several machines may share a home directory."""
    features = platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        features += next(line for line in lines if line.lower().startswith(("flags", "features")))
    except (OSError, StopIteration):
        pass  # on other systems than Linux only the name of the processor is known
    # Flags for XLA may restrict the instruction set further; JAX's own key covers them.
    return hashlib.sha256(f"{platform.machine()} {features}".encode()).hexdigest()[:16]


def _usable(directory: Path) -> bool:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        problem = why_not_private(directory)
    except OSError:
        return False
    if problem is not None:
        warnings.warn(
            f"compiled programs are not stored on disk: {problem}; set {_SETTING} to a directory that only you can "
            "write to, or to off",
            stacklevel=2,
        )
    return problem is None and os.access(directory, os.W_OK)
