"""Experiments on group DRO, written out by hand."""

from jaxbandits.reproduction.experiments.dro.bounds import BOUNDS
from jaxbandits.reproduction.experiments.dro.budgets import BUDGETS
from jaxbandits.reproduction.experiments.dro.fig1 import FIG1
from jaxbandits.reproduction.experiments.dro.fig2 import FIG2
from jaxbandits.reproduction.experiments.dro.fig3 import FIG3
from jaxbandits.reproduction.experiments.dro.fig4 import FIG4
from jaxbandits.reproduction.experiments.dro.fig5 import FIG5
from jaxbandits.reproduction.experiments.dro.fig6 import FIG6
from jaxbandits.reproduction.experiments.dro.fig7 import FIG7
from jaxbandits.reproduction.experiments.dro.fig8 import FIG8
from jaxbandits.reproduction.experiments.dro.players import PLAYERS_OF_EXAMPLE_1
from jaxbandits.reproduction.experiments.dro.rates import RATES
from jaxbandits.reproduction.experiments.dro.setting import TABLE

__all__ = ["EXPERIMENTS", "TABLE"]
EXPERIMENTS = (FIG1, FIG2, FIG3, FIG4, FIG5, FIG6, FIG7, FIG8, RATES, BOUNDS, PLAYERS_OF_EXAMPLE_1, BUDGETS)
