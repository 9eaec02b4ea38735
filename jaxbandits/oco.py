"""Online convex optimisation: algorithms, environments, sequences and data, under one name."""

from jaxbandits.algorithms.oco.adagrad_norm import AdaGradNorm
from jaxbandits.algorithms.oco.anytime_ca_oons import AnytimeCAOONS
from jaxbandits.algorithms.oco.ca_oons import CAOONS
from jaxbandits.algorithms.oco.cla_oons import CLAOONS
from jaxbandits.algorithms.oco.clipped_parameter_free_md import ClippedParameterFreeMD
from jaxbandits.algorithms.oco.dog import DoG
from jaxbandits.algorithms.oco.dowg import DoWG
from jaxbandits.algorithms.oco.kt_betting import KTBetting
from jaxbandits.algorithms.oco.msmwc import MsMwC
from jaxbandits.algorithms.oco.msmwc_master import MsMwCMaster
from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.algorithms.oco.oons import OONS
from jaxbandits.algorithms.oco.optax_learner import OptaxLearner
from jaxbandits.algorithms.oco.optimistic_ftrl_2022 import OptimisticFTRL2022
from jaxbandits.algorithms.oco.optimistic_ftrl_2023 import OptimisticFTRL2023
from jaxbandits.algorithms.oco.optimistic_omd import OptimisticOMD
from jaxbandits.algorithms.oco.parameter_free_md import ParameterFreeMD
from jaxbandits.algorithms.oco.scale_free_ftrl import ScaleFreeFTRL
from jaxbandits.environments.datasets.streams import load_csv, load_libsvm
from jaxbandits.environments.oco.cell_noise import CellNoise
from jaxbandits.environments.oco.data_stream import DataStream
from jaxbandits.environments.oco.linear_losses import LinearLosses
from jaxbandits.environments.oco.logistic_losses import LogisticLosses
from jaxbandits.environments.oco.pseudo_huber_losses import PseudoHuberLosses
from jaxbandits.environments.oco.quadratic_losses import QuadraticLosses
from jaxbandits.environments.oco.random_order import RandomOrder
from jaxbandits.environments.oco.sequences import Alternating, Constant, Corrupted, Drift, Piecewise

__all__ = [
    "CAOONS",
    "CLAOONS",
    "OGD",
    "OONS",
    "AdaGradNorm",
    "Alternating",
    "AnytimeCAOONS",
    "CellNoise",
    "ClippedParameterFreeMD",
    "Constant",
    "Corrupted",
    "DataStream",
    "DoG",
    "DoWG",
    "Drift",
    "KTBetting",
    "LinearLosses",
    "LogisticLosses",
    "MsMwC",
    "MsMwCMaster",
    "OptaxLearner",
    "OptimisticFTRL2022",
    "OptimisticFTRL2023",
    "OptimisticOMD",
    "ParameterFreeMD",
    "Piecewise",
    "PseudoHuberLosses",
    "QuadraticLosses",
    "RandomOrder",
    "ScaleFreeFTRL",
    "load_csv",
    "load_libsvm",
]
