"""Keys of values that are equal only if the types and bits of the values are equal.

Python's `==` does not distinguish 1, True and 1.0, nor 0.0 and -0.0, but programs compiled for them compute different
numbers. Static fields and caches of programs compare these keys instead.
"""

import dataclasses
import decimal
import functools
from collections.abc import Hashable
from typing import Any

import jax
import numpy as np


def exact_key(value: object) -> Hashable:
    """Return a key of a value that distinguishes types and bits.

    Lists, tuples, frozen sets, slices, dataclasses and partial functions are compared entry by entry, and numbers bit
    by bit. Objects of other types are compared by their type and their own `==`.
    """
    kind = type(value)
    if isinstance(value, np.generic):
        return kind, value.dtype, value.tobytes()
    if isinstance(value, (float, complex)):
        return kind, np.asarray(value).tobytes()
    if isinstance(value, slice):
        return kind, exact_key((value.start, value.stop, value.step))
    if isinstance(value, decimal.Decimal):
        return kind, str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return kind, exact_key(tuple(getattr(value, field.name) for field in dataclasses.fields(value)))
    if isinstance(value, (tuple, list)):
        return kind, tuple(map(exact_key, value))
    if isinstance(value, frozenset):
        return kind, frozenset(map(exact_key, value))
    if isinstance(value, functools.partial):
        return kind, value.func, exact_key(value.args), exact_key(tuple(value.keywords.items()))
    return kind, value


def exact_structure(tree: object) -> Hashable:
    """Return a key of the structure of a pytree, equal only if static data have equal types and bits."""
    return _structure_key(jax.tree.structure(tree))


def _structure_key(structure: Any) -> Hashable:
    data = structure.node_data()
    head = None if data is None else (data[0], exact_key(data[1]))
    return head, structure.num_leaves, tuple(map(_structure_key, structure.children()))


class StaticFields(tuple[Any, ...]):
    """Values of static fields, which are equal if their types and bits are equal."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticFields) and exact_key(tuple(self)) == exact_key(tuple(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(exact_key(tuple(self)))
