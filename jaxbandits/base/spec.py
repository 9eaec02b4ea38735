"""Specifications: conversion of objects to JSON values and back, bit for bit.

`to_spec` writes an algorithm, an environment or a part of one as a JSON value, and `from_spec` restores an equal
object. Checkpoints, manifests, sweep files and reports identify an object by its specification:

    {"type": "linear/heavy_tailed", "dim": 2, "noise": {"type": "noise/student_t", "df": 2.1, "spread": 1.0}, ...}

    None, bool, int, str, list      themselves
    float                           a decimal that reads back exactly; {"float": "inf"}, "-inf" or "nan"
    tuple                           {"tuple": [...]}; a named tuple is an object
    dict with text keys             itself; {"dict": {...}} if it has one of the keys of this table
    NumPy scalar                    {"number": 0.5, "dtype": "float32"}
    array                           {"array": [...], "dtype": "float64", "shape": [2, 3]}, with its digest in place of
                                    the list if it has more than 64 entries
    function or class with a name   {"function": "optax/adam"}
    any other object                {"code": "module:name"}, which cannot be read back; with its "value" if it is a
                                    number, or its "children" if it is a pytree

Names come from the registries (`jaxbandits.catalogue`); an unregistered class has the name `module:QualName`. What the
code of a class or function computes is not part of a specification; digests of the programs identify it. Reading
imports no module and runs no code except the constructors of registered classes.
"""

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.digests import array_digest
from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.base.pytree import validate
from jaxbandits.base.ranges import is_traced

_INLINE = 64  # largest number of entries of an array that is written into the specification; else only its digest is
_DEEPEST = 40  # largest number of levels of nesting
_DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
)
_TAGS = {"type", "float", "tuple", "dict", "number", "array", "function", "code"}
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}

Names = Mapping[str, Any]  # name -> class or function
NameOf = Callable[[Any], str | None]


def to_spec(obj: object, name_of: NameOf, data: MutableMapping[str, np.ndarray] | None = None) -> Any:
    """Write an object as a JSON value.

    Args:
      obj: an algorithm, environment or part, or nested lists, dicts and tuples of them, of numbers and of arrays.
      name_of: function that returns the name of a class or function, or None if it has no name.
      data: mapping to which the large arrays are added, keyed by digest.

    Raises:
      InputError: for values that a specification cannot hold, such as complex numbers, text arrays and tracers.
    """
    return _write(obj, name_of, {} if data is None else data, type(obj).__name__, 0)


def from_spec(value: object, names: Names, data: Mapping[str, np.ndarray] | None = None, where: str = "spec") -> Any:
    """Make the object that a JSON value specifies; missing fields have their defaults.

    Args:
      value: JSON value that was written by `to_spec` or by hand.
      names: mapping from names to classes or functions.
      data: the large arrays, keyed by digest.
      where: name of the value in error messages, such as `"algorithms.OFUL"`.

    Raises:
      InputError: if an entry is unknown or has the wrong type, a value is out of range, or an array is missing; the
        message names the entry.
    """
    obj = _read(value, names, data or {}, where, 0)
    _validate(obj, where)
    return obj


def _write(obj: Any, name_of: NameOf, data: MutableMapping[str, np.ndarray], where: str, depth: int) -> Any:
    if depth > _DEEPEST:
        raise InputError(f"{where} is nested too deeply for a specification (more than {_DEEPEST} levels)")
    if obj is None or type(obj) in (bool, int, str):
        return obj
    if type(obj) is float:
        return obj if math.isfinite(obj) else {"float": repr(obj)}
    if isinstance(obj, np.generic):
        return {"number": _plain(np.asarray(obj), where)[0], "dtype": obj.dtype.name}
    if isinstance(obj, complex):
        raise InputError(f"{where} is a complex number, which a specification cannot hold")
    if is_traced(obj):
        raise InputError(f"{where} is a traced value; a specification needs concrete numbers")
    if isinstance(obj, (np.ndarray, jax.Array)):
        return _write_array(obj, data, where)
    inner = functools.partial(_write, name_of=name_of, data=data, depth=depth + 1)
    if type(obj) in (list, tuple):
        items = [inner(item, where=f"{where}[{i}]") for i, item in enumerate(obj)]
        return items if type(obj) is list else {"tuple": items}
    if type(obj) is dict and all(isinstance(key, str) for key in obj):
        items = {key: inner(item, where=f"{where}.{key}") for key, item in obj.items()}
        return {"dict": items} if _TAGS & items.keys() else items
    cls = type(obj)
    fields = _fields(obj)
    if fields is None:
        known = name_of(obj) if callable(obj) else None
        if known is not None:
            return {"function": known}
        return {"code": _place(obj if getattr(obj, "__qualname__", None) else cls)} | _numbers_of(obj, inner, where)
    head = {"type": name_of(cls) or _place(cls)}
    return head | {name: inner(value, where=f"{where}.{name}") for name, value in fields.items()}


