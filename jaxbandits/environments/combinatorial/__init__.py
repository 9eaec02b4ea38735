"""Bandits that choose several items per round, one per file; each is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.environments.combinatorial.cascading_clicks import CascadingClicks as CascadingClicks
    from jaxbandits.environments.combinatorial.position_clicks import PositionClicks as PositionClicks
    from jaxbandits.environments.combinatorial.semi_bandit import SemiBandit as SemiBandit

lazy.attach(__name__)
