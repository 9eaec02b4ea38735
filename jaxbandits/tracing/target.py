"""What a program is made for: the one place that says "on an accelerator".

On a CPU a loop that ends when its data say so costs what it runs, and nothing where it does not run. On an accelerator
the host would have to read the predicate before every step of it, and the device would wait. There every loop has a
number of steps that the compiler knows: rounds are played in blocks (`simulation.program`), and what is rare in a round
is a fixed number of masked steps (`tracing.batching`).
"""

import contextlib
import contextvars
from collections.abc import Iterator

import jax

_platform: contextvars.ContextVar[str | None] = contextvars.ContextVar("platform", default=None)


def is_accelerator(platform: str) -> bool:
    """Whether loops there must have a known number of steps; `platform` is that of a `jax.Device`."""
    return platform != "cpu"


@contextlib.contextmanager
def target_platform(platform: str) -> Iterator[None]:
    """What is traced inside is for this platform; elsewhere it is for that of JAX's default device."""
    token = _platform.set(platform)
    try:
        yield
    finally:
        _platform.reset(token)


def targets_accelerator() -> bool:
    """Whether what is being traced will run on an accelerator."""
    return is_accelerator(_platform.get() or jax.default_backend())
