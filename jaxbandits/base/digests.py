"""Digests of JSON values, of arrays, of this package's source, and of code that a user wrote.

The digest of a function or class changes whenever it might compute other numbers under the same name. It covers the
source of the module that defines it and of the user's modules that this one imports, and recursively the byte code,
constants, defaults, closure, attributes and global names of each function. Values count by content: objects of unknown
kinds by their pickles, which nothing ever reads. Comments, layout and the text of docstrings do not count.
"""

import ast
import collections
import contextlib
import dataclasses
import functools
import hashlib
import inspect
import itertools
import json
import pickle
import sys
import sysconfig
import types
import warnings
from collections.abc import Set
from pathlib import Path
from typing import Any

import numpy as np

_LENGTH = 32  # hexadecimal digits: 128 bits
_PACKAGE = Path(__file__).parents[1]


def digest(value: Any) -> str:
    """Return a digest of a JSON value, independent of the order of its keys."""
    return _sha(json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode())


def array_digest(array: np.ndarray) -> str:
    """Return a digest of an array: of its type, shape and bytes."""
    head = f"{array.dtype.name} {array.shape} ".encode()
    return _sha(head, np.ascontiguousarray(array))


@functools.cache
def package_digest() -> str:
    """Return a digest of the source of this package: of the path and content of every .py file."""
    parts = ((str(path.relative_to(_PACKAGE)).encode(), path.read_bytes()) for path in package_files())
    return _sha(*itertools.chain.from_iterable(parts))


def package_files() -> list[Path]:
    """Return the .py files of this package."""
    return sorted(_PACKAGE.rglob("*.py"))


def code_digest(obj: Any) -> str:
    """Return a digest of a function, class or callable object, equal for equal code and equal captured values.

    Functions of this package and of the standard library count by name: the versions of Python and of this package
    guard a run separately. Those of installed packages count by name and version of the package, and what a call there
    returned (a schedule of optax) by the values it captured, too.
    """
    return digest(_describe(obj, {}))


def has_foreign_code(*objects: Any) -> bool:
    """Return whether objects, their fields and containers of them hold a class or function of another package.

    True also for values of an unknown kind.
    """
    seen: set[int] = set()

    def is_foreign(obj: Any) -> bool:
        kind = type(obj)
        if id(obj) in seen or kind in _PLAIN or (hasattr(obj, "dtype") and hasattr(obj, "shape")):
            return False
        seen.add(id(obj))
        if kind in (tuple, list, set, frozenset):
            return any(map(is_foreign, obj))
        if kind is dict:
            return any(map(is_foreign, obj.values()))
        if _is_own(obj) and (isinstance(obj, type) or (kind is types.FunctionType and obj.__closure__ is None)):
            return False
        if not _is_own(kind) or not dataclasses.is_dataclass(obj) or isinstance(obj, type):
            return True
        return any(is_foreign(getattr(obj, field.name, None)) for field in dataclasses.fields(obj))

    return is_foreign(objects)


_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice)


def _is_own(obj: Any) -> bool:
    module = getattr(obj, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] == __name__.partition(".")[0]


def is_user_code(obj: Any) -> bool:
    """Return whether a class or function is the user's, of neither this package nor an installed one."""
    return _is_user_module(getattr(obj, "__module__", None))


def _sha(*parts: Any) -> str:
    sha = hashlib.sha256()
    for part in parts:
        sha.update(part)
    return sha.hexdigest()[:_LENGTH]