def _place(code: Any) -> str:
    """Return the module and the qualified name of a class or function.

    The module of a script is `__main__`, also in processes that `multiprocessing` spawns, which call it `__mp_main__`.
    """
    module = "__main__" if code.__module__ == "__mp_main__" else code.__module__
    return f"{module}:{code.__qualname__}"


def _numbers_of(obj: Any, inner: Any, where: str) -> dict[str, Any]:
    """Return the numbers in an object of unknown type: they are arguments of programs, whose digests omit them."""
    if isinstance(obj, (int, float)):  # of a subclass, such as an enumeration
        return {"value": inner(int(obj) if isinstance(obj, int) else float(obj), where=where)}
    children = jax.tree.leaves(obj, is_leaf=lambda child: child is not obj)
    if len(children) == 1 and children[0] is obj:  # not a pytree
        return {}
    return {"children": [inner(child, where=f"{where}[{i}]") for i, child in enumerate(children)]} if children else {}


def _fields(obj: Any) -> dict[str, Any] | None:
    """Return the arguments that rebuild an object: its `spec_fields()`, or the fields of a dataclass or named tuple."""
    if isinstance(obj, type):
        return None
    if isinstance(obj, tuple):
        names = getattr(obj, "_fields", None)
        return None if names is None else dict(zip(names, obj, strict=True))
    if hasattr(obj, "spec_fields"):
        return obj.spec_fields()
    if dataclasses.is_dataclass(obj):
        return {field.name: getattr(obj, field.name) for field in dataclasses.fields(obj) if field.init}
    return None


def _write_array(obj: Any, data: MutableMapping[str, np.ndarray], where: str) -> dict[str, Any]:
    if jnp.issubdtype(obj.dtype, jax.dtypes.prng_key):
        raise InputError(f"{where} holds random keys, which a specification cannot contain")
    array = np.asarray(obj)
    head = {"dtype": array.dtype.name, "shape": list(array.shape)}
    if array.dtype.name not in _DTYPES:
        raise InputError(f"{where} must hold real numbers, got an array of {array.dtype}")
    if array.size <= _INLINE:
        return {"array": _plain(array, where), **head}
    key = array_digest(array)
    data[key] = array
    return {"array": key, **head}


def _plain(array: np.ndarray, where: str) -> list[Any]:
    """Return the entries of an array as JSON values; infinities and NaN as text."""
    if array.dtype.name not in _DTYPES:
        raise InputError(f"{where} must be a real number, got {array.dtype}")
    if jnp.issubdtype(array.dtype, jnp.floating):
        values = array.astype(np.float64).ravel().tolist()
        return [value if math.isfinite(value) else repr(value) for value in values]
    return array.ravel().tolist()


def _read(value: object, names: Names, data: Mapping[str, np.ndarray], where: str, depth: int) -> Any:
    if depth > _DEEPEST:
        raise InputError(f"{where}: nested too deeply (more than {_DEEPEST} levels)")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    inner = functools.partial(_read, names=names, data=data, depth=depth + 1)
    if isinstance(value, list):
        return [inner(item, where=f"{where}[{i}]") for i, item in enumerate(value)]
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise InputError(f"{where}: must be a JSON value, got {type(value).__name__}")
    if "type" in value:
        return _read_object(value, names, inner, where)
    if "array" in value:
        return _read_array(value, data, where)
    if "number" in value:
        _only(value, {"number", "dtype"}, where)
        return _entries([value["number"]], value.get("dtype"), where)[0]
    if "code" in value:
        raise InputError(
            f"{where}: {format_value(value['code'])} is code without a registered name, which cannot be read back; "
            "register it under a name"
        )
    tag = next(iter(_TAGS & value.keys()), None)
    if tag is None:
        return {key: inner(item, where=f"{where}.{key}") for key, item in value.items()}
    _only(value, {tag}, where)
    if tag == "function":
        return _find_name(value[tag], names, where, "function")
    return _read_tag(tag, value[tag], inner, where)


def _read_tag(tag: str, content: object, inner: Any, where: str) -> Any:
    """Read a value of a type that JSON lacks: {tag: content}."""
    if tag == "float":
        if not isinstance(content, str) or content not in _NOT_FINITE:
            raise InputError(f'{where}.float: must be "inf", "-inf" or "nan", got {format_value(content)}')
        return _NOT_FINITE[content]
    if tag == "tuple" and isinstance(content, list):
        return tuple(inner(item, where=f"{where}[{i}]") for i, item in enumerate(content))
    if tag == "dict" and isinstance(content, dict):
        return {key: inner(item, where=f"{where}.{key}") for key, item in content.items()}
    raise InputError(
        f"{where}.{tag}: must be {'a list' if tag == 'tuple' else 'an object'}, got {format_value(content)}"
    )


