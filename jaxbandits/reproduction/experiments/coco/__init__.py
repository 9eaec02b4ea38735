"""Experiments on online convex optimisation with constraints (Wang, Wan & Zhang, AAAI 2025)."""

from jaxbandits.reproduction.engine.experiment import import_experiments
from jaxbandits.reproduction.experiments.coco.setting import TABLE

__all__ = ["EXPERIMENTS", "TABLE"]
EXPERIMENTS = import_experiments(
    __name__,
    "fig1 fig2 rates bandit tradeoff certificates errata cost",
)
