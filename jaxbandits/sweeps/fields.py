"""Swept fields of a sweep file: the values in their inline tables, and the resulting points.

    ridge = { values = [0.1, 1.0] }                    the listed values
    ridge = { range = [0.0, 1.0], n = 5 }              evenly spaced, both ends included, n >= 2
    dim = { range = [2, 10], step = 2 }                2, 4, 6, 8, 10; the upper end only if a step leads to it
    beta_scale = { logspace = [1e-3, 1.0], n = 4 }     by equal ratios, both ends included, n >= 2
    ridge = { random = [0.1, 10.0], n = 20 }           uniform draws; options: `log = true` (log-uniform), `seed = 1`
    dim = { values = [2, 5], zip = "dim" }             fields with the same `zip` vary together
    means = { values = [[0.6, 0.5], [0.6, 0.4]] }      arrays, which results call 0 and 1
    means.values = { easy = [0.9, 0.1], hard = [0.6, 0.5] }    arrays with names

A list without `values` is one array, for a field that takes arrays: `means = [0.6, 0.5]`.

The points are the product of the fields; fields with the same `zip` count as one.
"""

import math
import zlib
from typing import Any, NamedTuple

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.base.forms import JsonObject
from jaxbandits.engine.grid import ArrayValue, Point, product, zip_fields

KINDS = {
    "values": {"values", "zip"},
    "range": {"range", "n", "step", "zip"},
    "logspace": {"logspace", "n", "zip"},
    "random": {"random", "n", "log", "seed", "zip"},
}
MAX_POINTS = 10**6  # largest number of points of an algorithm on an environment
_COUNT = f"[1, {MAX_POINTS}]"


class SweptField(NamedTuple):
    """Field of a sweep file that takes several values."""

    path: str  # dotted, within its table
    values: list[Any]
    group: str | None  # name of the fields that vary together with it
    where: str  # place in the file, for error messages


def split(table: JsonObject, where: str) -> tuple[dict[str, Any], list[SweptField]]:
    """Return the table with every swept field set to its first value, and the list of swept fields.

    Raises:
      InputError: if an entry is invalid; the message names the file, the table and the key.
    """
    found: list[SweptField] = []
    fields = {key: _split(item, f"{where}.{key}", key, found) for key, item in table.items()}
    return fields, found


def _split(value: object, where: str, path: str, found: list[SweptField]) -> object:
    if not isinstance(value, dict):
        return value
    if "type" not in value and KINDS.keys() & value.keys():
        swept = SweptField(path, _values(value, where, path), _group(value, where), where)
        found.append(swept)
        return plain_value(swept.values[0])
    return {key: _split(item, f"{where}.{key}", f"{path}.{key}", found) for key, item in value.items()}


def groups(swept: list[SweptField]) -> list[list[SweptField]]:
    """Group the fields of one table: fields that vary together form a group, and every other field is its own group."""
    found: dict[Any, list[SweptField]] = {}
    for field in swept:
        found.setdefault((field.path,) if field.group is None else field.group, []).append(field)
    return list(found.values())


def points(algorithm: list[SweptField], environment: list[SweptField]) -> list[Point]:
    """Return every combination of the swept fields of an algorithm and an environment; zipped fields vary together.

    Raises:
      InputError: if zipped fields have different numbers of values, values repeat, or there are too many points.
    """
    factors: dict[Any, dict[str, SweptField]] = {}
    for prefix, fields in (("", algorithm), ("environment.", environment)):
        for field in fields:
            name = prefix + field.path
            factors.setdefault(field.group if field.group is not None else (name,), {})[name] = field
    for group, fields in factors.items():
        counts = {field.where: len(field.values) for field in fields.values()}
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{n} in {where.rpartition(': ')[2]}" for where, n in counts.items())
            raise InputError(
                f"{next(iter(counts))}: fields of zip group {group!r} must have the same number of values, got {listed}"
            )
        values = list(zip(*(field.values for field in fields.values()), strict=True))
        if len({tuple((isinstance(x, bool), x) for x in row) for row in values}) < len(values):  # 1 equals 1.0
            raise InputError(f"{next(iter(counts))}: some values are repeated")
    n_points = math.prod(len(next(iter(fields.values())).values) for fields in factors.values())
    if n_points > MAX_POINTS:
        raise InputError(
            f"{n_points:,} points, but at most {MAX_POINTS:,} are allowed; fields with the same `zip` vary together "
            "and so make fewer points"
        )
    zipped = [zip_fields({name: field.values for name, field in fields.items()}) for fields in factors.values()]
    return product(*zipped) if zipped else []


