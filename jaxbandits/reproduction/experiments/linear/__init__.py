"""Experiments on heavy-tailed linear bandits, written out by hand."""

from jaxbandits.reproduction.experiments.linear.bound import BOUND
from jaxbandits.reproduction.experiments.linear.bound_only import BOUND_ONLY
from jaxbandits.reproduction.experiments.linear.coverage import COVERAGE
from jaxbandits.reproduction.experiments.linear.coverage_rivals import COVERAGE_RIVALS
from jaxbandits.reproduction.experiments.linear.drop import DROP
from jaxbandits.reproduction.experiments.linear.exponent import EXPONENT
from jaxbandits.reproduction.experiments.linear.fig1 import FIG1
from jaxbandits.reproduction.experiments.linear.fig2 import FIG2
from jaxbandits.reproduction.experiments.linear.fig3 import FIG3
from jaxbandits.reproduction.experiments.linear.fig4 import FIG4
from jaxbandits.reproduction.experiments.linear.fig5 import FIG5
from jaxbandits.reproduction.experiments.linear.heavy_oful import HEAVY_OFUL
from jaxbandits.reproduction.experiments.linear.mdp import MDP
from jaxbandits.reproduction.experiments.linear.noiseless import NOISELESS
from jaxbandits.reproduction.experiments.linear.scale import SCALE
from jaxbandits.reproduction.experiments.linear.sensitivity import SENSITIVITY
from jaxbandits.reproduction.experiments.linear.setting import TABLE
from jaxbandits.reproduction.experiments.linear.sub_gaussian import SUB_GAUSSIAN
from jaxbandits.reproduction.experiments.linear.sysid import SYSID
from jaxbandits.reproduction.experiments.linear.table1 import TABLE1
from jaxbandits.reproduction.experiments.linear.truncation import TRUNCATION

__all__ = ["EXPERIMENTS", "TABLE"]
_FIGURES = (FIG1, FIG2, FIG3, FIG4, FIG5, TABLE1, DROP, TRUNCATION)
_THEOREMS = (COVERAGE, COVERAGE_RIVALS, BOUND, BOUND_ONLY, EXPONENT, SUB_GAUSSIAN)
EXPERIMENTS = (*_FIGURES, *_THEOREMS, SCALE, NOISELESS, SENSITIVITY, HEAVY_OFUL, MDP, SYSID)
