"""Bandits with a context that all arms share, one per file, imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.environments.contextual.linear_contexts import LinearContexts as LinearContexts

lazy.attach(__name__)
