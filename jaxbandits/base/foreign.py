"""Detection of foreign code: classes and functions from outside this package, JAX, optax and the standard library."""

import contextlib
import dataclasses
import functools
import importlib.util
import sysconfig
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parents[1]
_OF_ARRAYS = ("numpy", "jax", "jaxlib")
_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice)


def has_foreign_code(*objects: Any) -> bool:
    """Return whether objects contain foreign code, directly or in their fields or in containers.

    Foreign code is a class from outside this package, a function from outside this package, JAX, optax and the standard
    library (also if it replaces a method of this package), a function with a closure, or an object of an unknown type.
    """
    seen: set[int] = set()

    def is_foreign(obj: Any) -> bool:
        kind: Any = type(obj)
        is_array = hasattr(obj, "dtype") and hasattr(obj, "shape") and kind.__module__.partition(".")[0] in _OF_ARRAYS
        if id(obj) in seen or kind in _PLAIN or is_array:
            return False
        seen.add(id(obj))
        if kind in (tuple, list, set, frozenset) or (isinstance(obj, tuple) and _is_own(kind)):
            return any(map(is_foreign, obj))
        if isinstance(obj, dict) and kind is dict:
            return any(map(is_foreign, obj.values()))
        if isinstance(obj, type):
            return not is_own_class(obj)
        if isinstance(obj, types.FunctionType) and obj.__closure__ is None:
            return not is_own_function(obj)
        if not is_own_class(kind) or not dataclasses.is_dataclass(obj):
            return True
        return any(is_foreign(getattr(obj, field.name, None)) for field in dataclasses.fields(obj))

    return is_foreign(objects)


def is_own_class(cls: type) -> bool:
    """Return whether a class is of this package and `is_own_function` holds for its methods, inherited ones included.

    Methods whose names begin with two underscores are not checked.
    """
    members = (item for base in cls.__mro__ if _is_own(base) for item in vars(base).items())
    functions = (_function_of(member) for name, member in members if not name.startswith("__"))
    return _is_own(cls) and all(is_own_function(function) for function in functions if function is not None)


def is_own_function(function: object) -> bool:
    """Return whether a function is of a file for which `is_own_file` holds, or generated for an own dataclass."""
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    return is_own_file(code.co_filename) or (code.co_filename == "<string>" and _is_own(function))


def closure_of(function: types.FunctionType) -> list[Any]:
    """Return the values of the variables in a function's closure that have a value."""
    values = []
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # the variable has no value yet
            values.append(cell.cell_contents)
    return values


def is_own_module(module: types.ModuleType) -> bool:
    """Return whether no function or class in a module of this package was replaced by foreign code."""
    values = list(vars(module).values())
    functions = (value for value in values if isinstance(value, types.FunctionType))
    classes = (value for value in values if isinstance(value, type) and value.__module__ == module.__name__)
    return all(map(is_own_function, functions)) and all(map(is_own_class, classes))


@functools.cache
def is_own_file(name: str) -> bool:
    """Return whether a file belongs to this package, to JAX, to optax, or to the standard library."""
    path = Path(name)
    if any(path.is_relative_to(root) for root in _OWN):
        return True
    return path.is_relative_to(_STANDARD) and "site-packages" not in path.relative_to(_STANDARD).parts


@functools.cache
def is_file_of_jax(name: str) -> bool:
    """Return whether a file belongs to JAX."""
    return Path(name).is_relative_to(_directory_of("jax"))


def _directory_of(package: str) -> Path:
    """Return the directory in which a package is installed, without importing it."""
    spec = importlib.util.find_spec(package)
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else _PACKAGE


_OWN, _STANDARD = (_PACKAGE, _directory_of("jax"), _directory_of("optax")), Path(sysconfig.get_path("stdlib"))


def lack_of_identity(spec: Mapping[str, Any]) -> str:
    """Return a message about the code of a specification that no digest identifies; "" if there is no such code."""
    if not (found := ", ".join(spec.get("host code", ()))):
        return ""
    return (
        f"{found}; no digest identifies the version of this code: pass identity='...' (text that names the "
        "version), in the first run too"
    )


def _function_of(member: Any) -> Any:
    """Return the function behind an attribute of a class; None if it is not code."""
    if isinstance(member, (staticmethod, classmethod)):
        return member.__func__
    if isinstance(member, property):
        return member.fget
    if isinstance(member, functools.cached_property):
        return member.func
    return member if callable(member) and not isinstance(member, type) else None


def _is_own(obj: object) -> bool:
    module = getattr(obj, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] == __name__.partition(".")[0]
