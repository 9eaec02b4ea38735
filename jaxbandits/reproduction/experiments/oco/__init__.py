"""Experiments on unconstrained online convex optimisation and on the SEA model (Wang et al., NeurIPS 2025)."""

from jaxbandits.reproduction.engine.experiment import import_experiments
from jaxbandits.reproduction.experiments.oco.setting import TABLE

__all__ = ["EXPERIMENTS", "TABLE"]
EXPERIMENTS = import_experiments(
    __name__,
    "e1 e2 e3 e4 e5 e6 variation curved origin bounded anytime restarts dimension constants constants_ca bound "
    "terms growth certificates cost",
)
