"""Bandits from data, one per file; each is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.environments.data.logged_replay import LoggedReplay as LoggedReplay
    from jaxbandits.environments.data.mushroom_bandit import MushroomBandit as MushroomBandit
    from jaxbandits.environments.data.recorded_trace import RecordedTrace as RecordedTrace
    from jaxbandits.environments.data.table_bandit import TableBandit as TableBandit

lazy.attach(__name__)
