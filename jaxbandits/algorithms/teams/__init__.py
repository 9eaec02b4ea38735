"""Algorithms for several players who share the arms, one per file; a class is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.algorithms.teams.mc_top_m import MCTopM as MCTopM
    from jaxbandits.algorithms.teams.multiple_play import MultiplePlay as MultiplePlay
    from jaxbandits.algorithms.teams.musical_chairs import MusicalChairs as MusicalChairs
    from jaxbandits.algorithms.teams.rand_top_m import RandTopM as RandTopM
    from jaxbandits.algorithms.teams.rho_rand import RhoRand as RhoRand
    from jaxbandits.algorithms.teams.selfish import Selfish as Selfish
    from jaxbandits.algorithms.teams.sic_mmab import SICMMAB as SICMMAB

lazy.attach(__name__)
