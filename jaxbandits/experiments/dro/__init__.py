"""Experiments on group DRO, written out by hand."""

from jaxbandits.experiments.dro.bounds import BOUNDS
from jaxbandits.experiments.dro.budgets import BUDGETS
from jaxbandits.experiments.dro.fig1 import FIG1
from jaxbandits.experiments.dro.fig2 import FIG2
from jaxbandits.experiments.dro.fig3 import FIG3
from jaxbandits.experiments.dro.fig4 import FIG4
from jaxbandits.experiments.dro.fig5 import FIG5
from jaxbandits.experiments.dro.fig6 import FIG6
from jaxbandits.experiments.dro.fig7 import FIG7
from jaxbandits.experiments.dro.fig8 import FIG8
from jaxbandits.experiments.dro.players import PLAYERS_OF_EXAMPLE_1
from jaxbandits.experiments.dro.rates import RATES
from jaxbandits.experiments.dro.setting import TABLE

__all__ = ["EXPERIMENTS", "TABLE"]
EXPERIMENTS = (FIG1, FIG2, FIG3, FIG4, FIG5, FIG6, FIG7, FIG8, RATES, BOUNDS, PLAYERS_OF_EXAMPLE_1, BUDGETS)
