"""Experiments on group distributionally robust optimisation (Zhang, Bai, Zhao, Yang & Zhou, JMLR)."""

from jaxbandits.reproduction.engine.experiment import import_experiments
from jaxbandits.reproduction.experiments.dro.setting import TABLE

__all__ = ["EXPERIMENTS", "TABLE"]
EXPERIMENTS = import_experiments(
    __name__,
    "fig1 fig2 fig3 fig4 fig5 fig6 fig7 fig8 rates bounds players budgets",
)
