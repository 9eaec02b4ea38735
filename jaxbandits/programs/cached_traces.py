"""Restrict JAX's caches of traces to the code of this package while a trial with foreign code is traced anew.

JAX caches the traces of a user's jitted function even if a global that the function reads has changed, so foreign code
is traced without these caches. Code of this package reads no such globals, and the caches reduce the time of its traces
to a fifth.
"""

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

from jaxbandits.base.foreign import has_foreign_code
from jaxbandits.tracing import jax_compat

_serve_own_code: contextvars.ContextVar[bool] = contextvars.ContextVar("serve_own_code", default=False)


@contextlib.contextmanager
def ignore_cached_traces(*, serve_own_code: bool) -> Iterator[None]:
    """Trace functions under `jax.jit` anew in this context, except inside `own_code` if `serve_own_code`."""
    token = _serve_own_code.set(serve_own_code)
    try:
        with jax_compat.ignore_cached_traces():
            yield
    finally:
        _serve_own_code.reset(token)


def own_code(*objects: Any) -> contextlib.AbstractContextManager[Any]:
    """Return a context for calls of objects, in which the caches are used if the objects hold no foreign code."""
    if _serve_own_code.get() and not has_foreign_code(*objects):
        return jax_compat.serve_cached_traces()
    return contextlib.nullcontext()
