"""Grids of hyperparameter points: products of fields, fields that vary together, one grid per algorithm.

    sweep(ours, environment, 10_000, 100, grid={"beta_scale": [0.1, 1.0], "environment.noise.df": [2.1, 3.0]})
    compare({"ours": Grid(ours, {"beta_scale": [0.1, 1.0]}), "baseline": baseline}, environment, 10_000, 100)
    product({"rate": [0.1, 1.0]}, zip_fields({"dim": [2, 5], "environment.dim": [2, 5]}))  # four points

A name is a field of the algorithm, dotted for nested ones; `environment.` before it means one of the environment.
Traced fields share one compiled program; every value of a static field (a size, a flag) has a program of its own.
"""

import dataclasses
import itertools
import numbers
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.ranges import check_concrete

Point: TypeAlias = dict[str, Any]  # field to value
Points: TypeAlias = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]  # their product, or a list of points


@dataclasses.dataclass(frozen=True)
class Grid:
    """An algorithm and the points at which `compare` runs it.

    Attributes:
      algorithm: its other fields stay as they are.
      points: field to values (their product), or a list of points, such as `product` and `zip_fields` make.
    """

    algorithm: Any
    points: Points


def product(*factors: Points) -> list[Point]:
    """Return every combination of the points of several grids; the last one varies fastest.

    Args:
      *factors: field to values, or lists of points.

    Raises:
      InputError: for a field that is named twice, or anything but numbers and names as values.

    Example:
      >>> product({"rate": [0.1, 1.0]}, zip_fields({"dim": [2], "environment.dim": [2]}))
      [{'rate': 0.1, 'dim': 2, 'environment.dim': 2}, {'rate': 1.0, 'dim': 2, 'environment.dim': 2}]
    """
    if not factors:
        raise InputError("product needs at least one grid")
    combined = []
    for points in itertools.product(*map(list_points, factors)):
        _check_unique([field for point in points for field in point])
        combined.append({field: value for point in points for field, value in point.items()})
    return combined


def zip_fields(fields: Mapping[str, Sequence[Any]]) -> list[Point]:
    """Return the points of fields that vary together: their first values, then their second ones, and so on.

    Args:
      fields: field to values, equally many each.

    Raises:
      InputError: for different numbers of values, or anything but numbers and names as values.

    Example:
      >>> zip_fields({"dim": [2, 5], "environment.dim": [2, 5]})
      [{'dim': 2, 'environment.dim': 2}, {'dim': 5, 'environment.dim': 5}]
    """
    columns = _columns(fields)
    counts = {field: len(values) for field, values in columns.items()}
    if len(set(counts.values())) > 1:
        raise InputError(
            f"zipped fields need equally many values, got {', '.join(f'{k}: {n}' for k, n in counts.items())}"
        )
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def list_points(points: Points) -> list[Point]:
    """Return a grid as a list of points with plain numbers.

    Raises:
      InputError: for anything else, or for points with different fields.
    """
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
        raise InputError("a grid must have at least one point, the same fields in each, and at least one field")
    return checked


def _columns(fields: Any) -> dict[str, list[Any]]:
    if not isinstance(fields, Mapping):
        raise InputError(f"a grid must map fields to lists of values, got {format_value(fields)}")
    _check_unique([_field(field) for field in fields])
    columns = {}
    for field, values in fields.items():
        if isinstance(values, (str, Mapping)) or not np.iterable(values):
            values = [values]
        columns[_field(field)] = [_value(field, value) for value in values]
    if not columns or not all(columns.values()):
        raise InputError("a grid must name at least one field, with at least one value each")
    return columns


def _field(name: Any) -> str:
    if not isinstance(name, str):
        raise InputError(f"a grid names fields by text, got {format_value(name)}")
    return name.removeprefix("algorithm.")


def _value(field: str, value: Any) -> Any:
    check_concrete(f"a value of {field!r} in a grid", value)
    value = value.item() if isinstance(value, np.generic) or (hasattr(value, "item") and np.ndim(value) == 0) else value
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise InputError(
        f"values of {field!r} in a grid must be numbers (or names, for a static field), got {format_value(value)}"
    )


def _check_unique(fields: list[str]) -> None:
    for field in fields:
        if fields.count(field) > 1:
            raise InputError(f"a grid names one field twice: {field!r}")
