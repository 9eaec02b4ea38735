"""The versions that a run depends on, for manifests and checkpoints."""

import functools
import platform
from importlib import metadata


@functools.cache
def versions() -> dict[str, str]:
    """Python and the packages whose version can change numbers."""
    found = {"python": platform.python_version()}
    for package in ("jaxbandits", "jax", "jaxlib", "numpy"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found
