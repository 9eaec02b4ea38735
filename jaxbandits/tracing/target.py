"""Target of a program, that is, the kind of device for which it is traced; device-dependent code calls this module.

|                       | CPU                  | accelerator                                     |
|-----------------------|----------------------|-------------------------------------------------|
| a value with several  | a barrier; otherwise | no barrier: XLA weighs repetition against the   |
| readers (`barrier`)   | each computes it     | kernels it saves, and a kernel costs 1 to 2 us  |
| concatenations        | a separate kernel    | a separate kernel for at most 16 arrays         |
|                       | copies the arrays    |                                                 |
| loops of unknown      | unchanged            | unchanged if the loop is part of a CUDA graph   |
| length (`while_loop`) |                      | (`open_loops`); otherwise a fixed number of     |
|                       |                      | masked steps, since the host would have to read |
|                       |                      | the predicate before every step                 |
"""

import contextlib
import contextvars
from collections.abc import Iterator
from typing import NamedTuple

import jax


class Target(NamedTuple):
    """Kind of device for which functions are traced."""

    platform: str  # platform of a `jax.Device`
    open_loops: bool  # whether the target supports loops whose number of steps depends on data


_target: contextvars.ContextVar[Target | None] = contextvars.ContextVar("target", default=None)


def is_accelerator(platform: str) -> bool:
    """Return True if a platform is an accelerator, that is, any platform except "cpu"."""
    return platform != "cpu"


@contextlib.contextmanager
def trace_for(target: Target) -> Iterator[None]:
    """Set the target for which functions are traced within a `with` block; by default it is JAX's default device."""
    token = _target.set(target)
    try:
        yield
    finally:
        _target.reset(token)


def targets_accelerator() -> bool:
    """Return True if functions are being traced for an accelerator."""
    target = _target.get()
    return is_accelerator(target.platform if target else jax.default_backend())


def has_open_loops() -> bool:
    """Return True if functions are being traced for a target that supports loops of unknown length."""
    target = _target.get()
    return target.open_loops if target else not targets_accelerator()
