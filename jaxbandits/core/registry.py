"""One row of a registry of algorithms or environments."""

from typing import Any, NamedTuple


class Entry(NamedTuple):
    """What the tools know about a registered class.

    Attributes:
      cls: the class.
      example: a small concrete instance that the contract tests run.
      environments: for an algorithm, names of the environments whose examples fit `example`; empty for environments.
      source: paper or origin, one line.
    """

    cls: type
    example: Any
    source: str
    environments: tuple[str, ...] = ()


def add(registry: dict[str, Entry], name: str, entry: Entry) -> None:
    """Adds a third party's row.

    Raises:
      ValueError: when the name is taken or not of the form `family/name`.
    """
    if name in registry:
        raise ValueError(f"{name!r} is registered already")
    if name.count("/") != 1:
        raise ValueError(f"a registry name has the form 'family/name', got {name!r}")
    registry[name] = entry