def _values(table: JsonObject, where: str, path: str) -> list[Any]:
    kinds = sorted(KINDS.keys() & table.keys())
    if len(kinds) > 1:
        raise InputError(f"{where}: set only one of {' and '.join(kinds)}")
    kind = kinds[0]
    for key in table:
        if key not in KINDS[kind]:
            raise InputError(f"{where}: {unknown_name(f'key next to {kind!r}', key, KINDS[kind])}")
    given = table[kind]
    if kind == "values":
        return _checked_values(given, where)
    low, high = _ends(given, f"{where}.{kind}", positive=kind == "logspace" or table.get("log") is True)
    if kind == "range" and "step" in table:
        return _steps(low, high, table, where)
    if "n" not in table:
        raise InputError(f"{where}: {kind} needs n, the number of values" + " (or step)" * (kind == "range"))
    n = ranges.integer(f"{where}.n", table["n"], _COUNT)
    if n == 1 and kind != "random":  # NumPy would return the lower end
        raise InputError(
            f"{where}.n must be at least 2, since {kind} includes both ends: write values = [{low}] for one"
        )
    if kind == "range":
        return np.linspace(low, high, n).tolist()
    if kind == "logspace":
        return np.geomspace(low, high, n).tolist()
    seed = ranges.integer(f"{where}.seed", table.get("seed", 0), f"[0, {2**32 - 1}]")
    draws = np.random.default_rng([seed, zlib.crc32(path.encode())]).random(n)  # the same draws for the same path
    if ranges.flag(f"{where}.log", table.get("log", False)):
        return np.exp(math.log(low) + draws * (math.log(high) - math.log(low))).tolist()
    return (low + draws * (high - low)).tolist()


def _checked_values(given: object, where: str) -> list[Any]:
    """Return the entries of `values`: numbers, names or arrays; the keys of an object are names of arrays."""
    if not isinstance(given, (list, dict)) or not given:
        raise InputError(f"{where}.values: must be a list of at least one value, got {format_value(given)}")
    if isinstance(given, dict):
        return [ArrayValue(_array(value, f"{where}.values.{name}"), name) for name, value in given.items()]
    for i, value in enumerate(given):
        if not isinstance(value, (bool, int, float, str, list)):
            raise InputError(f"{where}.values[{i}]: must be a number or a name, got {format_value(value)}")
    return [ArrayValue(_array(x, f"{where}.values[{i}]")) if isinstance(x, list) else x for i, x in enumerate(given)]


def plain_value(value: object) -> object:
    """Return a value of a swept field in the form that specifications use, with arrays as lists."""
    return value.array.tolist() if isinstance(value, ArrayValue) else value


def _array(value: object, where: str) -> np.ndarray:
    if not isinstance(value, list) or not value:
        raise InputError(f"{where}: must be a non-empty array of numbers, got {format_value(value)}")
    return ranges.floats(where, value)


def _ends(given: object, where: str, positive: bool) -> tuple[float, float]:
    pair = given if isinstance(given, list) and len(given) == 2 else ()
    if not pair or not all(map(_is_finite, pair)) or not pair[0] < pair[1]:
        raise InputError(f"{where}: must be two numbers, the smaller one first, got {format_value(given)}")
    if positive and pair[0] <= 0:
        raise InputError(f"{where}: must be positive numbers, got {format_value(given)}")
    return pair[0], pair[1]


def _is_finite(value: object) -> bool:
    """Return True for a finite number; TOML has whole numbers of any size, which may exceed all floats."""
    if type(value) not in (int, float):
        return False
    try:
        return math.isfinite(value)  # pyright: ignore[reportArgumentType]
    except OverflowError:
        return False


def _steps(low: float, high: float, table: JsonObject, where: str) -> list[float]:
    step = table["step"]
    if "n" in table:
        raise InputError(f"{where}: set either n or step, not both")
    if not _is_finite(step) or step <= 0:
        raise InputError(f"{where}.step: must be a positive number, got {format_value(step)}")
    length, rounding = (high - low) / step, 2.0 * math.ulp(max(abs(low), abs(high))) / step
    most = length + max(1e-12 * length, rounding)
    if math.isinf(most):
        raise InputError(f"{where}: infinitely many values, but at most {MAX_POINTS:,} are allowed")
    n = math.floor(most) + 1
    if n == 1:
        raise InputError(f"{where}.step must be at most {high - low:g}, the length of the range, got {step:g}")
    if n > MAX_POINTS:
        raise InputError(f"{where}: {n:,} values, but at most {MAX_POINTS:,} are allowed")
    return [low + i * step for i in range(n)]


def _group(table: JsonObject, where: str) -> str | None:
    group = table.get("zip")
    if group is not None and (not isinstance(group, str) or not group):
        raise InputError(
            f"{where}.zip: must be a name, the same for fields that vary together, got {format_value(group)}"
        )
    return group
