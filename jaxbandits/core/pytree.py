"""Frozen dataclass pytrees: traced hyperparameters, static sizes, ranges declared once beside each field.

`@pytree` turns a class into a frozen, keyword-only dataclass registered with JAX. A field is a *traced* leaf (a real
number of the theory: sweepable, never recompiles) unless declared with `static()` (sizes, names: part of the compiled
program). `param(default, "(0, 1]", "what it is")` attaches the admissible range that `validate` enforces and that
`jaxbandits show` prints.
"""

import dataclasses
import functools
import numbers
import typing
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.core.errors import InputError

T = TypeVar("T")

# A number, or an array of them under trace. Any, because type checkers allow no arithmetic on jax.typing.ArrayLike.
ArrayLike: TypeAlias = Any

_STATIC, _RANGE, _DOC = "static", "range", "doc"


def static(default: Any = dataclasses.MISSING, range: str | None = None, doc: str = "") -> Any:
    """A field that fixes a shape or a Python branch; hashable, part of the compiled program."""
    return dataclasses.field(default=default, metadata={_STATIC: True, _RANGE: range, _DOC: doc})


def param(default: Any = dataclasses.MISSING, range: str | None = None, doc: str = "", *, factory: Any = None) -> Any:
    """A traced field: a number, an array, or a nested pytree (pass `factory` for a nested default).

    Args:
      default: its value; `None` means "derived", as the docstring of the class says.
      range: an interval such as `"(0, 1]"`, `"(0, inf)"` or `"[0, inf]"`; every entry of the field must lie in it.
      doc: one line for `jaxbandits show`.
      factory: called for the default instead, when the default is itself a pytree.
    """
    metadata = {_STATIC: False, _RANGE: range, _DOC: doc}
    if factory is not None:
        return dataclasses.field(default_factory=factory, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclass_transform(kw_only_default=True, frozen_default=True)
def pytree(cls: type[T]) -> type[T]:
    """Frozen keyword-only dataclass, registered with JAX as a pytree."""
    cls = dataclasses.dataclass(frozen=True, kw_only=True, eq=False)(cls)
    fields = dataclasses.fields(typing.cast(Any, cls))
    meta = [f.name for f in fields if f.metadata.get(_STATIC)]
    data = [f.name for f in fields if not f.metadata.get(_STATIC)]
    keys = [jax.tree_util.GetAttrKey(name) for name in data]

    def flatten(obj: T) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return tuple(getattr(obj, name) for name in data), tuple(getattr(obj, name) for name in meta)

    def flatten_with_keys(obj: T) -> tuple[tuple[tuple[Any, Any], ...], tuple[Any, ...]]:
        children, aux = flatten(obj)
        return tuple(zip(keys, children, strict=True)), aux

    def unflatten(aux: tuple[Any, ...], children: Iterable[Any]) -> T:
        return cls(**dict(zip(data, children, strict=True)), **dict(zip(meta, aux, strict=True)))

    # Not `register_dataclass`: in jax 0.10 to 0.12 its treedefs are equal for two classes with as many fields, so that
    # one class can get the compiled program of another.
    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    return cls


def is_static(field: dataclasses.Field) -> bool:
    """Whether a field was declared with `static()`."""
    return bool(field.metadata.get(_STATIC))


class FieldInfo(typing.NamedTuple):
    """One row of `jaxbandits show`: dotted name, kind, default or value, range, meaning."""

    name: str
    kind: str  # "static" | "traced"
    value: Any
    range: str | None
    doc: str


def field_table(obj: Any, prefix: str = "") -> Iterator[FieldInfo]:
    """The fields of a pytree dataclass, nested ones by dotted name."""
    for field in dataclasses.fields(obj):
        value, name = getattr(obj, field.name), prefix + field.name
        if dataclasses.is_dataclass(value) and not is_static(field):
            yield FieldInfo(name, "object", type(value).__name__, None, field.metadata.get(_DOC, ""))
            yield from field_table(value, name + ".")
        else:
            kind = "static" if is_static(field) else "traced"
            yield FieldInfo(name, kind, value, field.metadata.get(_RANGE), field.metadata.get(_DOC, ""))


@functools.cache
def _interval(text: str) -> tuple[bool, float, float, bool]:
    low, high = text[1:-1].split(",")
    return text[0] == "[", float(low), float(high), text[-1] == "]"


def _inside(values: np.ndarray, text: str) -> np.ndarray:
    closed_low, low, high, closed_high = _interval(text)
    above = values >= low if closed_low else values > low
    below = values <= high if closed_high else values < high
    return above & below  # a NaN is in no interval


def validate(obj: Any, label: str = "") -> None:
    """Checks every concrete field of a pytree dataclass against its declared range.

    Raises:
      InputError: one line naming the class, the field, the offending value and what is allowed.
    """
    label = label or type(obj).__name__
    for field in dataclasses.fields(obj):
        value, allowed = getattr(obj, field.name), field.metadata.get(_RANGE)
        name = f"{label}.{field.name}"
        if value is None:
            if field.default is not None:
                raise InputError(f"{name} must be given")
            continue
        if field.default_factory is not dataclasses.MISSING and not dataclasses.is_dataclass(type(value)):
            raise InputError(
                f"{name} must be an object such as {field.default_factory().__class__.__name__}(), got {value!r}"
            )
        if dataclasses.is_dataclass(value):
            validate(value, name)
            continue
        if is_static(field):
            try:
                hash(value)
            except TypeError:
                raise InputError(f"{name} is static and must be hashable, got {type(value).__name__}") from None
        if allowed is None:
            continue
        if isinstance(value, (str, bytes)) or not _is_numeric(value):
            raise InputError(f"{name} must be a number in {allowed}, got {value!r}")
        array = np.asarray(value)
        if is_static(field) and not np.issubdtype(array.dtype, np.integer):
            raise InputError(f"{name} must be a whole number in {allowed}, got {value!r}")
        bad = ~_inside(array.astype(float), allowed)
        if bad.any():
            shown = array if array.ndim == 0 else array[bad][0]
            raise InputError(f"{name} must lie in {allowed}, got {shown}")
    check = getattr(obj, "check", None)
    if check is not None:
        check()


def _is_numeric(value: Any) -> bool:
    if isinstance(value, (numbers.Number, np.number, bool)):
        return True
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        try:
            dtype = np.asarray(value).dtype
        except (ValueError, TypeError):
            return False
    return bool(jnp.issubdtype(dtype, jnp.number) or jnp.issubdtype(dtype, jnp.bool_))


def as_arrays(tree: T) -> T:
    """Strongly typed leaves: numbers and floating arrays in the default float dtype, integer and boolean arrays kept.

    New values then never retrace: a Python scalar would enter as a weak type and become strong after one step.
    """

    def convert(leaf: Any) -> jax.Array:
        if isinstance(leaf, (bool, np.bool_)):
            return jnp.asarray(leaf)
        array = np.asarray(leaf) if not isinstance(leaf, jax.Array) else leaf
        if isinstance(leaf, numbers.Number) or jnp.issubdtype(array.dtype, jnp.floating):
            return jnp.asarray(array, dtype=jnp.zeros(()).dtype)
        return jnp.asarray(array)

    return jax.tree.map(convert, tree)


def replace(obj: T, path: str, value: Any) -> T:
    """`dataclasses.replace` along a dotted path; refuses unknown and static fields by name."""
    head, _, rest = path.partition(".")
    names = {f.name: f for f in dataclasses.fields(typing.cast(Any, obj))}
    if head not in names:
        raise InputError(f"{type(obj).__name__} has no field {head!r}; it has: {', '.join(sorted(names))}")
    if is_static(names[head]):
        raise InputError(
            f"{type(obj).__name__}.{head} is static (it fixes the compiled program), so it cannot be swept"
        )
    if rest:
        value = replace(getattr(obj, head), rest, value)
    return dataclasses.replace(typing.cast(Any, obj), **{head: value})
