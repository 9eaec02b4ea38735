"""The room of algorithms, one a file; `registry` has the table of all, which is loaded on first use.

Importing one algorithm imports that one, not all of them.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxbandits.algorithms.registry import ALGORITHMS as ALGORITHMS
    from jaxbandits.algorithms.registry import register_algorithm as register_algorithm


def __getattr__(name: str) -> Any:
    if name not in ("ALGORITHMS", "register_algorithm"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from jaxbandits.algorithms import registry

    return getattr(registry, name)
