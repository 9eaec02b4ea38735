"""Frozen dataclass pytrees with three kinds of fields, each declared with its range and meaning.

`@pytree` turns a class into a frozen, keyword-only dataclass registered with JAX. Its fields are of three kinds:

* *traced*, `param(default, "(0, 1]", "its meaning")`: a hyperparameter, in most cases a real number. It can be swept;
  new values need no new compilation. `validate` enforces the range, and `jaxbandits show` prints it.
* *static*, `static()`: a size or a name, which is part of the compiled program.
* *shared*, `shared()`: data (tables, contexts, recorded traces) that all trials of a job read. They are an argument of
  the program without a trial axis: they are neither copied per trial nor compiled in as constants, and cannot be swept.
"""

import dataclasses
import numbers
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.exact import StaticFields
from jaxbandits.base.ranges import (
    BOOL,
    check_concrete,
    check_flag,
    check_interval,
    check_numbers,
    check_range,
    flag,
    is_real,
    is_whole,
)

T = TypeVar("T")

# A number, or an array of them under trace. Any, because type checkers allow no arithmetic on jax.typing.ArrayLike.
ArrayLike: TypeAlias = Any

PyTree: TypeAlias = Any  # nested containers of arrays; no type describes them

FieldValue: TypeAlias = Any  # value of a field of any class: a number, an array, a size, a name, an object
Fields: TypeAlias = dict[str, FieldValue]  # arguments of a constructor by name

_MOST = 2**31 - 1  # largest size: programs count in int32
_KIND, _RANGE, _DOC = "kind", "range", "doc"
Kind: TypeAlias = Literal["traced", "static", "shared", "object"]  # object: a nested pytree of traced fields


def static(default: Any = dataclasses.MISSING, range: str | None = None, doc: str = "") -> Any:
    """Declare a static field: it fixes a shape or a Python branch, and must be hashable.

    Args:
      default: default value.
      range: an interval of whole numbers, in the notation of `param`, or `BOOL`; None allows any hashable value.
      doc: one line for `jaxbandits show`.
    """
    return dataclasses.field(default=default, metadata={_KIND: "static", _RANGE: range, _DOC: doc})


def shared(default: Any = dataclasses.MISSING, range: str | None = None, doc: str = "") -> Any:
    """Declare a shared field: data of all trials of a job, an array or a pytree of arrays (None for no data).

    Args:
      default: default value.
      range: an interval in which every entry must lie, in the notation of `param`.
      doc: one line for `jaxbandits show`.
    """
    return dataclasses.field(default=default, metadata={_KIND: "shared", _RANGE: range, _DOC: doc})


def param(default: Any = dataclasses.MISSING, range: str | None = None, doc: str = "", *, factory: Any = None) -> Any:
    """Declare a traced field: a number, an array, or a nested pytree (pass `factory` for a nested default).

    Args:
      default: default value; None if the class derives the value from other fields, as its docstring says.
      range: an interval such as `"(0, 1]"`, `"(0, inf)"` or `"[0, inf]"`; every entry of the field must lie in it. A
        flag has the range `BOOL`.
      doc: one line for `jaxbandits show`.
      factory: function that creates the default, if the default is itself a pytree.
    """
    metadata = {_KIND: "traced", _RANGE: range, _DOC: doc}
    if factory is not None:
        return dataclasses.field(default_factory=factory, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True)
