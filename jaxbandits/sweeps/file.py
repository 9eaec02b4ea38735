"""Sweep files in TOML. They are read strictly; an error message names the file, the table and the key.

    horizon = 10_000
    seeds = 128
    record_points = "log"

    [algorithms.oful]
    type = "linear/oful"
    dim = 2
    beta_scale = { logspace = [0.01, 1.0], n = 5 }

    [environments.student]
    type = "linear/heavy_tailed"
    dim = 2
    n_arms = 50
    noise = { type = "noise/student_t", df = { values = [2.1, 3.0] } }

Every algorithm runs on every environment; labels are `oful`, or `oful@student` if there are several environments.
Types and fields are named as in specifications (`jaxbandits.to_spec`); swept fields are described in
`sweeps/fields.py`.
"""

import copy
import functools
import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxbandits import catalogue
from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.base import files
from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.base.forms import JsonObject
from jaxbandits.base.pytree import field_table
from jaxbandits.engine.grid import ArrayValue, Grid
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.sweeps import fields
from jaxbandits.sweeps.fields import SweptField
from jaxbandits.sweeps.sweep import PRECISIONS, Sweep

_TABLES = {"algorithms": ALGORITHMS, "environments": ENVIRONMENTS}
_SHORT = {"alg": "algorithms", "env": "environments"}  # prefixes in overrides that mean all tables of a kind
_KEYS: dict[str, tuple[type, ...]] = {
    "algorithms": (dict,),
    "environments": (dict,),
    "horizon": (int,),
    "seeds": (int,),
    "record_points": (int, str, list, dict),
    "metrics": (list,),
    "precision": (str,),
    "out": (str,),
    "seed": (int,),
    "first_seed": (int,),
    "width": (int,),
    "part_trials": (int,),
    "identity": (str,),
}
_REQUIRED = ("algorithms", "environments", "horizon", "seeds")
_TYPE_NAMES = {dict: "a table", int: "a whole number", str: "text", list: "a list"}
_MAX_CHECKED = 64  # number of values of a swept field that are checked here; all are checked when the sweep is planned


class Document(NamedTuple):
    """Content of a sweep file with overrides; the names and types of entries have been checked, but not the values."""

    source: str
    content: JsonObject

    @property
    def precision(self) -> str | None:
        """Precision of the sweep; None if the file does not set it."""
        return self.content.get("precision")

    @property
    def out(self) -> Path:
        """Directory of the results: the entry `out`, or `results/NAME` for a file `NAME.toml` without this entry."""
        return Path(self.content.get("out", Path("results") / Path(self.source).stem))


