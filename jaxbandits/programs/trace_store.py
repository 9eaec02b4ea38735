"""Traces that later calls use again, as long as the code from which they were made is unchanged.

Only traces of code of this package, JAX and optax are kept, since what other code reads cannot be listed. A
`CodeSnapshot` lists what code of this package reads: the variables of its modules, the members of its classes, and the
names that it imports from JAX, optax, NumPy and the standard library. Builtins, names in private modules of JAX and
NumPy, and changes within their functions and classes are not in the list. Nothing is kept while a user's code replaces
any of these variables. The first snapshot takes some 0.1 s, so a trace is kept when it is made for the second time.
"""

import collections
import functools
import operator
import sys
import threading
import types
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np

from jaxbandits.base.foreign import closure_of, is_own_file, is_own_function
from jaxbandits.programs.compilation import LRUCache

T = TypeVar("T")

MAX_REQUESTED = 256  # keys
MAX_TRACES = 64  # traces of trials, some hundred kilobytes to tens of megabytes each

_PACKAGE = __name__.partition(".")[0]
_LIBRARIES = frozenset(("jax", "optax", "numpy", "math", "functools", "itertools"))


class CodeSnapshot:
    """List of the variables and functions that code of this package reads, at the time of construction."""

    def __init__(self) -> None:
        self._modules = _modules()
        self._namespaces = _namespaces(self._modules.values())
        self._values = self._read_values()
        self._functions = list({id(f): f for value in self._values for f in _functions_in(value)}.values())
        self._definitions = self._read_definitions()
        self._arrays = [(value, value.tobytes()) for value in self._values if type(value) is np.ndarray]
        own = [vars(module) for module in self._modules.values() if _is_own(module.__name__)]
        seen: set[int] = set()
        self.holds_user_code = any(
            _is_of_user(value, seen)
            for namespace in self._namespaces
            for name, value in list(namespace.items())
            if name not in _OF_IMPORTS
        ) or any(_is_replaced_module(value) for namespace in own for value in list(namespace.values()))

    def is_current(self) -> bool:
        """Return whether nothing in the list has been replaced and nothing but imported modules has been added."""
        values = self._read_values()
        if not _are_identical(values, self._values):
            known = set(map(id, self._values))
            values = [x for x in values if id(x) in known or not isinstance(x, types.ModuleType)]
        return (
            _are_identical(values, self._values)
            and _are_identical(self._read_definitions(), self._definitions)
            and _are_identical(list(map(sys.modules.get, self._modules)), list(self._modules.values()))
            and all(array.tobytes() == content for array, content in self._arrays)
        )

    def is_complete(self) -> bool:
        """Return whether no module has been imported since."""
        return _modules().keys() == self._modules.keys()

    def _read_values(self) -> list[Any]:
        return list(chain.from_iterable(namespace.values() for namespace in self._namespaces))

    def _read_definitions(self) -> list[Any]:
        """Return the code and the default values of all functions, which can be replaced within a function."""
        parts = map(operator.attrgetter, ("__code__", "__defaults__", "__kwdefaults__"))
        return list(chain.from_iterable(map(part, self._functions) for part in parts))


class TraceStore:
    """Cache of the traces that were made by one version of the code."""

    def __init__(self) -> None:
        self._code = CodeSnapshot()
        self._traces = LRUCache(MAX_TRACES)

    def is_current(self) -> bool:
        """Return whether the code is still that of the traces."""
        # A new snapshot is taken before the old one is checked: what another thread replaces meanwhile is noticed.
        new = self._code if self._code.is_complete() else CodeSnapshot()
        if not self._code.is_current():
            return False
        self._code = new
        return True

    def get(self, key: Hashable, trace: Callable[[], tuple[T, bool]]) -> T:
        """Return the trace of a key; if it is missing, `trace` makes it.

        Args:
          key: everything except code that determines the trace.
          trace: function that returns a trace, and whether it contains only code of this package, JAX and optax. Other
            traces are not kept, nor are those during which code changed, nor those with a user's code in the snapshot.
        """

        def trace_and_check() -> T:
            traced, is_own = trace()
            if not is_own or self._code.holds_user_code or not self.is_current():
                self._traces.discard(key)
            return traced

        return self._traces.get(key, trace_and_check)


# A list of at most one item, since a variable that is assigned would change the snapshot of this module.
_stores: list[TraceStore] = []
_requested: collections.OrderedDict[Hashable, None] = collections.OrderedDict()
_lock = threading.Lock()


def was_requested(key: Hashable) -> bool:
    """Return whether the trace of a key was requested before, and record the key; the last 256 keys are recorded."""
    with _lock:
        is_known = key in _requested
        _requested[key] = None
        _requested.move_to_end(key)
        while len(_requested) > MAX_REQUESTED:
            _requested.popitem(last=False)
        return is_known


def current_traces() -> TraceStore:
    """Return the traces that were made by the present code."""
    with _lock:
        if not _stores or not _stores[0].is_current():
            _stores[:] = [TraceStore()]
        return _stores[0]


def drop_traces() -> None:
    """Drop all kept traces."""
    with _lock:
        _stores.clear()
        _requested.clear()


