"""JAX's persistent compilation cache, switched on when something is first simulated.

A second process then finds the programs of the first: a result within a second instead of after the compilation. The
cache lives in the user's cache directory, one folder a kind of CPU (programs compiled for one may not run on another),
holds at most 1 GiB and forgets what was not used for longest.

    JAXBANDITS_CACHE=off          no cache
    JAXBANDITS_CACHE=/some/where  there instead
    JAX_COMPILATION_CACHE_DIR, jax_compilation_cache_dir, jax_enable_compilation_cache: JAX's own settings win

It is an aid: where its directory cannot be written, nothing is cached and nothing fails. Like every JAX setting it
belongs to the process: other functions jitted in it are cached too.
"""

import functools
import hashlib
import os
import platform
from collections.abc import Mapping
from pathlib import Path

import jax
from jax.experimental.compilation_cache import compilation_cache

_SETTING = "JAXBANDITS_CACHE"
_LARGEST = 2**30  # bytes
_QUICK = 0.05  # seconds of compilation below which a program is not worth a file


@functools.cache
def enable() -> Path | None:
    """Switches the cache on, once a process; returns its directory, None where it is off or JAX's own settings rule."""
    if jax.config.jax_compilation_cache_dir is not None or not jax.config.jax_enable_compilation_cache:
        return None
    directory = choose(os.environ, cpu_kind())
    if directory is None or not _usable(directory):
        return None
    jax.config.update("jax_compilation_cache_dir", str(directory))
    jax.config.update("jax_compilation_cache_max_size", _LARGEST)
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", _QUICK)
    compilation_cache.reset_cache()  # JAX looks for the directory once, at the first compilation of the process
    return directory


def choose(environment: Mapping[str, str], kind: str) -> Path | None:
    """The directory for this kind of CPU; None when switched off, or when there is no home directory."""
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
    """A digest of the instruction set of this machine: a home directory may be shared by different ones."""
    features = platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        features += next(line for line in lines if line.lower().startswith(("flags", "features")))
    except (OSError, StopIteration):
        pass  # no Linux: the name of the processor must do
    # Flags for XLA may restrict the instruction set further; JAX's own key covers them.
    return hashlib.sha256(f"{platform.machine()} {features}".encode()).hexdigest()[:16]


def _usable(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(directory, os.W_OK)
