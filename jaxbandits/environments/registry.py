"""Registry of environments: every class that a family package lists, under `family/file`."""

from jaxbandits.base import registry
from jaxbandits.base.registry import Entry, Registry

FAMILIES = ("armed", "contextual", "linear", "glm", "oco", "coco", "dro", "data", "operators")
ENVIRONMENTS = Registry(registry.places("jaxbandits.environments", FAMILIES))


def register_environment(name: str, entry: Entry) -> None:
    """Register your own environment under `family/name`.

    Raises:
      ValueError: when the name is taken or malformed.
    """
    registry.register(ENVIRONMENTS, name, entry)


registry.discover(ENVIRONMENTS, "jaxbandits.environments")  # last: an entry point may import this module
