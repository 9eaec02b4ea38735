"""JAX's caches of traces while a trial with code of others is traced anew: they serve the code of this package alone.

JAX caches the traces of a user's jitted function although a global that it reads has changed, so code of others is
traced without these caches. That of this package reads no such globals; with the caches it is traced in a fifth of the
time.
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
    """Trace functions under `jax.jit` anew in this context; those inside `own_code` only if they may not be served."""
    token = _serve_own_code.set(serve_own_code)
    try:
        with jax_compat.ignore_cached_traces():
            yield
    finally:
        _serve_own_code.reset(token)


def own_code(*objects: Any) -> contextlib.AbstractContextManager[Any]:
    """Return a context for calls of objects, in which caches serve if nothing that the objects hold is of others."""
    if _serve_own_code.get() and not has_foreign_code(*objects):
        return jax_compat.serve_cached_traces()
    return contextlib.nullcontext()
