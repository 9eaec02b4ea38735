"""Registries of algorithms and environments: their entries, and those that installed packages add."""

import warnings
from collections import UserDict
from collections.abc import Container, Iterable, Mapping
from importlib import metadata
from typing import Any, NamedTuple

from jaxbandits.base import lazy
from jaxbandits.base.errors import InputError, format_value

GROUPS = ("jaxbandits.algorithms", "jaxbandits.environments")  # of entry points


class Entry(NamedTuple):
    """Registered class, with what the tools need to list and check it.

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

    @classmethod
    def from_class(cls, registered: Any) -> "Entry":
        """Describe a class that has `source`, `example()` and, for an algorithm, `environments`."""
        environments = getattr(registered, "environments", ())
        return cls(cls=registered, example=registered.example(), source=registered.source, environments=environments)


class Registry(UserDict[str, Entry]):
    """Lazy mapping from name to entry: a class is imported, and its example made, on first access.

    Args:
      entries: for each name its entry, or the place of its class, `module:name`.
    """

    data: dict[str, Any]  # entries, and the places of classes that are not imported yet

    def __init__(self, entries: Mapping[str, Entry | str]) -> None:
        super().__init__()
        self.data.update(entries)

    def __getitem__(self, name: str) -> Entry:
        entry = super().__getitem__(name)
        if isinstance(entry, str):
            entry = self.data[name] = Entry.from_class(lazy.load(entry))
        return entry


def places(room: str, families: Iterable[str]) -> dict[str, str]:
    """Return the place `module:name` of every class that the family packages of a room list, by `family/file`."""
    listed = [place for family in families for place in lazy.declared_imports(f"{room}.{family}").values()]
    return {place.partition(":")[0].removeprefix(f"{room}.").replace(".", "/"): place for place in listed}


def register(registry: Registry, name: str, entry: Entry) -> None:
    """Add a third party's entry.

    Raises:
      InputError: when the name is taken or not of the form `family/name`, or the entry is not an `Entry` that fits.
    """
    _check_name(registry, name)
    if not isinstance(entry, Entry):
        raise InputError(f"entry must be an Entry(cls, example, source), got {format_value(entry)}")
    if not isinstance(entry.cls, type) or not isinstance(entry.example, entry.cls):
        raise InputError(
            f"entry.cls must be a class and entry.example an instance of it, got {format_value(entry.cls)}"
        )
    if not isinstance(entry.source, str) or not isinstance(entry.environments, tuple):
        raise InputError("entry.source must be text and entry.environments a tuple of names")
    registry[name] = entry


def discover(registry: Registry, group: str) -> None:
    """Add the entry points of installed packages in a group, each an `Entry` called `family.name`.

    An entry point that cannot be loaded is left out with a warning: a broken package must not break this one.
    """
    for point in metadata.entry_points(group=group):
        try:
            register(registry, point.name.replace(".", "/", 1), point.load())
        except Exception as error:  # whatever another package's import raises
            owner = "" if point.dist is None else f" of {point.dist.name}"
            what = " ".join(str(error).split())[:200]
            warnings.warn(f"entry point {point.name}{owner} is left out: {type(error).__name__}: {what}", stacklevel=2)


def register_part(registry: dict[str, Any], name: str, part: Any) -> None:
    """Add a third party's class or function.

    Raises:
      InputError: when the name is taken or not of the form `family/name`, or the part is neither class nor function.
    """
    _check_name(registry, name)
    if not callable(part) or not hasattr(part, "__qualname__"):
        raise InputError(f"part must be a class or a function, got {format_value(part)}")
    registry[name] = part


def _check_name(registry: Container[str], name: Any) -> None:
    if not isinstance(name, str) or name.count("/") != 1 or not all(name.split("/")):
        raise InputError(f"name must have the form 'family/name', got {format_value(name)}")
    if name in registry:
        raise InputError(f"name {name!r} is registered already")
