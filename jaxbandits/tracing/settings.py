"""Settings of JAX and XLA that can change the numbers of a program."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax

from jaxbandits.base.digests import digest
from jaxbandits.base.errors import InputError
from jaxbandits.tracing.jax_compat import xla_options

# Prefixes of settings that affect no number: caches, logs, error texts, connections, and devices.
_WITHOUT_EFFECT = (
    "jax_compilation_cache",
    "jax_persistent_cache",
    "jax_raise_persistent_cache",
    "jax_log",
    "jax_debug_log",
    "jax_explain",
    "jax_dump",
    "jax_include",
    "jax_pprint",
    "jax_traceback",
    "jax_tracer_error",
    "jax_captured_constants",
    "jax_platform",
    "jax_default_device",
    "jax_num_cpu_devices",
    "jax_cpu_get",
    "jax_cross_host",
    "jax_mtls",
    "jax_distributed",
)


# Debugging settings with which the code of this package does not run; they affect no number.
_OWN = {
    "jax_disable_jit": False,
    "jax_numpy_rank_promotion": "allow",
    "jax_numpy_dtype_promotion": "standard",
    "jax_check_tracer_leaks": False,
}


@contextlib.contextmanager
def own_settings() -> Iterator[None]:
    """Run a `with` block, or a decorated function, with the settings that the code of this package requires.

    The user's values of `jax_disable_jit`, `jax_numpy_rank_promotion`, `jax_numpy_dtype_promotion` and
    `jax_check_tracer_leaks` are restored afterwards.
    """
    given = _values()
    with contextlib.ExitStack() as stack:
        for name, value in _OWN.items():
            if given[name] != value:
                stack.enter_context(getattr(jax, name.removeprefix("jax_"))(value))
        yield


def settings() -> dict[str, str]:
    """Return a dict of JAX's settings in this thread that can change numbers, and a digest of XLA's options."""
    of_jax = {name: repr(value) for name, value in _values().items() if not name.startswith(_WITHOUT_EFFECT)}
    return {**of_jax, "xla_options": digest(xla_options())}


def settings_for_threads() -> Callable[[], None]:
    """Return a function that, when another thread calls it, applies JAX's settings of the present thread there.

    These include settings made by contexts such as `jax.enable_x64(True)`.

    Raises:
      InputError: if a context of this thread cannot be entered again through JAX's public functions.
    """
    here = _values()
    with ThreadPoolExecutor(1) as pool:
        elsewhere = pool.submit(_values).result()
    different = {name: value for name, value in here.items() if elsewhere[name] != value}
    for name in different:
        if not callable(getattr(jax, name.removeprefix("jax_"), None)):
            raise InputError(
                f"{name} is set by a context manager, which other threads do not see: set it by jax.config.update"
            )

    def enter() -> None:
        _of_thread.entered = [getattr(jax, name.removeprefix("jax_"))(value) for name, value in different.items()]
        for context in _of_thread.entered:
            context.__enter__()

    return enter


# When a context is garbage-collected, it is exited in the thread that collects it. Each thread therefore holds
# references to its contexts until it ends.
_of_thread = threading.local()


def _values() -> dict[str, Any]:
    return dict(jax.config.values)
