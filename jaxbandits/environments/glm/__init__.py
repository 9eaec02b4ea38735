"""Generalised linear bandits, one per file; each is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.environments.glm.covertype import Covertype as Covertype
    from jaxbandits.environments.glm.generalized_linear import GeneralizedLinear as GeneralizedLinear

lazy.attach(__name__)
