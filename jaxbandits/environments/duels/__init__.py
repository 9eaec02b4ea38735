"""Dueling bandits, one per file; each is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.environments.duels.dueling_arms import DuelingArms as DuelingArms

lazy.attach(__name__)
