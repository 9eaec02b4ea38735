"""Restrict JAX's trace caches to code of this package while a trial with foreign code is traced anew.

Foreign code is code outside this package, JAX and the standard library. JAX returns a cached trace of a user's jitted
function even if a global that the function reads has changed, so foreign code is traced without these caches. Code of
this package reads no globals that change, and with the caches it is traced in a fifth of the time.
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
    """Trace jitted functions anew within a `with` block, except inside `own_code` if `serve_own_code` is True."""
    token = _serve_own_code.set(serve_own_code)
    try:
        with jax_compat.ignore_cached_traces():
            yield
    finally:
        _serve_own_code.reset(token)


def own_code(*objects: Any) -> contextlib.AbstractContextManager[Any]:
    """Return a context manager for calls of objects; it uses the trace caches if the objects hold no foreign code."""
    if _serve_own_code.get() and not has_foreign_code(*objects):
        return jax_compat.serve_cached_traces()
    return contextlib.nullcontext()