def _read_object(value: dict[str, Any], names: Names, inner: Any, where: str) -> Any:
    cls = _find_name(value["type"], names, where, "type")
    if not isinstance(cls, type):
        raise InputError(f"{where}.type: {value['type']!r} is a function, not a type")
    parameters = inspect.signature(cls).parameters
    given = {key: item for key, item in value.items() if key != "type"}
    for key in given:
        if key not in parameters:
            raise InputError(f"{where}: {unknown_name(f'field of {cls.__name__}', key, parameters)}")
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in given:
            raise InputError(f"{where}: {cls.__name__} needs a value of the field {key!r}")
    fields = {key: inner(item, where=f"{where}.{key}") for key, item in given.items()}
    try:
        return cls(**fields)
    except Exception as error:  # a constructor, perhaps of another package, may raise anything for wrong types
        raise InputError(f"{where}: {_first_line(error)}") from None


def _find_name(name: object, names: Names, where: str, kind: str) -> Any:
    if isinstance(name, str) and name in names:
        return names[name]
    if isinstance(name, str) and ":" in name:
        raise InputError(
            f"{where}.{kind}: {name!r} is not registered; register it (register_algorithm, register_environment, "
            "register_part) to read it back"
        )
    raise InputError(f"{where}.{kind}: {unknown_name('name', name, names, 'jaxbandits list')}")


def _read_array(value: dict[str, Any], data: Mapping[str, np.ndarray], where: str) -> np.ndarray:
    _only(value, {"array", "dtype", "shape"}, where)
    shape, content = value.get("shape"), value["array"]
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise InputError(f"{where}.shape: must be a list of whole numbers, got {format_value(shape)}")
    if isinstance(content, str):
        array = data.get(content)
        if array is None:
            raise InputError(
                f"{where}.array: the array with the digest {content[:40]!r} is not among the data of this specification"
            )
        same = list(array.shape) == shape and array.dtype.name == value.get("dtype")
        if not same or array_digest(array) != content:
            raise InputError(
                f"{where}.array: the array in the data is not of dtype {value.get('dtype')} and shape {shape}"
            )
        return array
    if not isinstance(content, list) or len(content) != math.prod(shape):
        raise InputError(f"{where}.array: must be a list of {math.prod(shape)} numbers (the shape is {shape})")
    return _entries(content, value.get("dtype"), where).reshape(shape)


def _entries(values: list[Any], dtype: Any, where: str) -> np.ndarray:
    if dtype not in _DTYPES:
        raise InputError(f"{where}.dtype: {_first_line(unknown_name('dtype', dtype, _DTYPES))}")
    real = jnp.issubdtype(jnp.dtype(dtype), jnp.floating)
    kinds = (bool,) if dtype == "bool" else (int, float) if real else (int,)
    numbers = []
    for i, value in enumerate(values):
        if real and isinstance(value, str) and value in _NOT_FINITE:
            value = _NOT_FINITE[value]
        if type(value) not in kinds:
            raise InputError(f"{where}.array[{i}]: must be a number of type {dtype}, got {format_value(value)}")
        numbers.append(value)
    try:
        with np.errstate(over="ignore"):
            array = np.asarray(numbers, np.float64).astype(jnp.dtype(dtype)) if real else np.array(numbers, dtype)
    except OverflowError:
        raise InputError(f"{where}: a value is out of the range of {dtype}") from None
    if real and not np.array_equal(array.astype(np.float64), np.asarray(numbers, np.float64), equal_nan=True):
        raise InputError(f"{where}: {dtype} cannot represent a value exactly")
    return array


def _only(value: dict[str, Any], allowed: set[str], where: str) -> None:
    for key in value.keys() - allowed:
        raise InputError(f"{where}: {unknown_name('entry', key, allowed)}")


def _validate(obj: object, where: str) -> None:
    """Check the ranges of every dataclass in an object, at any depth."""
    if isinstance(obj, dict):
        for key, item in obj.items():
            _validate(item, f"{where}.{key}")
    elif isinstance(obj, (list, tuple)):
        for i, item in enumerate(obj):
            _validate(item, f"{where}[{i}]")
    elif dataclasses.is_dataclass(obj) and not isinstance(obj, type):
        try:
            validate(obj, where)
        except Exception as error:  # an InputError, or any error from the `check` of another package's class
            text = _first_line(error)
            raise InputError(text if text.startswith(where) else f"{where}: {text}") from None


def _first_line(error: Exception) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:200]
