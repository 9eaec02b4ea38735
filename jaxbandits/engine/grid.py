"""Grids of hyperparameter points: products of fields, fields that vary together, and a grid for each algorithm.

    sweep(ours, environment, 10_000, 100, grid={"beta_scale": [0.1, 1.0], "environment.noise.df": [2.1, 3.0]})
    compare({"ours": Grid(ours, {"beta_scale": [0.1, 1.0]}), "baseline": baseline}, environment, 10_000, 100)
    product({"rate": [0.1, 1.0]}, zip_fields({"dim": [2, 5], "environment.dim": [2, 5]}))  # four points

A name is a field of the algorithm, with dots for nested fields; the prefix `environment.` denotes a field of the
environment. Points that differ in traced fields share one compiled program; every value of a static field (a size, a
flag) has a separate program.

If a field holds an array, its values in a grid are arrays. In the points of results each array has a name, by default
its position among the different arrays of the field. A mapping gives other names, such as numbers for the x-axis of a
figure:

    {"environment.means": [[0.6, 0.5], [0.6, 0.4]]}                  points {"environment.means": 0}, ... 1
    {"environment.means": {0.1: [0.6, 0.5], 0.2: [0.6, 0.4]}}        points {"environment.means": 0.1}, ... 0.2
"""

import dataclasses
import itertools
import numbers
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.exact import exact_key
from jaxbandits.base.ranges import check_concrete, floats
from jaxbandits.types import Algorithm

Point: TypeAlias = dict[str, Any]  # values by field name
Points: TypeAlias = (  # fields whose product is taken, or a list of points
    Mapping[str, Sequence[Any] | Mapping[Any, Any]] | Sequence[Mapping[str, Any]]
)
Name: TypeAlias = str | int | float  # name of an array
Arrays: TypeAlias = dict[str, dict[Name, np.ndarray]]  # arrays by field and name


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ArrayValue:
    """Array in a point of a grid. Two `ArrayValue`s are equal if their numbers, shapes and names are equal.

    Attributes:
      array: float64 array with at least one axis.
      name: name of the array in the points of results; None: its position among the different arrays of the field.
    """

    array: np.ndarray
    name: Name | None = None

    def __repr__(self) -> str:
        """Return the name, or the numbers of an array without a name."""
        return format_value(self.array) if self.name is None else str(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayValue) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Hashable:
        return exact_key(self.name), self.array.shape, self.array.tobytes()


@dataclasses.dataclass(frozen=True)
class Grid:
    """Algorithm together with the points at which `compare` runs it.

    Attributes:
      algorithm: the algorithm; fields that `points` does not name keep their values.
      points: mapping from fields to lists of values, of which all combinations are run; or a list of points, as
        `product` and `zip_fields` return it. Values are numbers, names (of a static field), or arrays; H arrays are
        given as one array `[H, ...]`, as a list, or as a mapping from names to arrays.
    """

    algorithm: Algorithm
    points: Points

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", without_iterators(self.points))


def without_iterators(points: Points) -> Points:
    """Return a grid with lists in place of iterators such as generators, which can be read only once."""
    if not isinstance(points, Mapping):
        return points
    return {field: list(values) if isinstance(values, Iterator) else values for field, values in points.items()}


def product(*factors: Points) -> list[Point]:
    """Return every combination of the points of several grids; the last grid varies fastest.

    Args:
      *factors: mappings from fields to values, or lists of points.

    Raises:
      InputError: if two grids name the same field, or if a value is not a number, a name or an array.

    Example:
      >>> product({"rate": [0.1, 1.0]}, zip_fields({"dim": [2], "environment.dim": [2]}))
      [{'rate': 0.1, 'dim': 2, 'environment.dim': 2}, {'rate': 1.0, 'dim': 2, 'environment.dim': 2}]
    """
    if not factors:
        raise InputError("product needs at least one grid")
    combined = []
    for points in itertools.product(*map(_points, factors)):
        _check_unique([field for point in points for field in point])
        combined.append({field: value for point in points for field, value in point.items()})
    return combined