def _modules() -> dict[str, types.ModuleType]:
    """Return the imported modules of this package, and the public ones of the libraries that it uses, by their name."""
    return {name: module for name, module in sys.modules.copy().items() if _is_read(name)}


@functools.cache
def _is_read(name: str) -> bool:
    root, *parts = name.split(".")
    is_public = not any(part.startswith("_") for part in parts)
    return root in (_PACKAGE, "optax") or (root in _LIBRARIES and is_public)


def _namespaces(modules: Iterable[types.ModuleType]) -> list[Mapping[Any, Any]]:
    """Return the variables of modules and, in this package, the members of their classes and the dicts among both."""
    found: list[Mapping[Any, Any]] = [vars(module) for module in modules if not _is_own(module.__name__)]
    left: list[Mapping[Any, Any]] = [vars(module) for module in modules if _is_own(module.__name__)]
    seen: set[int] = set()
    while left:
        namespace = left.pop()
        found.append(namespace)
        for name, value in list(namespace.items()):  # another thread may import a module
            if id(value) in seen:
                continue
            if type(value) is dict and not str(name).startswith("__"):
                left.append(value)
            elif isinstance(value, type) and _is_own(value.__module__):
                left.append(vars(value))
            else:
                continue
            seen.add(id(value))
    return found


def _is_own(module_name: str) -> bool:
    return module_name.partition(".")[0] == _PACKAGE


def _is_of_user(value: Any, seen: set[int]) -> bool:
    """Return whether a variable was replaced by a function, class or object from outside the known libraries.

    Args:
      value: value of the variable; functions are searched for what they wrap, and for functions in their closures.
      seen: identities of the values that need not be searched again.
    """
    if id(value) in seen:
        return False
    seen.add(id(value))
    if isinstance(value, types.FunctionType):
        inner = [x for x in (vars(value).get("__wrapped__"), *closure_of(value)) if callable(x)]
        return not _is_known_function(value) or any(_is_of_user(x, seen) for x in inner)
    if (attribute := _attribute_of_function(type(value))) is not None:
        return _is_of_user(getattr(value, attribute), seen)
    return not _is_known(value if isinstance(value, type) else type(value))


def _is_known_function(function: types.FunctionType) -> bool:
    if function.__code__.co_filename == "<string>":  # generated for a dataclass or a named tuple
        name = str(function.__globals__.get("__name__"))
        return name.startswith("namedtuple_") or (_is_own(name) and "__wrapped__" not in vars(function))
    return is_own_function(function) or _is_of_numpy(function.__code__.co_filename)


def _is_replaced_module(value: Any) -> bool:
    """Return whether a variable of this package is a namespace, or a module that is neither known nor installed."""
    if not isinstance(value, types.ModuleType):
        return isinstance(value, types.SimpleNamespace)
    if value.__name__.partition(".")[0] in _KNOWN:
        return sys.modules.get(value.__name__) is not value
    return "site-packages" not in Path(getattr(value, "__file__", None) or "").parts


@functools.cache
def _is_of_numpy(file: str) -> bool:
    return Path(file).is_relative_to(Path(np.__file__).parent)


_KNOWN = {_PACKAGE, *_LIBRARIES, "jaxlib", "ml_dtypes", "nanobind", *sys.stdlib_module_names}


@functools.lru_cache(4096)
def _is_known(kind: type) -> bool:
    module = str(kind.__module__)
    root = module.partition(".")[0]
    is_library = root in _KNOWN or root.startswith("_cython")  # of functions that Cython has compiled
    # A user's file may have the name of a module of the standard library.
    file = getattr(sys.modules.get(root), "__file__", None)
    is_shadowed = root in sys.stdlib_module_names and file is not None and not is_own_file(file)
    return is_library and not is_shadowed and module != "unittest.mock"


def _functions_in(value: Any) -> Iterator[types.FunctionType]:
    """Yield the functions of this package and optax behind a variable or a member of a class, and those they wrap."""
    while value is not None:
        if isinstance(value, types.FunctionType):
            if (value.__module__ or "").partition(".")[0] not in (_PACKAGE, "optax"):
                return
            yield value
            value = vars(value).get("__wrapped__")
        elif (attribute := _attribute_of_function(type(value))) is not None:
            value = getattr(value, attribute)
        else:
            return


_OF_IMPORTS = ("__loader__", "__spec__")  # variables of modules


@functools.lru_cache(4096)
def _attribute_of_function(kind: type) -> str | None:
    """Return the name of the attribute with the function that objects of a type wrap; None if they wrap none."""
    return next((_FUNCTION_IN[base] for base in kind.__mro__ if base in _FUNCTION_IN), None)


_FUNCTION_IN = {
    functools.partial: "func",
    functools.cached_property: "func",
    types.MethodType: "__func__",
    staticmethod: "__func__",
    classmethod: "__func__",
    property: "fget",
    type(functools.cache(_is_own)): "__wrapped__",
    type(jax.jit(_is_own)): "__wrapped__",
    jax.custom_jvp: "__wrapped__",
    jax.custom_vjp: "__wrapped__",
}


def _are_identical(values: list[Any], others: list[Any]) -> bool:
    return len(values) == len(others) and all(map(operator.is_, values, others))
