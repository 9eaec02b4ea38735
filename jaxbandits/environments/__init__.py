"""The room of environments, one a file; `registry` has the table of all, which is loaded on first use.

Importing one environment imports that one, not all of them.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxbandits.environments.registry import ENVIRONMENTS as ENVIRONMENTS
    from jaxbandits.environments.registry import register_environment as register_environment


def __getattr__(name: str) -> Any:
    if name not in ("ENVIRONMENTS", "register_environment"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from jaxbandits.environments import registry

    return getattr(registry, name)
