"""Experiments on generalised linear bandits (Zhang, Xu, Zhao & Sugiyama, NeurIPS 2025)."""

from jaxbandits.reproduction.engine.experiment import import_experiments
from jaxbandits.reproduction.experiments.glm.setting import TABLE

__all__ = ["EXPERIMENTS", "TABLE"]
EXPERIMENTS = import_experiments(
    __name__,
    "fig1 fig1_tv fig1_fixed fig2 fig2_fixed fig3 covertype coverage coverage_links bound kappa kappa_star kappas "
    "rates regions",
)
