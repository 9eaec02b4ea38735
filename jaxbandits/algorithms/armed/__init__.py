"""Algorithms for bandits with K arms and no features, one per file; a class is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.algorithms.armed.ao_ucb import AOUCB as AOUCB
    from jaxbandits.algorithms.armed.bayes_ucb import BayesUCB as BayesUCB
    from jaxbandits.algorithms.armed.catoni_ucb import CatoniUCB as CatoniUCB
    from jaxbandits.algorithms.armed.chernoff_ucb import ChernoffUCB as ChernoffUCB
    from jaxbandits.algorithms.armed.d_kl_ucb import DKLUCB as DKLUCB
    from jaxbandits.algorithms.armed.d_ucb import DUCB as DUCB
    from jaxbandits.algorithms.armed.discounted_ts import DiscountedTS as DiscountedTS
    from jaxbandits.algorithms.armed.eps_greedy import EpsGreedy as EpsGreedy
    from jaxbandits.algorithms.armed.etc import ETC as ETC
    from jaxbandits.algorithms.armed.exp3 import Exp3 as Exp3
    from jaxbandits.algorithms.armed.exp3_ix import Exp3IX as Exp3IX
    from jaxbandits.algorithms.armed.exp3_s import Exp3S as Exp3S
    from jaxbandits.algorithms.armed.exp4 import Exp4 as Exp4
    from jaxbandits.algorithms.armed.ids import IDS as IDS
    from jaxbandits.algorithms.armed.kl_ucb import KLUCB as KLUCB
    from jaxbandits.algorithms.armed.knowledge_gradient import KnowledgeGradient as KnowledgeGradient
    from jaxbandits.algorithms.armed.median_of_means_ucb import MedianOfMeansUCB as MedianOfMeansUCB
    from jaxbandits.algorithms.armed.moss import MOSS as MOSS
    from jaxbandits.algorithms.armed.optimistic_gittins import OptimisticGittins as OptimisticGittins
    from jaxbandits.algorithms.armed.per_item import PerItem as PerItem
    from jaxbandits.algorithms.armed.restarting import Restarting as Restarting
    from jaxbandits.algorithms.armed.rexp3 import REXP3 as REXP3
    from jaxbandits.algorithms.armed.robust_ucb import RobustUCB as RobustUCB
    from jaxbandits.algorithms.armed.sw_kl_ucb import SWKLUCB as SWKLUCB
    from jaxbandits.algorithms.armed.sw_ucb import SWUCB as SWUCB
    from jaxbandits.algorithms.armed.thompson_beta import ThompsonBeta as ThompsonBeta
    from jaxbandits.algorithms.armed.thompson_gaussian import ThompsonGaussian as ThompsonGaussian
    from jaxbandits.algorithms.armed.tsallis_inf import TsallisINF as TsallisINF
    from jaxbandits.algorithms.armed.ucb1 import UCB1 as UCB1
    from jaxbandits.algorithms.armed.ucb_delta import UCBDelta as UCBDelta
    from jaxbandits.algorithms.armed.ucb_tuned import UCBTuned as UCBTuned
    from jaxbandits.algorithms.armed.ucb_v import UCBV as UCBV
    from jaxbandits.algorithms.armed.vids import VIDS as VIDS

lazy.attach(__name__)