def _describe(obj: Any, seen: dict[int, int]) -> Any:
    """Return a JSON value that differs if the code, or a value that it captures, differs."""
    if obj is None or isinstance(obj, (bool, int, str)):
        return obj
    if isinstance(obj, (float, complex, bytes, range, slice, type(...))):
        return [type(obj).__name__, repr(obj)]
    if isinstance(obj, types.CodeType):
        return _code(obj, seen)
    if isinstance(obj, (staticmethod, classmethod)):
        return [type(obj).__name__, _describe(obj.__func__, seen)]
    if isinstance(obj, property):
        return ["property", *(_describe(part, seen) for part in (obj.fget, obj.fset, obj.fdel))]
    if isinstance(obj, functools.cached_property):
        return ["property", _describe(obj.func, seen)]
    if isinstance(obj, functools.partial):
        return ["partial", *(_describe(part, seen) for part in (obj.func, obj.args, obj.keywords))]
    if isinstance(obj, types.MethodType):
        return ["method", _describe(obj.__func__, seen), _describe(obj.__self__, seen)]
    if isinstance(obj, (tuple, frozenset)):  # not by identity: equal constants may or may not be one object
        return _items(obj, seen)
    if id(obj) in seen:
        return ["again", seen[id(obj)]]
    seen[id(obj)] = len(seen)
    if isinstance(obj, types.ModuleType):
        return ["module", obj.__name__, _module(obj, seen)]
    if isinstance(obj, (list, set, dict, types.MappingProxyType, collections.deque)):
        return _items(obj, seen)
    if callable(obj) and hasattr(obj, "__qualname__"):
        return _callable(obj, seen)
    if hasattr(obj, "dtype") and hasattr(obj, "shape"):
        with contextlib.suppress(TypeError):  # random keys have no NumPy form
            array = np.asarray(obj)
            if array.dtype != object:
                return ["array", array_digest(array)]
    if is_user_code(type(obj)) or dataclasses.is_dataclass(obj) or isinstance(obj, types.SimpleNamespace):
        slots = {name: getattr(obj, name) for name in getattr(type(obj), "__slots__", ()) if hasattr(obj, name)}
        return ["object", _describe(type(obj), seen), _items(slots | getattr(obj, "__dict__", {}), seen)]
    return ["value", type(obj).__module__, type(obj).__qualname__, _pickle_digest(obj)]


def _pickle_digest(obj: Any) -> str:
    """Return a digest of the pickle of an object; without one, its text, where an address differs in every process."""
    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _sha(pickle.dumps(obj))
    return repr(obj)


def _items(obj: Any, seen: dict[int, int]) -> Any:
    if isinstance(obj, (set, frozenset)):
        return ["set", *sorted(digest(_describe(item, dict(seen))) for item in obj)]
    if isinstance(obj, (dict, types.MappingProxyType)):
        return ["dict", *([_describe(key, seen), _describe(value, seen)] for key, value in obj.items())]
    return [type(obj).__name__, *(_describe(item, seen) for item in obj)]


def _callable(obj: Any, seen: dict[int, int]) -> Any:
    name = [getattr(obj, "__module__", None), obj.__qualname__]
    if not is_user_code(obj):
        owner = getattr(obj, "__self__", None)  # of a method that is written in C
        captured = [] if isinstance(owner, types.ModuleType) else [owner]
        if "<locals>" in obj.__qualname__ and not _is_traced(obj):
            captured += map(_content, _cells(obj))
        return ["name", *name, _installed_version(name[0]), *(_describe(value, seen) for value in captured)]
    parts: list[Any] = [_describe(sys.modules[obj.__module__], seen)]
    inner = getattr(obj, "__wrapped__", None)  # jax.jit, functools.wraps
    if inner is not None:
        parts.append(_describe(inner, seen))
    if isinstance(obj, types.FunctionType):
        parts += [_code(obj.__code__, seen), _describe(obj.__defaults__, seen), _describe(obj.__kwdefaults__, seen)]
        parts += [_describe(_content(cell), seen) for cell in _cells(obj)]
        parts += [_items({key: value for key, value in vars(obj).items() if key != "__wrapped__"}, seen)]
        parts += _variables(obj.__globals__, _names(obj.__code__), seen)
    elif isinstance(obj, type):
        parts += [_describe(base, seen) for base in obj.__bases__]
        parts += [[key, _describe(value, seen)] for key, value in sorted(vars(obj).items()) if _is_written(key, value)]
        parts += [[field.name, _default(field, seen)] for field in getattr(obj, "__dataclass_fields__", {}).values()]
    return ["code", *name, *parts]


def _variables(variables: dict[str, Any], names: Set[str], seen: dict[int, int]) -> list[Any]:
    """Describe the variables of these names, and those of the user's modules among them."""
    found = []
    for name in sorted(names & variables.keys()):
        value = variables[name]
        is_module = isinstance(value, types.ModuleType) and _is_user_module(value.__name__)
        inner = _variables(vars(value), names - {name}, seen) if is_module else []
        found.append([name, _describe(value, seen), *inner])
    return found


