"""Experiments on heavy-tailed linear bandits (Wang, Zhang, Zhao & Zhou, ICML 2025)."""

from jaxbandits.reproduction.engine.experiment import import_experiments
from jaxbandits.reproduction.experiments.linear.setting import TABLE

__all__ = ["EXPERIMENTS", "TABLE"]
EXPERIMENTS = import_experiments(
    __name__,
    "fig1 fig2 fig3 fig4 fig5 table1 drop truncation coverage coverage_rivals bound bound_only exponent "
    "sub_gaussian scale noiseless sensitivity heavy_oful mdp sysid",
)
