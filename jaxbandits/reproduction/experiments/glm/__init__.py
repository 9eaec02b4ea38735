"""Experiments on generalised linear bandits, written out by hand."""

from jaxbandits.reproduction.experiments.glm.bound import BOUND
from jaxbandits.reproduction.experiments.glm.coverage import COVERAGE
from jaxbandits.reproduction.experiments.glm.coverage_links import COVERAGE_LINKS
from jaxbandits.reproduction.experiments.glm.covertype import COVERTYPE
from jaxbandits.reproduction.experiments.glm.fig1 import FIG1
from jaxbandits.reproduction.experiments.glm.fig1_fixed import FIG1_FIXED
from jaxbandits.reproduction.experiments.glm.fig1_tv import FIG1_TV
from jaxbandits.reproduction.experiments.glm.fig2 import FIG2
from jaxbandits.reproduction.experiments.glm.fig2_fixed import FIG2_FIXED
from jaxbandits.reproduction.experiments.glm.fig3 import FIG3
from jaxbandits.reproduction.experiments.glm.kappa import KAPPA
from jaxbandits.reproduction.experiments.glm.kappa_star import KAPPA_STAR
from jaxbandits.reproduction.experiments.glm.kappas import KAPPAS
from jaxbandits.reproduction.experiments.glm.rates import RATES
from jaxbandits.reproduction.experiments.glm.regions import REGIONS
from jaxbandits.reproduction.experiments.glm.setting import TABLE

__all__ = ["EXPERIMENTS", "TABLE"]
EXPERIMENTS = (
    FIG1,
    FIG1_TV,
    FIG1_FIXED,
    FIG2,
    FIG2_FIXED,
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
