"""Registry of algorithms: every class that a family package lists, under `family/file`."""

from jaxbandits.base import registry
from jaxbandits.base.registry import Entry, Registry

ALGORITHMS = Registry(
    registry.places("jaxbandits.algorithms", ("armed", "explore", "contextual", "linear", "glm", "oco", "coco", "dro"))
)


def register_algorithm(name: str, entry: Entry) -> None:
    """Register your own algorithm under `family/name`, for every tool that goes through the registry.

    Raises:
      ValueError: when the name is taken or malformed.
    """
    registry.register(ALGORITHMS, name, entry)


registry.discover(ALGORITHMS, "jaxbandits.algorithms")  # last: an entry point may import this module
