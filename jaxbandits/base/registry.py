"""Registries of algorithms and environments: their rows, and what installed packages add to them."""

import importlib
import warnings
from collections import UserDict
from collections.abc import Callable, Container, Mapping
from importlib import metadata
from typing import Any, NamedTuple

from jaxbandits.base.errors import InputError, shown

GROUPS = ("jaxbandits.algorithms", "jaxbandits.environments")  # of entry points


class Entry(NamedTuple):
    """What the tools know about a registered class.

    Attributes:
      cls: the class.
      example: a small concrete instance that the contract tests run.
      source: paper or origin, one line.
      environments: for an algorithm, names of the environments whose examples fit `example`; empty for environments.
    """

    cls: type
    example: Any
    source: str
    environments: tuple[str, ...] = ()


class Row(NamedTuple):
    """An `Entry` before it is needed: nothing is imported and nothing made for it.

    Attributes:
      place: of the class, `module:name`.
      example: makes the example from the class.
      source: as in `Entry`.
      environments: as in `Entry`.
    """

    place: str
    example: Callable[[Any], Any]
    source: str
    environments: tuple[str, ...] = ()

    def entry(self) -> Entry:
        """The entry: imports the class, makes the example."""
        cls = at(self.place)
        return Entry(cls, self.example(cls), self.source, self.environments)


class Registry(UserDict[str, Entry]):
    """Name to entry. Of a row the entry is made when its name is looked up: who runs one algorithm loads one."""

    data: dict[str, Any]  # name to entry, or to the row of one that nobody has asked for yet

    def __init__(self, rows: Mapping[str, Entry | Row]) -> None:
        super().__init__()
        self.data.update(rows)

    def __getitem__(self, name: str) -> Entry:
        found = super().__getitem__(name)
        if isinstance(found, Row):
            found = self.data[name] = found.entry()
        return found


def at(place: str) -> Any:
    """What stands at `module:name`, which is imported."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def add(registry: Registry, name: str, entry: Entry) -> None:
    """Adds a third party's row.

    Raises:
      InputError: when the name is taken or not of the form `family/name`, or the row is not an `Entry` that fits.
    """
    _check_name(registry, name)
    if not isinstance(entry, Entry):
        raise InputError(f"entry must be an Entry(cls, example, source), got {shown(entry)}")
    if not isinstance(entry.cls, type) or not isinstance(entry.example, entry.cls):
        raise InputError(f"entry.cls must be a class and entry.example an instance of it, got {shown(entry.cls)}")
    if not isinstance(entry.source, str) or not isinstance(entry.environments, tuple):
        raise InputError("entry.source must be text and entry.environments a tuple of names")
    registry[name] = entry


def discover(registry: Registry, group: str) -> None:
    """Adds what installed packages offer as entry points of a group, each an `Entry`, under `family.name`.

    One that cannot be loaded is left out with a warning: a broken package must not take this one along.
    """
    for point in metadata.entry_points(group=group):
        try:
            add(registry, point.name.replace(".", "/", 1), point.load())
        except Exception as error:  # whatever another package's import raises
            owner = "" if point.dist is None else f" of {point.dist.name}"
            what = " ".join(str(error).split())[:200]
            warnings.warn(f"entry point {point.name}{owner} is left out: {type(error).__name__}: {what}", stacklevel=2)


def add_part(registry: dict[str, Any], name: str, part: Any) -> None:
    """Adds a third party's class or function.

    Raises:
      InputError: when the name is taken or not of the form `family/name`, or the part is neither class nor function.
    """
    _check_name(registry, name)
    if not callable(part) or not hasattr(part, "__qualname__"):
        raise InputError(f"part must be a class or a function, got {shown(part)}")
    registry[name] = part


def _check_name(registry: Container[str], name: Any) -> None:
    if not isinstance(name, str) or name.count("/") != 1 or not all(name.split("/")):
        raise InputError(f"name must have the form 'family/name', got {shown(name)}")
    if name in registry:
        raise InputError(f"name {name!r} is registered already")
