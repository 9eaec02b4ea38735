"""Platform that programs are traced for: whether loops need a number of steps that the compiler knows.

On a CPU a loop with a data-dependent end costs the steps that it runs, and nothing if it runs none. On an accelerator
the host would have to read the predicate before every step, while the device idles. Programs for accelerators therefore
have loops of fixed length: rounds are played in blocks (`simulation.program`), and computations that few rounds need
are a fixed number of masked steps (`tracing.batching`).
"""

import contextlib
import contextvars
from collections.abc import Iterator

import jax

_platform: contextvars.ContextVar[str | None] = contextvars.ContextVar("platform", default=None)


def is_accelerator(platform: str) -> bool:
    """Return whether loops on a platform (of a `jax.Device`) must have a fixed number of steps."""
    return platform != "cpu"


@contextlib.contextmanager
def target_platform(platform: str) -> Iterator[None]:
    """Set the platform that functions are traced for; outside it is that of JAX's default device."""
    token = _platform.set(platform)
    try:
        yield
    finally:
        _platform.reset(token)


def targets_accelerator() -> bool:
    """Return whether functions are being traced for an accelerator."""
    return is_accelerator(_platform.get() or jax.default_backend())
