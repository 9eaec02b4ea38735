"""The versions that a run depends on, for manifests and checkpoints."""

import functools
import platform
from importlib import metadata

from jaxbandits import __version__


@functools.cache
def versions() -> dict[str, str]:
    """Python and the packages whose version can change numbers."""
    found = {"python": platform.python_version(), "jaxbandits": __version__}
    for package in ("jax", "jaxlib", "numpy"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found
