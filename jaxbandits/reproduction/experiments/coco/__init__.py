"""Experiments on constrained online convex optimisation, written out by hand."""

from jaxbandits.reproduction.experiments.coco.bandit import BANDIT
from jaxbandits.reproduction.experiments.coco.certificates import CERTIFICATES
from jaxbandits.reproduction.experiments.coco.cost import COST
from jaxbandits.reproduction.experiments.coco.errata import ERRATA
from jaxbandits.reproduction.experiments.coco.fig1 import FIG1
from jaxbandits.reproduction.experiments.coco.fig2 import FIG2
from jaxbandits.reproduction.experiments.coco.rates import RATES
from jaxbandits.reproduction.experiments.coco.setting import TABLE
from jaxbandits.reproduction.experiments.coco.tradeoff import TRADEOFF

__all__ = ["EXPERIMENTS", "TABLE"]
EXPERIMENTS = (FIG1, FIG2, RATES, BANDIT, TRADEOFF, CERTIFICATES, ERRATA, COST)
