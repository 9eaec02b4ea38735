"""All names of `jax.core`, `jax.extend`, `jax.interpreters` and `jax.experimental` that this package uses.

No other file imports these modules, so that only this file changes when a release of JAX moves a name. The names that
are imported at the top are required. Serialised executables and JAX's compilation cache only save time: if JAX does not
provide them, one warning is issued and every process compiles its programs.
"""

import contextlib
import functools
import importlib
import itertools
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import jax
import numpy as np
from jax.core import eval_jaxpr as eval_jaxpr
from jax.extend.core import Primitive as Primitive
from jax.extend.core import jaxpr_as_fun as jaxpr_as_fun
from jax.interpreters import ad as ad
from jax.interpreters import batching as batching
from jax.interpreters import mlir as mlir

from jaxbandits.base.foreign import has_foreign_code

JaxprEqn: TypeAlias = Any  # jax.extend.core.JaxprEqn, whose values have no shape for a type checker
Jaxpr: TypeAlias = Any  # open or closed; one class from jax 0.12 on, two for older versions
Params: TypeAlias = dict[str, Any]  # parameters of an equation, by name


def open_jaxpr(closed: Jaxpr) -> tuple[Any, list[Any]]:
    """Return the open jaxpr and the values of the constants of a jaxpr, in every supported version of JAX."""
    return getattr(closed, "jaxpr", closed), list(getattr(closed, "consts", ()))


def source_files(closed: Jaxpr) -> set[str]:
    """Return the files of the functions whose jaxprs are inside a jaxpr; "" stands for an unknown file."""
    files: set[str] = set()
    pending, seen = [closed], {id(closed)}
    while pending:
        for eqn in open_jaxpr(pending.pop())[0].eqns:
            for value in eqn.params.values():
                for inner in value if isinstance(value, (tuple, list)) else (value,):
                    if (hasattr(inner, "eqns") or hasattr(inner, "jaxpr")) and id(inner) not in seen:
                        seen.add(id(inner))
                        pending.append(inner)
                        source = getattr(open_jaxpr(inner)[0].debug_info, "func_src_info", None) or ""
                        files.add(source.partition(" at ")[2].rpartition(":")[0])
    return files


@contextlib.contextmanager
def without_unrolling() -> Iterator[None]:
    """Compile the programs of a `with` block for CPUs without unrolling loops over trials, in this thread only.

    LLVM unrolls loops of up to about 64 iterations before it vectorises, which gives slower code and longer
    compilation. The XLA option that prevents this is in a map, and JAX's `compiler_options` do not accept maps. The
    option is therefore appended to the serialised message of all options. If JAX or XLA does not support the option,
    programs are compiled with unrolling.
    """
    _extend_compile_options()
    before, _thread.without_unrolling = getattr(_thread, "without_unrolling", False), True
    try:
        yield
    finally:
        _thread.without_unrolling = before


_thread = threading.local()
_NO_UNROLLING = b"xla_cpu_disable_loop_unrolling"
# The field numbers of XLA's messages are {executable_build_options (3): {debug_options (3): {xla_backend_extra_options
# (500): {key (1): ..., value (2): ""}}}}. A message that is appended to another one is merged with it.
_ENTRY = b"\x0a" + bytes([len(_NO_UNROLLING)]) + _NO_UNROLLING + b"\x12\x00"
_DEBUG_OPTIONS = b"\xa2\x1f" + bytes([len(_ENTRY)]) + _ENTRY
_BUILD_OPTIONS = b"\x1a" + bytes([len(_DEBUG_OPTIONS)]) + _DEBUG_OPTIONS
_EXTRA_OPTIONS = b"\x1a" + bytes([len(_BUILD_OPTIONS)]) + _BUILD_OPTIONS


@functools.cache
def _extend_compile_options() -> None:
    """Patch JAX's compiler so that it adds `_EXTRA_OPTIONS` in threads that request them."""

    def with_extra_options(get_compile_options: Callable[..., Any]) -> Callable[..., Any]:
        def compile_options(*args: Any, **kwargs: Any) -> Any:
            options = get_compile_options(*args, **kwargs)
            if not getattr(_thread, "without_unrolling", False):
                return options
            try:
                longer = type(options).ParseFromString(options.SerializeAsString() + _EXTRA_OPTIONS)
                return longer if _NO_UNROLLING in longer.SerializeAsString() else options
            except (AttributeError, RuntimeError):
                return options

        return compile_options

    _patch("jax._src.compiler", "get_compile_options", with_extra_options)


