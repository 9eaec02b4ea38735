"""Memory of a process that runs many different problems one after the other."""

import contextlib
import ctypes
import gc

import jax

from jaxbandits.programs.compilation import clear_compiled
from jaxbandits.programs.trace_store import drop_traces


def release() -> None:
    """Drop the compiled programs and traces of this process, and return free memory to the operating system.

    The allocator of glibc otherwise keeps what compilers have freed: the process stays as large as the sum of its runs.
    """
    clear_compiled()
    drop_traces()
    jax.clear_caches()
    gc.collect()
    with contextlib.suppress(OSError, AttributeError, TypeError):  # another C library, or Windows
        ctypes.CDLL(None).malloc_trim(0)