def _is_traced(obj: Any) -> bool:
    """Return whether a function is of this package or of JAX, whose closures hold traces that have digests already."""
    return _is_own(obj) or (_module_of(obj) or "").partition(".")[0] == "jax"


def _cells(obj: Any) -> tuple[Any, ...]:
    return getattr(obj, "__closure__", None) or ()


def _installed_version(module: Any) -> str | None:
    package = sys.modules.get(module.partition(".")[0]) if isinstance(module, str) else None
    version = getattr(package, "__version__", None)
    return version if isinstance(version, str) and package is not sys.modules.get(__name__.partition(".")[0]) else None


def _is_written(name: str, value: Any) -> bool:
    """Return whether the user wrote an attribute of a class: not a descriptor, not generated by a dataclass."""
    if isinstance(value, types.FunctionType):  # the code of `python -c` has the file name "<string>", too
        return value.__code__.co_filename != "<string>" or name not in _GENERATED
    slots = (types.MemberDescriptorType, types.GetSetDescriptorType)
    return not name.startswith(("__", "_abc_")) and not isinstance(value, slots)


_GENERATED = frozenset(
    """
    __init__ __repr__ __eq__ __hash__ __setattr__ __delattr__ __lt__ __le__ __gt__ __ge__ __replace__ __new__
    __getstate__ __setstate__
    """.split()  # noqa: SIM905
)


def _default(field: Any, seen: dict[int, int]) -> Any:
    missing = dataclasses.MISSING
    return [_describe(value, seen) for value in (field.default, field.default_factory) if value is not missing]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that is not bound yet
        return None


def _code(code: types.CodeType, seen: dict[int, int]) -> Any:
    """Describe a function by its byte code, constants and names, whatever its place in the file and its docstring."""
    constants = [_describe(constant, seen) for constant in code.co_consts]
    if constants and _has_docstring(code):
        constants[0] = None
    return [code.co_code.hex(), constants, *map(list, (code.co_names, code.co_varnames, code.co_freevars))]


def _has_docstring(code: types.CodeType) -> bool:
    """Return whether the first constant of a function is its docstring, or None for want of one."""
    if sys.version_info >= (3, 14):
        return bool(code.co_flags & inspect.CO_HAS_DOCSTRING)
    return bool(code.co_flags & inspect.CO_NEWLOCALS) and not code.co_name.startswith("<")


def _names(code: types.CodeType) -> set[str]:
    """Return the names that a function and the functions inside it look up."""
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _module(module: types.ModuleType, seen: dict[int, int]) -> Any:
    """Describe a user's module by its source and the user's modules that it uses; None for others and for a prompt."""
    if not _is_user_module(module.__name__):
        return None
    values = vars(module).values()
    named = (value.__name__ if isinstance(value, types.ModuleType) else _module_of(value) for value in values)
    used = sorted({name for name in named if name is not None and _is_user_module(name)})
    file = getattr(module, "__file__", None)
    source = None
    if file is not None:
        with contextlib.suppress(OSError):
            source = _source_digest(Path(file).read_bytes())
    return [source, *(_describe(sys.modules[name], seen) for name in used)]


def _source_digest(source: bytes) -> str:
    """Return a digest of what Python reads in a source file; of its bytes where Python cannot read it."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return _sha(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                first.value = ast.Constant("")
    return _sha(ast.dump(tree).encode())


def _module_of(value: Any) -> str | None:
    name = getattr(value, "__module__", None)
    return name if isinstance(name, str) else None


def _is_user_module(name: Any) -> bool:
    module = sys.modules.get(name) if isinstance(name, str) else None
    if module is None:
        return False
    file = getattr(module, "__file__", None)
    if file is None:
        return name == "__main__"  # a prompt or a notebook; other modules without a file are built in
    return _is_user_file(file)


@functools.cache
def _is_user_file(file: str) -> bool:
    path = Path(file).resolve()
    installed = {"site-packages", "dist-packages"} & set(path.parts)
    return not installed and not any(path.is_relative_to(root) for root in _roots())


@functools.cache
def _roots() -> tuple[Path, ...]:
    """Return the directories of this package and of the standard library."""
    return (_PACKAGE, *(Path(sysconfig.get_path(key)).resolve() for key in ("stdlib", "platstdlib")))
