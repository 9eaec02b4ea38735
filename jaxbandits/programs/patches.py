"""Detection of functions and classes of JAX and NumPy that have been replaced, by a user or by a mock in a test."""

import functools
import sys
import threading
import types
from operator import is_
from pathlib import Path
from typing import Any

from jaxbandits.base.foreign import is_own_file
from jaxbandits.tracing import jax_compat

_LIBRARIES = ("jax", "numpy")
_COMPILERS = ("nanobind", "_cython")  # modules, or their beginnings, of the types of compiled functions


class LibraryCode:
    """Variables of the imported modules of JAX and NumPy, private modules included."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._variables: dict[str, dict[str, Any]] = {}  # variables of each module in the last check
        self._is_original = True

    def is_original(self) -> bool:
        """Return whether neither this check nor an earlier one has found a replaced function or class.

        The first check finds what code outside of installed packages has replaced before, later checks every
        replacement. Variables that hold no code, such as flags and caches, may change.
        """
        with self._lock:
            if self._is_original:
                modules = [(name, x) for name, x in sys.modules.copy().items() if name.partition(".")[0] in _LIBRARIES]
                self._is_original = all(self._is_unchanged(name, vars(module)) for name, module in modules)
            return self._is_original

    def _is_unchanged(self, name: str, variables: dict[str, Any]) -> bool:
        known = self._variables.get(name, {})
        if len(known) == len(variables) and all(map(is_, known.values(), variables.values())):
            return True
        present = variables.copy()
        self._variables[name] = present
        return not any(
            _is_of_user(value) or (key in known and (_is_code(known[key]) or _is_code(value)))
            for key, value in present.items()
            if known.get(key, self) is not value and not _is_patch(value)
        )


def _is_code(value: Any) -> bool:
    return callable(value) or isinstance(value, types.ModuleType)


def _is_patch(value: Any) -> bool:
    """Return whether a function replaces one of JAX in every process (`tracing.jax_compat`)."""
    return isinstance(value, types.FunctionType) and value.__code__.co_filename == jax_compat.__file__


def _is_of_user(value: Any) -> bool:
    """Return whether a value is a function or a class, or an object that can be called, of no installed package."""
    if isinstance(value, types.FunctionType):
        file = value.__code__.co_filename
        is_generated = file == "<string>" or file.startswith("<frozen ")
        return not (_is_installed(file) or (is_generated and _is_installed_module(value.__module__)))
    if not callable(value):
        return False
    if isinstance(value, type) or type(value).__module__.startswith(_COMPILERS):
        return not _is_installed_module(value.__module__)
    return not _is_installed_module(type(value).__module__) or _is_of_user(getattr(value, "__wrapped__", None))


@functools.cache
def _is_installed(file: str) -> bool:
    return is_own_file(file) or "site-packages" in Path(file).parts


@functools.lru_cache(4096)
def _is_installed_module(name: str) -> bool:
    root = name.partition(".")[0]
    file = getattr(sys.modules.get(root), "__file__", None)
    is_compiled = file is None and root in sys.stdlib_module_names
    return name not in ("unittest.mock", "__main__") and (is_compiled or (file is not None and _is_installed(file)))
