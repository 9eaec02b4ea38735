"""Environments, one a file; `registry` has the table of all. Importing one environment imports no other."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.environments.registry import ENVIRONMENTS as ENVIRONMENTS
    from jaxbandits.environments.registry import register_environment as register_environment

lazy.attach(__name__)
