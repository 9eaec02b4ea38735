"""Lazy names of a package, which are imported on first access and declared in one place.

The declaration is the `if TYPE_CHECKING:` block that type checkers read, one line per name:

    if TYPE_CHECKING:
        from jaxbandits.algorithms.linear.oful import OFUL as OFUL

    lazy.attach(__name__)
"""

import ast
import functools
import importlib
import importlib.util
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any


@functools.cache
def declared_imports(package: str) -> Mapping[str, str]:
    """Return the imports in the `if TYPE_CHECKING:` block of a package that is already imported.

    Returns:
      Mapping from each name to its place, `module:name`, in the order of the block.
    """
    spec: Any = importlib.import_module(package).__spec__
    tree = ast.parse(spec.loader.get_source(package))
    blocks = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    imports = (node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom))
    return MappingProxyType(
        {alias.asname or alias.name: f"{node.module}:{alias.name}" for node in imports for alias in node.names}
    )


def exists(module: str) -> bool:
    """Return whether a module of this name exists; only its parent packages are imported."""
    return importlib.util.find_spec(module) is not None


def load(place: str) -> Any:
    """Return the object at a place `module:name`, as `from module import name` does."""
    module, _, name = place.partition(":")
    return getattr(importlib.__import__(module, fromlist=(name,)), name)


def attach(package: str, *eager: str) -> None:
    """Give a package `__getattr__`, `__dir__` and `__all__` for its declared names.

    Args:
      package: name of the package, whose module calls this function.
      eager: further public names, which the package defines when it is imported.
    """
    namespace, places = vars(sys.modules[package]), declared_imports(package)
    public = sorted({*places, *eager})

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, submodule = places[name].partition(":")
        value = importlib.import_module(f"{package}.{submodule}") if module == package else load(places[name])
        namespace[name] = value
        return value

    namespace |= {"__getattr__": get, "__dir__": lambda: public, "__all__": public}