def zip_fields(fields: Mapping[str, Sequence[Any]]) -> list[Point]:
    """Return the points of fields that vary together: the i-th point has the i-th value of every field.

    Args:
      fields: mapping from fields to lists of values, all of the same length.

    Raises:
      InputError: if the numbers of values differ, or if a value is not a number, a name or an array.

    Example:
      >>> zip_fields({"dim": [2, 5], "environment.dim": [2, 5]})
      [{'dim': 2, 'environment.dim': 2}, {'dim': 5, 'environment.dim': 5}]
    """
    columns = _columns(fields)
    counts = {field: len(values) for field, values in columns.items()}
    if len(set(counts.values())) > 1:
        raise InputError(
            "fields that are zipped must have the same number of values, got "
            f"{', '.join(f'{k}: {n}' for k, n in counts.items())}"
        )
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def list_points(points: Points) -> list[Point]:
    """Return a grid as a list of points whose values are numbers, names, or named arrays (`ArrayValue`).

    Raises:
      InputError: if the grid is invalid, if points have different fields, or if different arrays have the same name.
    """
    found = _points(points)
    for field in found[0]:
        arrays = [value for value in (point[field] for point in found) if isinstance(value, ArrayValue)]
        if not arrays:
            continue
        if len(arrays) < len(found):
            raise InputError(f"either all values of {field!r} in a grid must be arrays, or none")
        positions: dict[ArrayValue, int] = {}
        for value in arrays:
            positions.setdefault(value, len(positions))
        of_name: dict[Hashable, ArrayValue] = {}
        for point in found:
            value = point[field]
            name = positions[value] if value.name is None else value.name
            point[field] = named = ArrayValue(value.array, name)
            if of_name.setdefault(name, named) != named:
                raise InputError(f"two different arrays of {field!r} in a grid have the name {name!r}")
    return found


def split_arrays(points: Sequence[Point]) -> tuple[list[Point], Arrays]:
    """Return points of `list_points` with names in place of the arrays, and the arrays by field and name."""
    arrays: Arrays = {}
    for point in points:
        for field, value in point.items():
            if isinstance(value, ArrayValue) and value.name is not None:
                arrays.setdefault(field, {})[value.name] = value.array
    plain = [{f: v.name if isinstance(v, ArrayValue) else v for f, v in point.items()} for point in points]
    return plain, arrays


def _points(points: Points) -> list[Point]:
    """Return a grid as a list of points; arrays without a name remain unnamed."""
    if isinstance(points, Mapping):
        columns = _columns(points)
        return [dict(zip(columns, values, strict=True)) for values in itertools.product(*columns.values())]
    if not isinstance(points, (list, tuple)) or not all(isinstance(point, Mapping) for point in points):
        raise InputError(
            f"a grid must map fields to lists of values, or be a list of points, got {format_value(points)}"
        )
    for point in points:
        _check_unique([_field(field) for field in point])
    checked = [{_field(field): _value(field, value) for field, value in point.items()} for point in points]
    if not checked or not checked[0] or any(point.keys() != checked[0].keys() for point in checked):
        raise InputError(
            "a grid must have at least one point and at least one field, and all points must have the same fields"
        )
    return [{field: point[field] for field in checked[0]} for point in checked]  # in one order, so that parts merge


def _columns(fields: object) -> dict[str, list[Any]]:
    if not isinstance(fields, Mapping):
        raise InputError(f"a grid must map fields to lists of values, got {format_value(fields)}")
    _check_unique([_field(field) for field in fields])
    columns = {}
    for field, values in fields.items():
        if isinstance(values, Mapping):
            columns[_field(field)] = [_named_array(field, name, value) for name, value in values.items()]
            continue
        if isinstance(values, (str, ArrayValue)) or not np.iterable(values):
            values = [values]
        columns[_field(field)] = [_value(field, value) for value in values]
    if not columns or not all(columns.values()):
        raise InputError("a grid must name at least one field, with at least one value each")
    return columns


def _field(name: object) -> str:
    if not isinstance(name, str):
        raise InputError(f"the names of fields in a grid must be text, got {format_value(name)}")
    return name.removeprefix("algorithm.")


def _named_array(field: str, name: Any, value: Any) -> ArrayValue:
    name = name.item() if isinstance(name, np.generic) else name
    if isinstance(name, bool) or not isinstance(name, (str, int, float)) or name != name:
        raise InputError(f"names of arrays in a grid must be text or numbers, got {format_value(name)} for {field!r}")
    array = _value(field, value)
    if not isinstance(array, ArrayValue):
        raise InputError(
            f"values of {field!r} in a grid have names, but only arrays can have names: got {format_value(value)}"
        )
    return ArrayValue(array.array, name)


def _value(field: str, value: Any) -> Any:
    check_concrete(f"a value of {field!r} in a grid", value)
    if isinstance(value, ArrayValue):
        return value
    value = value.item() if isinstance(value, np.generic) or (hasattr(value, "item") and np.ndim(value) == 0) else value
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, (list, tuple)) or (hasattr(value, "__array__") and np.ndim(value)):
        array = floats(f"a value of {field!r} in a grid", value)
        if array.size:
            return ArrayValue(array)
    raise InputError(
        f"values of {field!r} in a grid must be numbers, arrays of them (or names, for a static field), "
        f"got {format_value(value)}"
    )


def _check_unique(fields: list[str]) -> None:
    for field in fields:
        if fields.count(field) > 1:
            raise InputError(f"a grid must not name a field twice: {field!r}")
