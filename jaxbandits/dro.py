"""Group distributionally robust optimisation: algorithms and environments, under one name."""

from jaxbandits.algorithms.dro.online import Online
from jaxbandits.algorithms.dro.smd import SMD
from jaxbandits.environments.dro.synthetic_groups import SyntheticGroups

__all__ = ["SMD", "Online", "SyntheticGroups"]
