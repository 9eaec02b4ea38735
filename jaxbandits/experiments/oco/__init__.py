"""Experiments on unconstrained and SEA online convex optimisation, written out by hand."""

from jaxbandits.experiments.oco.anytime import ANYTIME
from jaxbandits.experiments.oco.bound import BOUND
from jaxbandits.experiments.oco.bounded import BOUNDED
from jaxbandits.experiments.oco.certificates import CERTIFICATES
from jaxbandits.experiments.oco.constants import CONSTANTS
from jaxbandits.experiments.oco.constants_ca import CONSTANTS_CA
from jaxbandits.experiments.oco.cost import COST
from jaxbandits.experiments.oco.curved import CURVED
from jaxbandits.experiments.oco.dimension import DIMENSION
from jaxbandits.experiments.oco.e1 import E1
from jaxbandits.experiments.oco.e2 import E2
from jaxbandits.experiments.oco.e3 import E3
from jaxbandits.experiments.oco.e4 import E4
from jaxbandits.experiments.oco.e5 import E5
from jaxbandits.experiments.oco.e6 import E6
from jaxbandits.experiments.oco.growth import GROWTH
from jaxbandits.experiments.oco.origin import ORIGIN
from jaxbandits.experiments.oco.restarts import RESTARTS
from jaxbandits.experiments.oco.setting import TABLE
from jaxbandits.experiments.oco.terms import TERMS
from jaxbandits.experiments.oco.variation import VARIATION

__all__ = ["EXPERIMENTS", "TABLE"]
_REGRET = (E1, E2, E3, E4, E5, E6, VARIATION, CURVED, ORIGIN, BOUNDED, ANYTIME, RESTARTS, DIMENSION)
_THEOREMS = (BOUND, TERMS, GROWTH, CERTIFICATES)
EXPERIMENTS = (*_REGRET, CONSTANTS, CONSTANTS_CA, *_THEOREMS, COST)
