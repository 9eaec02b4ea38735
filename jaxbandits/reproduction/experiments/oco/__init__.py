"""Experiments on unconstrained and SEA online convex optimisation, written out by hand."""

from jaxbandits.reproduction.experiments.oco.anytime import ANYTIME
from jaxbandits.reproduction.experiments.oco.bound import BOUND
from jaxbandits.reproduction.experiments.oco.bounded import BOUNDED
from jaxbandits.reproduction.experiments.oco.certificates import CERTIFICATES
from jaxbandits.reproduction.experiments.oco.constants import CONSTANTS
from jaxbandits.reproduction.experiments.oco.constants_ca import CONSTANTS_CA
from jaxbandits.reproduction.experiments.oco.cost import COST
from jaxbandits.reproduction.experiments.oco.curved import CURVED
from jaxbandits.reproduction.experiments.oco.dimension import DIMENSION
from jaxbandits.reproduction.experiments.oco.e1 import E1
from jaxbandits.reproduction.experiments.oco.e2 import E2
from jaxbandits.reproduction.experiments.oco.e3 import E3
from jaxbandits.reproduction.experiments.oco.e4 import E4
from jaxbandits.reproduction.experiments.oco.e5 import E5
from jaxbandits.reproduction.experiments.oco.e6 import E6
from jaxbandits.reproduction.experiments.oco.growth import GROWTH
from jaxbandits.reproduction.experiments.oco.origin import ORIGIN
from jaxbandits.reproduction.experiments.oco.restarts import RESTARTS
from jaxbandits.reproduction.experiments.oco.setting import TABLE
from jaxbandits.reproduction.experiments.oco.terms import TERMS
from jaxbandits.reproduction.experiments.oco.variation import VARIATION

__all__ = ["EXPERIMENTS", "TABLE"]
_REGRET = (E1, E2, E3, E4, E5, E6, VARIATION, CURVED, ORIGIN, BOUNDED, ANYTIME, RESTARTS, DIMENSION)
_THEOREMS = (BOUND, TERMS, GROWTH, CERTIFICATES)
EXPERIMENTS = (*_REGRET, CONSTANTS, CONSTANTS_CA, *_THEOREMS, COST)
