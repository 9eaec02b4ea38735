"""Group distributionally robust optimisation problems, one per file; each is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.environments.dro.example_groups import ExampleGroups as ExampleGroups
    from jaxbandits.environments.dro.group_data import GroupData as GroupData
    from jaxbandits.environments.dro.synthetic_groups import SyntheticGroups as SyntheticGroups

lazy.attach(__name__)
