"""Experiments of the papers on classical bandits, written out by hand."""

from jaxbandits.reproduction.experiments.classics.bietti_wins import BIETTI_WINS
from jaxbandits.reproduction.experiments.classics.chapelle_fig1 import CHAPELLE_FIG1
from jaxbandits.reproduction.experiments.classics.chapelle_table1 import CHAPELLE_TABLE1
from jaxbandits.reproduction.experiments.classics.etc_fig6_1 import ETC_FIG6_1
from jaxbandits.reproduction.experiments.classics.garivier_table1 import GARIVIER_TABLE1
from jaxbandits.reproduction.experiments.classics.kl_fig1 import KL_FIG1
from jaxbandits.reproduction.experiments.classics.kl_fig2 import KL_FIG2
from jaxbandits.reproduction.experiments.classics.russac_fig1 import RUSSAC_FIG1
from jaxbandits.reproduction.experiments.classics.russac_fig2 import RUSSAC_FIG2
from jaxbandits.reproduction.experiments.classics.tsallis_fig3 import TSALLIS_FIG3
from jaxbandits.reproduction.experiments.classics.ucb_fig7_1 import UCB_FIG7_1

__all__ = ["EXPERIMENTS"]
_STOCHASTIC = (KL_FIG1, KL_FIG2, CHAPELLE_FIG1, CHAPELLE_TABLE1, ETC_FIG6_1, UCB_FIG7_1)
EXPERIMENTS = (*_STOCHASTIC, TSALLIS_FIG3, GARIVIER_TABLE1, RUSSAC_FIG1, RUSSAC_FIG2, BIETTI_WINS)
