"""Experiments on constrained online convex optimisation, written out by hand."""

from jaxbandits.experiments.coco.bandit import BANDIT
from jaxbandits.experiments.coco.certificates import CERTIFICATES
from jaxbandits.experiments.coco.cost import COST
from jaxbandits.experiments.coco.errata import ERRATA
from jaxbandits.experiments.coco.fig1 import FIG1
from jaxbandits.experiments.coco.fig2 import FIG2
from jaxbandits.experiments.coco.rates import RATES
from jaxbandits.experiments.coco.setting import TABLE
from jaxbandits.experiments.coco.tradeoff import TRADEOFF

__all__ = ["EXPERIMENTS", "TABLE"]
EXPERIMENTS = (FIG1, FIG2, RATES, BANDIT, TRADEOFF, CERTIFICATES, ERRATA, COST)
