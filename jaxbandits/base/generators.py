"""Random generators of NumPy and Python that code can reach: their states show whether tracing has drawn numbers."""

import pickle
import random
import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jaxbandits.base.foreign import closure_of, is_own_function

_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
_WITHOUT_GENERATORS = frozenset(("builtins", "jax", "jaxlib", "numpy", __name__.partition(".")[0]))
_MOST = 20_000  # largest number of objects that are searched, in case one leads into a large library


def generator_states(generators: Sequence[Any] = ()) -> tuple[Any, ...]:
    """Return the states of the global generators of NumPy and Python, and of further generators."""
    name, words, *position = np.random.get_state()  # noqa: NPY002
    states = map(pickle.dumps, generators)
    return name, np.asarray(words).tobytes(), *position, random.getstate(), *states


def generators_of(*objects: Any) -> list[Any]:
    """Return the generators in objects, and those that methods of foreign classes reach by a global or a closure.

    The search ends after 20,000 objects.
    """
    found: list[Any] = []
    seen: set[int] = set()
    left = list(objects)
    while left and len(seen) < _MOST:
        obj = left.pop()
        if id(obj) in seen:
            continue
        seen.add(id(obj))
        if isinstance(obj, _GENERATORS):
            found.append(obj)
        else:
            left += _reached_from(obj)
    return found


def _reached_from(obj: Any) -> Iterator[Any]:
    """Return what an object refers to, as far as it may hold a generator; own functions hold none."""
    if isinstance(obj, (tuple, list, set, frozenset)):
        yield from obj
    elif isinstance(obj, dict):
        yield from obj.values()
    elif isinstance(obj, types.FunctionType):
        if not is_own_function(obj):
            yield from _reached_by_code(obj, obj.__code__)
    elif isinstance(obj, (staticmethod, classmethod)):
        yield obj.__func__
    elif isinstance(obj, property):
        yield obj.fget
    elif isinstance(obj, type):
        for base in obj.__mro__:
            if base.__module__.partition(".")[0] not in _WITHOUT_GENERATORS:
                yield from vars(base).values()
    elif not isinstance(obj, types.ModuleType):
        yield type(obj)
        yield from getattr(obj, "__dict__", {}).values()


def _reached_by_code(function: types.FunctionType, code: types.CodeType) -> Iterator[Any]:
    """Return the values of a function's closure and of the globals that its code names, in modules as well."""
    yield from closure_of(function)
    yield from function.__defaults__ or ()
    for name in code.co_names:
        value = function.__globals__.get(name)
        yield value
        if isinstance(value, types.ModuleType):
            yield from (vars(value).get(attribute) for attribute in code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):  # a nested function, or a comprehension
            yield from _reached_by_code(function, constant)
