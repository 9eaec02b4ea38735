"""Environments, one per file, listed in `jaxbandits.catalogue`; each environment is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.catalogue import ENVIRONMENTS as ENVIRONMENTS
    from jaxbandits.catalogue import register_environment as register_environment

lazy.attach(__name__)
