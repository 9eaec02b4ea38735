"""Where compiled programs are kept between processes, so that a second one finds those of the first.

A cache is on by default, in the user's cache directory, one folder a kind of CPU (programs compiled for one may not run
on another); it forgets what was not used for longest. On a CPU it is `executables`, which needs a trace only; elsewhere
JAX's own, which needs the lowered program.

    JAXBANDITS_CACHE=off          no cache
    JAXBANDITS_CACHE=/some/where  there instead
    JAX_COMPILATION_CACHE_DIR, jax_compilation_cache_dir, jax_enable_compilation_cache: JAX's own settings win

It is an aid: where its directory cannot be written, nothing is cached and nothing fails.
"""

import functools
import hashlib
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax

from jaxbandits.simulation.executables import Executables
from jaxbandits.tracing import target
from jaxbandits.tracing.jax_compat import executables, reset_cache

_SETTING = "JAXBANDITS_CACHE"
_LARGEST = 2**30  # bytes, of JAX's
_QUICK = 0.05  # seconds of compilation below which a program is not worth a file there


def kept_for(device: Any) -> Executables | None:
    """The programs that earlier processes compiled for a device; None where there is no cache, or where JAX has one.

    JAX's is switched on for an accelerator. Like every JAX setting it belongs to the process: other functions jitted in
    it are cached too.
    """
    if jax.config.jax_compilation_cache_dir is not None or not jax.config.jax_enable_compilation_cache:
        return None  # besides, what was read from JAX's cache cannot be kept once more: its functions are lost
    directory = _directory()
    if directory is None:
        return None
    if target.is_accelerator(device.platform):
        _enable(directory)
        return None
    return Executables(directory) if executables() else None


def _enable(directory: Path) -> None:
    """Switches JAX's cache on."""
    jax.config.update("jax_compilation_cache_dir", str(directory))
    jax.config.update("jax_compilation_cache_max_size", _LARGEST)
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", _QUICK)
    reset_cache()


@functools.cache
def _directory() -> Path | None:
    """The directory of this process, made; None where it is switched off or cannot be written."""
    directory = choose(os.environ, cpu_kind())
    return directory if directory is not None and _usable(directory) else None


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
