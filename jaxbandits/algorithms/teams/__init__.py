"""Algorithms for players who share arms, one per file; imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.algorithms.teams.mc_top_m import MCTopM as MCTopM
    from jaxbandits.algorithms.teams.rand_top_m import RandTopM as RandTopM
    from jaxbandits.algorithms.teams.rho_rand import RhoRand as RhoRand
    from jaxbandits.algorithms.teams.selfish import Selfish as Selfish

lazy.attach(__name__)