class _SharedKey:
    """Key of a shared field in the path of a leaf: it marks all leaves below it as shared."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass_transform(kw_only_default=True, frozen_default=True)
def pytree(cls: type[T]) -> type[T]:
    """Make a class a frozen, keyword-only dataclass, registered with JAX as a pytree.

    Raises:
      InputError: if `cls` is not a class, or the range of a field is not an interval.
    """
    if not isinstance(cls, type):
        raise InputError(f"@pytree must decorate a class, got {format_value(cls)}")
    has_repr = "__repr__" in vars(cls)
    cls = dataclasses.dataclass(frozen=True, kw_only=True, eq=False)(cls)
    fields = dataclasses.fields(typing.cast(Any, cls))
    if not has_repr and any(map(is_shared, fields)):
        typing.cast(Any, cls).__repr__ = _repr_by_shapes
    for field in fields:
        check_interval(f"{cls.__name__}.{field.name}", field.metadata.get(_RANGE))
    meta = [f.name for f in fields if is_static(f)]
    data = [f.name for f in fields if not is_static(f)]
    keys = [_SharedKey(f.name) if is_shared(f) else jax.tree_util.GetAttrKey(f.name) for f in fields if f.name in data]

    def flatten(obj: T) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        # A plain tuple would not distinguish 1, True and 1.0, and one of them would get the program of another.
        return tuple(getattr(obj, name) for name in data), StaticFields(getattr(obj, name) for name in meta)

    def flatten_with_keys(obj: T) -> tuple[tuple[tuple[Any, Any], ...], tuple[Any, ...]]:
        children, aux = flatten(obj)
        return tuple(zip(keys, children, strict=True)), aux

    def unflatten(aux: tuple[Any, ...], children: Iterable[Any]) -> T:
        return cls(**dict(zip(data, children, strict=True)), **dict(zip(meta, aux, strict=True)))

    # Not `register_dataclass`: in jax 0.10 to 0.12 its treedefs are equal for two classes with as many fields, so that
    # one class can get the compiled program of another.
    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    return cls


def _repr_by_shapes(obj: Any) -> str:
    """Return the fields of an object in one line, with shapes in place of shared data."""
    parts = []
    for field in dataclasses.fields(obj):
        value = getattr(obj, field.name)
        shapes = ", ".join(str(list(np.shape(leaf))) for leaf in jax.tree.leaves(value))
        parts.append(f"{field.name}={f'<data {shapes}>' if is_shared(field) else format_value(value)}")
    return f"{type(obj).__name__}({', '.join(parts)})"


def named_constructors(cls: type) -> dict[str, Callable[..., Any]]:
    """Return the public class methods of a class, such as presets, by name, except `example` and deprecated aliases."""
    members = {name: member for base in reversed(cls.__mro__) for name, member in vars(base).items()}
    names = [name for name, member in members.items() if isinstance(member, classmethod) and not name.startswith("_")]
    found = {name: getattr(cls, name) for name in names if name != "example"}
    return {name: method for name, method in found.items() if not hasattr(method, "__deprecated__")}


def is_static(field: dataclasses.Field) -> bool:
    """Return whether a field was declared with `static()`."""
    return field.metadata.get(_KIND) == "static"


def is_shared(field: dataclasses.Field) -> bool:
    """Return whether a field was declared with `shared()`."""
    return field.metadata.get(_KIND) == "shared"


def shared_leaves(tree: object) -> tuple[bool, ...]:
    """Return a bool for each leaf of a tree, in the order of `jax.tree.leaves`: True if it lies in a shared field."""
    return tuple(any(isinstance(key, _SharedKey) for key in path) for path, _ in jax.tree.leaves_with_path(tree))


def map_traced(function: Callable[[Any], Any], tree: T) -> T:
    """Apply a function to every leaf of a tree except shared leaves, and return the new tree."""
    leaves, structure = jax.tree.flatten(tree)
    new = [leaf if is_common else function(leaf) for leaf, is_common in zip(leaves, shared_leaves(tree), strict=True)]
    return jax.tree.unflatten(structure, new)


class FieldInfo(typing.NamedTuple):
    """Description of a field, as `jaxbandits show` prints it: dotted name, kind, default or value, range, meaning."""

    name: str
    kind: Kind
    value: Any
    range: str | None
    doc: str


REQUIRED = "required"  # shown in place of a default


def field_table(obj: Any, prefix: str = "") -> Iterator[FieldInfo]:
    """Generate a `FieldInfo` for every field of a pytree dataclass.

    Nested fields have dotted names, which begin with `prefix`. The values are those of the object `obj`, or the
    defaults if `obj` is a class.
    """
    for field in dataclasses.fields(obj):
        value = _default(field) if isinstance(obj, type) else getattr(obj, field.name)
        name = prefix + field.name
        kind: Kind = field.metadata.get(_KIND, "traced")
        if dataclasses.is_dataclass(value) and kind == "traced":
            yield FieldInfo(name, "object", type(value).__name__, None, field.metadata.get(_DOC, ""))
            yield from field_table(value, name + ".")
        else:
            yield FieldInfo(name, kind, value, field.metadata.get(_RANGE), field.metadata.get(_DOC, ""))


def require_defaults(obj: Any, names: Sequence[str], condition: str) -> None:
    """Check that fields which have no effect have their default values.

    Args:
      obj: a pytree dataclass.
      names: names of the fields.
      condition: what makes them ineffective, such as "theta is given".

    Raises:
      InputError: if a field has another value (in a sweep, at any of its points).
    """
    for field in dataclasses.fields(obj):
        value, default = getattr(obj, field.name), _default(field)
        if field.name in names and np.any(np.asarray(value) != default):
            raise InputError(
                f"{type(obj).__name__}.{field.name} has no effect if {condition}: leave it at {format_value(default)}, "
                f"got {format_value(value)}"
            )


def _has_object(field: dataclasses.Field) -> bool:
    """Return whether the default of a field is a nested object rather than an array that a factory makes."""
    factory = field.default_factory
    return factory is not dataclasses.MISSING and dataclasses.is_dataclass(type(factory()))


def _default(field: dataclasses.Field) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return REQUIRED if field.default is dataclasses.MISSING else field.default


def validate(obj: Any, label: str = "") -> None:
    """Check every field of a pytree dataclass against its declared kind and range, and call its method `check`, if any.

    Ranges are checked in the precision that the field will have: in float32, 1e308 is infinite and 1e-50 is zero.

    Raises:
      InputError: if a field is invalid; the message names the class, the field, its value and the allowed range.
    """
    label = label or type(obj).__name__
    for field in dataclasses.fields(obj):
        value, name = getattr(obj, field.name), f"{label}.{field.name}"
        allowed = field.metadata.get(_RANGE)
        if value is None:
            if field.default is not None:
                raise InputError(f"{name} must be given")
        elif allowed == BOOL:
            (flag if is_static(field) else check_flag)(name, value)
        elif is_static(field):
            _check_static(name, value, allowed)
        elif is_shared(field):
            _check_shared(name, value, allowed)
        elif _has_object(field) and not dataclasses.is_dataclass(type(value)):
            example = field.default_factory().__class__.__name__  # pyright: ignore[reportCallIssue]
            raise InputError(f"{name} must be an object such as {example}(), got {format_value(value)}")
        elif dataclasses.is_dataclass(type(value)) and allowed is None:
            validate(value, name)
        elif allowed is not None:
            check_numbers(name, value, allowed)
        else:
            check_concrete(name, value)
            if not all(is_real(leaf) for leaf in jax.tree.leaves(value)):
                raise InputError(
                    f"{name} must be a number, an array of numbers or a tree of them, got {format_value(value)}"
                )
    check = getattr(obj, "check", None)
    if check is not None:
        check()


def _check_static(name: str, value: object, allowed: str | None) -> None:
    try:
        hash(value)
    except TypeError:
        raise InputError(f"{name} is static and must be hashable, got {type(value).__name__}") from None
    if allowed is not None:
        entries = jax.tree.leaves(value) if isinstance(value, tuple) else value  # tuples of shapes may be nested
        if allowed.endswith(", inf)") and any(is_whole(n) and n > _MOST for n in jax.tree.leaves(entries)):
            raise InputError(f"{name} must lie in {allowed.removesuffix('inf)')}{_MOST}], got {format_value(value)}")
        if not is_real(entries) or not jnp.issubdtype(np.asarray(entries).dtype, jnp.integer):
            raise InputError(f"{name} must be a whole number in {allowed}, got {format_value(value)}")
        check_range(name, np.asarray(entries), allowed)


def _check_shared(name: str, value: object, allowed: str | None) -> None:
    leaves = jax.tree.leaves(value)
    if not leaves:
        raise InputError(f"{name} must be an array or a tree of arrays, got {format_value(value)}")
    for leaf in leaves:
        check_concrete(name, leaf)
        if not isinstance(leaf, (jax.Array, np.ndarray)):
            raise InputError(f"{name} must be an array or a tree of arrays, but it contains a {type(leaf).__name__}")
        dtype = leaf.dtype
        if not (jnp.issubdtype(dtype, jnp.bool_) or is_real(leaf)):
            raise InputError(f"{name} must hold real numbers, got an array of {dtype}")
        if allowed is not None:
            check_numbers(name, leaf, allowed)


def as_arrays(tree: T) -> T:
    """Convert the leaves of a tree to strongly typed arrays.

    Numbers (including whole numbers) and arrays of floats become arrays of the default float dtype. Bools and arrays of
    integers keep their type.

    New values of the same shape then never cause a new trace. A Python number, in contrast, would be weakly typed at
    first and strongly typed after one step.
    """
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype=_strong(leaf)), tree)


def as_numpy(tree: T) -> T:
    """Convert the leaves of a tree to NumPy arrays with the dtypes of `as_arrays`; this is faster on the host."""
    return jax.tree.map(lambda leaf: np.asarray(leaf, dtype=_strong(leaf)), tree)


def _strong(leaf: Any) -> Any:
    dtype = leaf.dtype if hasattr(leaf, "dtype") else np.asarray(leaf).dtype
    number = isinstance(leaf, numbers.Number) and not isinstance(leaf, bool)
    if number or jnp.issubdtype(dtype, jnp.floating):
        return jnp.result_type(float)
    return jax.dtypes.canonicalize_dtype(dtype)


def replace(obj: T, path: str, value: object) -> T:
    """Return a copy of an object in which the traced field at a dotted path, such as `noise.df`, is replaced.

    Raises:
      InputError: if the field does not exist or is not traced; the message names it.
    """
    kind = field_kind(obj, path)
    if kind == "static":
        raise InputError(
            f"{type(obj).__name__}.{path} is static (it fixes the compiled program), so it cannot be traced"
        )
    if kind == "shared":
        raise InputError(f"{type(obj).__name__}.{path} is shared data (all trials use one copy), so it cannot be swept")
    return set_field(obj, path, value)


def lists_to_arrays(obj: object, *names: str) -> None:
    """Convert fields that hold lists of numbers, as in a sweep file, to arrays; JAX would treat a list as a pytree.

    A class whose fields may be arrays calls this function in its `__post_init__`.
    """
    for name in names:
        value = getattr(obj, name)
        if isinstance(value, (list, tuple)) and is_real(value):
            object.__setattr__(obj, name, np.asarray(value, float))  # whole numbers would wrap around in formulas


def set_field(obj: T, path: str, value: object) -> T:
    """Return a copy of an object in which the field at a dotted path is replaced, whatever its kind."""
    name, _, inner_path = path.partition(".")
    if inner_path:
        value = set_field(getattr(obj, name), inner_path, value)
    return dataclasses.replace(typing.cast(Any, obj), **{name: value})


def field_kind(obj: object, path: str) -> Kind:
    """Return the kind of the field at a dotted path, such as `noise.df`.

    Raises:
      InputError: if a field does not exist; the message names the fields that exist.
    """
    head, _, rest = path.partition(".")
    fields = {f.name: f for f in dataclasses.fields(obj)} if dataclasses.is_dataclass(obj) else {}
    if head not in fields:
        known = f"it has: {', '.join(sorted(fields))}" if fields else "it has none"
        raise InputError(f"{type(obj).__name__} has no field {head!r}; {known}")
    value, kind = getattr(obj, head), fields[head].metadata.get(_KIND, "traced")
    if rest and kind == "traced":
        return field_kind(value, rest)
    return "object" if kind == "traced" and dataclasses.is_dataclass(value) else kind
