"""Restrict JAX's trace caches to known code while a trial with foreign code is traced again.

Foreign code is code outside this package, JAX and the standard library. JAX returns a cached trace of a user's jitted
function even if a global that the function reads has changed, so foreign code is traced without these caches. Code of
this package reads no globals that change, and with the caches it is traced in a fifth of the time. The caches also
serve the jitted functions of JAX that foreign code calls (`jnp.where`), except if their arguments are foreign code
(`jnp.piecewise`), and as long as no function of JAX or NumPy is replaced.
"""

import contextlib
import contextvars
import types
from collections.abc import Iterator
from typing import Any

from jaxbandits.base.foreign import has_foreign_code, is_file_of_jax
from jaxbandits.programs.patches import LibraryCode
from jaxbandits.tracing import jax_compat

_serve_own_code: contextvars.ContextVar[bool] = contextvars.ContextVar("serve_own_code", default=False)


@contextlib.contextmanager
def ignore_cached_traces(*, serve_own_code: bool) -> Iterator[None]:
    """Trace jitted functions again within a `with` block, except those of JAX.

    Those inside `own_code` are another exception if `serve_own_code` is True.
    """
    may_serve = _is_call_of_jax if _libraries.is_original() else None
    token = _serve_own_code.set(serve_own_code)
    try:
        with jax_compat.ignore_cached_traces(may_serve):
            yield
    finally:
        _serve_own_code.reset(token)


_libraries = LibraryCode()


def _is_call_of_jax(function: Any, args: Any, kwargs: Any) -> bool:
    """Return whether a jitted function is one of JAX, and none of its arguments is foreign code."""
    if not isinstance(function, types.FunctionType) or not is_file_of_jax(function.__code__.co_filename):
        return False
    return not has_foreign_code(function, args, kwargs)


def own_code(*objects: Any) -> contextlib.AbstractContextManager[Any]:
    """Return a context manager for calls of objects; it uses the trace caches if the objects hold no foreign code."""
    if _serve_own_code.get() and not has_foreign_code(*objects):
        return jax_compat.serve_cached_traces()
    return contextlib.nullcontext()
