"""Experiments on generalised linear bandits, written out by hand."""

from jaxbandits.experiments.glm.bound import BOUND
from jaxbandits.experiments.glm.coverage import COVERAGE
from jaxbandits.experiments.glm.coverage_links import COVERAGE_LINKS
from jaxbandits.experiments.glm.covertype import COVERTYPE
from jaxbandits.experiments.glm.fig1 import FIG1
from jaxbandits.experiments.glm.fig1_tv import FIG1_TV
from jaxbandits.experiments.glm.fig2 import FIG2
from jaxbandits.experiments.glm.fig3 import FIG3
from jaxbandits.experiments.glm.kappa import KAPPA
from jaxbandits.experiments.glm.kappa_star import KAPPA_STAR
from jaxbandits.experiments.glm.kappas import KAPPAS
from jaxbandits.experiments.glm.rates import RATES
from jaxbandits.experiments.glm.regions import REGIONS
from jaxbandits.experiments.glm.setting import TABLE

__all__ = ["EXPERIMENTS", "TABLE"]
EXPERIMENTS = (
    FIG1,
    FIG1_TV,
    FIG2,
    FIG3,
    COVERTYPE,
    COVERAGE,
    COVERAGE_LINKS,
    BOUND,
    KAPPA,
    KAPPA_STAR,
    KAPPAS,
    RATES,
    REGIONS,
)