def _patch(module_name: str, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a function in a private module of JAX by `wrap` of it; do nothing if this version of JAX lacks it."""
    try:
        module = importlib.import_module(module_name)
        function = getattr(module, name)
    except (ImportError, AttributeError):
        return
    setattr(module, name, functools.wraps(function)(wrap(function)))


@functools.cache
def executables() -> Any:
    """Return the module that serialises compiled programs, or None if this version of JAX has no such module."""
    try:
        from jax.experimental import serialize_executable

        return serialize_executable
    except ImportError:
        _warn("serialize compiled programs, so every process compiles its own programs")
        return None


def reset_cache() -> None:
    """Make JAX read the setting of its cache directory again, which by default it does only once per process."""
    try:
        from jax.experimental.compilation_cache import compilation_cache

        compilation_cache.reset_cache()
    except (ImportError, AttributeError):
        _warn("reset the compilation cache, so it may stay off")


@contextlib.contextmanager
def ignore_cached_traces(may_serve: Callable[..., bool] | None = None) -> Iterator[None]:
    """Trace functions under `jax.jit` anew within a `with` block, with the present content of NumPy arrays.

    By default JAX reuses the trace of a jitted function even if a global that the function reads has changed. Traces
    made in such a context are never freed, so JAX's caches are cleared after every `_MOST_CONTEXTS` contexts.

    Args:
      may_serve: function `(function, args, kwargs)` of a call of a jitted function; if it returns True, the call uses
        JAX's caches; None: no call does, nor in versions of JAX that do not show these calls.
    """
    context = _user_context()
    if context is None or next(_contexts) % _MOST_CONTEXTS == 0:
        jax.clear_caches()
    _intercept_jitted_calls()
    before, _thread.may_serve = getattr(_thread, "may_serve", None), may_serve
    try:
        with contextlib.nullcontext() if context is None else context(object()), _copied_constants():
            yield  # JAX's caches distinguish the values of the context
    finally:
        _thread.may_serve = before


@functools.cache
def _intercept_jitted_calls() -> None:
    """Patch JAX's calls of jitted functions during tracing so that they ask the function `may_serve` of this thread."""

    def with_caches(infer_params: Callable[..., Any]) -> Callable[..., Any]:
        def infer(function: Any, info: Any, args: Any, kwargs: Any) -> Any:
            may_serve = getattr(_thread, "may_serve", None)
            is_served = may_serve is not None and may_serve(function, args, kwargs)
            with serve_cached_traces() if is_served else contextlib.nullcontext():
                return infer_params(function, info, args, kwargs)

        return infer

    _patch("jax._src.pjit", "_infer_params", with_caches)


def trace_foreign_code_anew(*objects: Any) -> contextlib.AbstractContextManager[Any]:
    """Return a context manager for jitted functions of objects; it ignores JAX's trace caches if these are foreign."""
    return ignore_cached_traces() if has_foreign_code(*objects) else contextlib.nullcontext()


@contextlib.contextmanager
def _copied_constants() -> Iterator[None]:
    """Copy each NumPy array that functions in a `with` block use as a constant, in this thread only.

    JAX 0.12 converts float64 and int64 arrays to 32 bits once per array, and finds the earlier result as long as a
    trace holds it, even if the content of the array has changed meanwhile. An array of 32 bits is not copied, so a
    trace that was made earlier changes with it. A copy is a new array for JAX.
    """
    _intercept_constants()
    before, _thread.copies = getattr(_thread, "copies", None), {}
    try:
        yield
    finally:
        _thread.copies = before


@functools.cache
def _intercept_constants() -> None:
    """Patch JAX's conversion of constants so that it replaces NumPy arrays by copies within `_copied_constants`."""

    def with_copies(canonicalize_value: Callable[..., Any]) -> Callable[..., Any]:
        def canonicalize(value: Any, *args: Any, **kwargs: Any) -> Any:
            copies = getattr(_thread, "copies", None)
            if copies is not None and type(value) is np.ndarray:
                # The original is kept, too, so that no other array can get its `id` within the block.
                _, value = copies.setdefault(id(value), (value, value.copy(order="K")))
            return canonicalize_value(value, *args, **kwargs)

        return canonicalize

    _patch("jax._src.dtypes", "canonicalize_value", with_copies)  # absent: JAX converts an array each time


def serve_cached_traces() -> contextlib.AbstractContextManager[Any]:
    """Return a context manager within which JAX's trace caches are used again, inside one that ignores them."""
    context = _user_context()
    return contextlib.nullcontext() if context is None else context(None)


_MOST_CONTEXTS = 50
_contexts = itertools.count(1)


@functools.cache
def _user_context() -> Any:
    make = getattr(jax, "make_user_context", None)
    return None if make is None else make(None)


@functools.cache
def xla_options() -> str:
    """Return XLA's options as text, including those in files that `XLA_FLAGS` names; XLA reads them once per process.

    The number of CPU devices is omitted, since no result depends on it. If this version of JAX does not provide the
    options, the text of `XLA_FLAGS` at the first call is returned.
    """
    try:
        options = importlib.import_module("jaxlib._jax").CompileOptions()
        options.executable_build_options.debug_options.xla_force_host_platform_device_count = 1
        return options.SerializeAsString().hex()
    except (ImportError, AttributeError):
        flags = os.environ.get("XLA_FLAGS", "").split()
        return " ".join(flag for flag in flags if "device_count" not in flag)


def _warn(what: str) -> None:
    warnings.warn(f"this version of JAX cannot {what}", RuntimeWarning, stacklevel=3)
