"""Versions of the packages that a run depends on, for manifests and checkpoints."""

import functools
import platform
from importlib import metadata

from jaxbandits.base.version import __version__

ENTRY_POINTS = ("jaxbandits.algorithms", "jaxbandits.environments")  # groups by which a package adds to the catalogue


@functools.cache
def versions() -> dict[str, str]:
    """Return a dict of the versions of Python and of all packages, including plugins, that can change numbers."""
    found = {"python": platform.python_version(), "jaxbandits": __version__}
    for package in ("jax", "jaxlib", "numpy", "scipy", "optax"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    for group in ENTRY_POINTS:
        for point in metadata.entry_points(group=group):
            if point.dist is not None:
                found[point.dist.name] = point.dist.version
    return found