def read(path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> Document:
    """Read a sweep file, apply overrides, and return its content.

    Args:
      path: path of the file.
      overrides: entries to set, such as `"horizon=500"`, `"env.dim=5,10"` (a field of every environment) or
        `"algorithms.oful.ridge=0.1"`; several values, separated by commas, are swept. A zipped field remains zipped.

    Raises:
      InputError: if the file is invalid; the message names the file and the place in it.
    """
    path = files.path_of(path, "the path of a sweep file must be a string or a path object")
    content, source = _load(path), str(path)
    for key in content.keys() & _TABLES.keys():  # checked before overrides change entries in these tables
        if not isinstance(content[key], dict):
            raise InputError(f"{source}: {key} must be a table, got {format_value(content[key])}")
    for override in overrides:
        _override(content, override)
    _check_entries(content, source)
    for role in _TABLES:
        for name, table in content[role].items():
            if not isinstance(table, dict):
                raise InputError(f"{source}: {role}.{name} must be a table with a type, got {format_value(table)}")
    return Document(source, content)


def _load(path: Path) -> JsonObject:
    """Parse a TOML file.

    Raises:
      InputError: if the file cannot be read or parsed.
    """
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        raise InputError(f"no such file: {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}") from None


def _check_entries(content: JsonObject, source: str) -> None:
    """Check names, types and presence of the entries at top level."""
    for key, value in content.items():
        if key not in _KEYS:
            raise InputError(f"{source}: {unknown_name('key', key, _KEYS)}")
        if type(value) not in _KEYS[key]:
            allowed = " or ".join(_TYPE_NAMES[kind] for kind in _KEYS[key])
            raise InputError(f"{source}: {key} must be {allowed}, got {format_value(value)}")
    for key in _REQUIRED:
        if content.get(key) in (None, {}):
            raise InputError(f"{source}: needs {f'a table [{key}.NAME]' if key in _TABLES else key}")
    if "precision" in content and content["precision"] not in PRECISIONS:
        raise InputError(f"{source}: precision: {unknown_name('precision', content['precision'], PRECISIONS)}")
    if content.get("out") == "":
        raise InputError(f"{source}: out must be the path of a directory")


def make_sweep(document: Document) -> Sweep:
    """Return the sweep that a file describes.

    The precision of the process must be the precision that the file sets, if any.

    Raises:
      InputError: if an entry is invalid; the message names the file, the table and the key.
    """
    source, content = document
    objects = {
        role: {name: _object(role, name, table, source) for name, table in content[role].items()} for role in _TABLES
    }
    algorithms, environments = {}, {}
    for alg_name, (algorithm, alg_fields) in objects["algorithms"].items():
        for env_name, (environment, env_fields) in objects["environments"].items():
            label = f"{alg_name}@{env_name}" if len(objects["environments"]) > 1 else alg_name
            if label in algorithms:
                raise InputError(
                    f"{source}: two pairs of an algorithm and an environment have the same label {label!r}: rename "
                    "an algorithm or an environment"
                )
            points = fields.points(alg_fields, env_fields)
            algorithms[label] = Grid(algorithm, points) if points else algorithm
            environments[label] = environment
    plain = ("horizon", "seeds", "metrics", "seed", "first_seed", "width", "part_trials", "precision", "identity")
    settings: dict[str, Any] = {key: content[key] for key in plain if key in content}
    if "record_points" in content:
        settings["record_points"] = _record_points(content["record_points"], source)
    file = {key: value for key, value in content.items() if key != "out"}
    return Sweep(algorithms=algorithms, environment=environments, source=source, file=file, **settings)


def _object(role: str, name: str, table: JsonObject, source: str) -> tuple[Any, list[SweptField]]:
    """Return an algorithm or environment with swept fields at their first value, and its swept fields."""
    where, registry = f"{source}: {role}.{name}", _TABLES[role]
    if not isinstance(table.get("type"), str):
        given = f", got {format_value(table['type'])}" if "type" in table else ""
        raise InputError(f"{where}: needs a type, such as {next(iter(registry))!r}{given}")
    if table["type"] not in registry:
        error = unknown_name(role.removesuffix("s"), table["type"], registry, f"jaxbandits list {role}")
        raise InputError(f"{where}.type: {error}")
    spec, swept = fields.split(table, where)
    obj = catalogue.from_spec(spec, where=where)
    defaults = {row.name: row.value for row in field_table(type(obj))}
    for field in swept:
        if not isinstance(field.values[0], ArrayValue) or not isinstance(defaults.get(field.path), (int, float)):
            continue
        if isinstance(functools.reduce(getattr, field.path.split("."), obj), list):  # else the class takes arrays
            raise InputError(f"{field.where}: is not an array: its values must be numbers, such as [1, 2]")
    for members in fields.groups(swept):
        for i in range(1, min(_MAX_CHECKED, *(len(field.values) for field in members))):
            varied = spec
            for field in members:  # together: the shape of one may follow from the value of another
                varied = _with(varied, field.path, fields.plain_value(field.values[i]))
            catalogue.from_spec(varied, where=where)
    return obj, swept


def _with(spec: JsonObject, path: str, value: object) -> dict[str, Any]:
    head, _, rest = path.partition(".")
    return {**spec, head: _with(spec[head], rest, value) if rest else value}


def _record_points(record_points: object, source: str) -> object:
    if not isinstance(record_points, dict):
        return record_points
    if record_points.keys() != {"log"}:
        raise InputError(
            f'{source}: record_points must be a number of points, "log", {{ log = n }} or rounds, '
            f"got {format_value(record_points)}"
        )
    return ("log", record_points["log"])


def _override(content: JsonObject, override: str) -> None:
    """Set one entry, or a field of every algorithm (`alg.`) or environment (`env.`)."""
    where = f"--set {' '.join(override.split())}"
    key, equals, text = override.partition("=")
    path = key.strip().split(".")
    if not equals or not all(path):
        raise InputError(f"{where}: must have the form KEY=VALUE, such as horizon=500 or env.dim=5,10")
    value = _parse(text.strip(), where)
    if path[0] in _SHORT:
        role = _SHORT[path[0]]
        paths = [[role, name, *path[1:]] for name in content.get(role, {})]
        if len(path) < 2 or not paths:
            raise InputError(f"{where}: does not name a field of the {role}")
    else:
        paths = [path]
        if path[0] in _TABLES and (len(path) < 3 or path[1] not in content.get(path[0], {})):
            names = [f"{path[0]}.{name}.FIELD" for name in content.get(path[0], {})]
            raise InputError(f"{where}: {unknown_name('entry', key, names)}")
    for *tables, last in paths:
        table = content
        for name in tables:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise InputError(f"{where}: {name} is not a table")
        new, old = copy.deepcopy(value), table.get(last)
        is_field = path[0] in _SHORT or path[0] in _TABLES
        if isinstance(new, _ValueList):
            new = {"values": list(new)} if is_field else list(new)
        if is_field and isinstance(old, dict) and "zip" in old and isinstance(new, dict):
            new.setdefault("zip", old["zip"])
        table[last] = new


class _ValueList(list):
    """Values separated by commas."""


def _parse(text: str, where: str) -> object:
    """Parse a TOML value, or several without brackets; anything else is text."""
    if not text:
        raise InputError(f"{where}: has no value")
    for toml, is_list in ((f"x = {text}", False), (f"x = [{text}]", True)):
        try:
            found = tomllib.loads(toml)
        except tomllib.TOMLDecodeError:
            continue
        if len(found) == 1:  # further lines would be further entries, which must not be ignored
            return _ValueList(found["x"]) if is_list else found["x"]
    words = [word.strip() for word in text.split(",")]
    if not all(words) or any(mark in text for mark in "[]{}\"'\n"):
        raise InputError(f"{where}: cannot read the value")
    return words[0] if len(words) == 1 else _ValueList(words)
