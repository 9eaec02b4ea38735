"""Bandits whose arms are shared by several players, one per file; each is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.environments.teams.shared_arms import SharedArms as SharedArms

lazy.attach(__name__)
