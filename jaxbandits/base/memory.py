"""Check that arrays fit into memory, before the operating system ends the process."""

import contextlib
import os
from pathlib import Path

from jaxbandits.base.errors import InputError


def require(n_bytes: int, what: str, remedy: str, available: int | None = None) -> None:
    """Raise an error if something takes more memory than is available.

    Args:
      n_bytes: lower bound of the memory, in bytes.
      what: the object that takes the memory, as the subject of the error message.
      remedy: advice, as an imperative clause.
      available: number of available bytes; by default the result of `available_bytes`.

    Raises:
      InputError: if the memory does not suffice; the message names both sizes.
    """
    available = available_bytes() if available is None else available
    if available is not None and n_bytes > available:
        sizes = f"{format_bytes(n_bytes)} of memory, but only {format_bytes(available)} are free"
        raise InputError(f"{what} would take {sizes}: {remedy}")


def available_bytes() -> int | None:
    """Return the free bytes of the machine or of the process's cgroup, whichever are fewer; None if unknown.

    On a system without /proc all memory of the machine counts as free.
    """
    free = [value for value in (_of_machine(), _of_group()) if value is not None]
    return min(free, default=None)


def format_bytes(n_bytes: float) -> str:
    """Return a number of bytes as text with three significant digits and a unit, such as "1.25 GB"."""
    for unit in ("B", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.3g} GB"


def _of_machine() -> int | None:
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])
    with contextlib.suppress(AttributeError, OSError, ValueError):  # without /proc, all memory counts as free
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _of_group(directory: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return the free bytes under the memory limit of a container or batch system; None without a limit."""
    with contextlib.suppress(OSError, ValueError):  # ValueError, since "max" means that there is no limit
        limit, used = (int((directory / name).read_text()) for name in ("memory.max", "memory.current"))
        cache = next(
            (
                int(line.split()[1])
                for line in (directory / "memory.stat").read_text().splitlines()
                if line.startswith("inactive_file ")
            ),
            0,
        )
        return limit - used + cache
    return None
