"""jaxbandits: a vectorised simulator of bandit and online-learning algorithms.

Names are loaded on first use, so that `jaxbandits --help` answers without importing JAX.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxbandits.algorithms import ALGORITHMS as ALGORITHMS
    from jaxbandits.algorithms import register_algorithm as register_algorithm
    from jaxbandits.algorithms.coco.ofw_tvc import OFWTVC as OFWTVC
    from jaxbandits.algorithms.dro.online import Online as Online
    from jaxbandits.algorithms.dro.smd import SMD as SMD
    from jaxbandits.algorithms.glm.ada_ofu_ecolog import AdaOFUECOLog as AdaOFUECOLog
    from jaxbandits.algorithms.glm.ecolog import ECOLog as ECOLog
    from jaxbandits.algorithms.glm.glb_omd import GLBOMD as GLBOMD
    from jaxbandits.algorithms.glm.glm_ucb import GLMUCB as GLMUCB
    from jaxbandits.algorithms.glm.gloc import GLOC as GLOC
    from jaxbandits.algorithms.glm.ofuglb import OFUGLB as OFUGLB
    from jaxbandits.algorithms.glm.oful_mlogb import OFULMLogB as OFULMLogB
    from jaxbandits.algorithms.glm.ofulog_r import OFULogR as OFULogR
    from jaxbandits.algorithms.glm.rs_glincb import RSGLinCB as RSGLinCB
    from jaxbandits.algorithms.linear.crmm import CRMM as CRMM
    from jaxbandits.algorithms.linear.crtm import CRTM as CRTM
    from jaxbandits.algorithms.linear.heavy_oful import HeavyOFUL as HeavyOFUL
    from jaxbandits.algorithms.linear.hvt_estimator import HvtEstimator as HvtEstimator
    from jaxbandits.algorithms.linear.hvt_identification import HvtIdentification as HvtIdentification
    from jaxbandits.algorithms.linear.hvt_mdp import HvtMDP as HvtMDP
    from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB as HvtUCB
    from jaxbandits.algorithms.linear.menu import MENU as MENU
    from jaxbandits.algorithms.linear.oful import OFUL as OFUL
    from jaxbandits.algorithms.linear.oful_mdp import OFULMDP as OFULMDP
    from jaxbandits.algorithms.linear.recursive_least_squares import RecursiveLeastSquares as RecursiveLeastSquares
    from jaxbandits.algorithms.linear.tofu import TOFU as TOFU
    from jaxbandits.algorithms.linear.uniform import Uniform as Uniform
    from jaxbandits.algorithms.oco.adagrad_norm import AdaGradNorm as AdaGradNorm
    from jaxbandits.algorithms.oco.anytime_ca_oons import AnytimeCAOONS as AnytimeCAOONS
    from jaxbandits.algorithms.oco.ca_oons import CAOONS as CAOONS
    from jaxbandits.algorithms.oco.cla_oons import CLAOONS as CLAOONS
    from jaxbandits.algorithms.oco.clipped_parameter_free_md import ClippedParameterFreeMD as ClippedParameterFreeMD
    from jaxbandits.algorithms.oco.dog import DoG as DoG
    from jaxbandits.algorithms.oco.dowg import DoWG as DoWG
    from jaxbandits.algorithms.oco.kt_betting import KTBetting as KTBetting
    from jaxbandits.algorithms.oco.msmwc import MsMwC as MsMwC
    from jaxbandits.algorithms.oco.msmwc_master import MsMwCMaster as MsMwCMaster
    from jaxbandits.algorithms.oco.ogd import OGD as OGD
    from jaxbandits.algorithms.oco.oons import OONS as OONS
    from jaxbandits.algorithms.oco.optax_learner import OptaxLearner as OptaxLearner
    from jaxbandits.algorithms.oco.optimistic_ftrl_2022 import OptimisticFTRL2022 as OptimisticFTRL2022
    from jaxbandits.algorithms.oco.optimistic_ftrl_2023 import OptimisticFTRL2023 as OptimisticFTRL2023
    from jaxbandits.algorithms.oco.optimistic_omd import OptimisticOMD as OptimisticOMD
    from jaxbandits.algorithms.oco.parameter_free_md import ParameterFreeMD as ParameterFreeMD
    from jaxbandits.algorithms.oco.scale_free_ftrl import ScaleFreeFTRL as ScaleFreeFTRL
    from jaxbandits.core import linalg as linalg
    from jaxbandits.core.errors import InputError as InputError
    from jaxbandits.core.pytree import param as param
    from jaxbandits.core.pytree import pytree as pytree
    from jaxbandits.core.pytree import static as static
    from jaxbandits.core.registry import Entry as Entry
    from jaxbandits.domains.ball import L2Ball as L2Ball
    from jaxbandits.domains.nuclear import NuclearBall as NuclearBall
    from jaxbandits.environments import ENVIRONMENTS as ENVIRONMENTS
    from jaxbandits.environments import register_environment as register_environment
    from jaxbandits.environments.coco.linear_constraints import LinearConstraints as LinearConstraints
    from jaxbandits.environments.datasets.covertype import load_covertype as load_covertype
    from jaxbandits.environments.datasets.streams import load_csv as load_csv
    from jaxbandits.environments.datasets.streams import load_libsvm as load_libsvm
    from jaxbandits.environments.dro.synthetic_groups import SyntheticGroups as SyntheticGroups
    from jaxbandits.environments.glm.covertype import Covertype as Covertype
    from jaxbandits.environments.glm.generalized_linear import GeneralizedLinear as GeneralizedLinear
    from jaxbandits.environments.linear import noise as noise
    from jaxbandits.environments.linear.heavy_tailed import HeavyTailed as HeavyTailed
    from jaxbandits.environments.linear.linear_mdp import LinearMDP as LinearMDP
    from jaxbandits.environments.linear.linear_system import LinearSystem as LinearSystem
    from jaxbandits.environments.oco.cell_noise import CellNoise as CellNoise
    from jaxbandits.environments.oco.data_stream import DataStream as DataStream
    from jaxbandits.environments.oco.linear_losses import LinearLosses as LinearLosses
    from jaxbandits.environments.oco.logistic_losses import LogisticLosses as LogisticLosses
    from jaxbandits.environments.oco.pseudo_huber_losses import PseudoHuberLosses as PseudoHuberLosses
    from jaxbandits.environments.oco.quadratic_losses import QuadraticLosses as QuadraticLosses
    from jaxbandits.environments.oco.random_order import RandomOrder as RandomOrder
    from jaxbandits.environments.oco.sequences import Alternating as Alternating
    from jaxbandits.environments.oco.sequences import Corrupted as Corrupted
    from jaxbandits.environments.oco.sequences import Drift as Drift
    from jaxbandits.environments.oco.sequences import Piecewise as Piecewise
    from jaxbandits.estimation import links as links
    from jaxbandits.estimation.arms import best_arm as best_arm
    from jaxbandits.simulation import Meter as Meter
    from jaxbandits.simulation import Result as Result
    from jaxbandits.simulation import Round as Round
    from jaxbandits.simulation import compare as compare
    from jaxbandits.simulation import simulate as simulate
    from jaxbandits.simulation import sweep as sweep
    from jaxbandits.simulation import time_rounds as time_rounds
    from jaxbandits.testing import check_algorithm as check_algorithm
    from jaxbandits.testing import check_environment as check_environment
    from jaxbandits.types import ArmDecision as ArmDecision
    from jaxbandits.types import ArmObs as ArmObs
    from jaxbandits.types import Constrained as Constrained
    from jaxbandits.types import Gradient as Gradient
    from jaxbandits.types import GroupDecision as GroupDecision
    from jaxbandits.types import HintObs as HintObs
    from jaxbandits.types import PointDecision as PointDecision
    from jaxbandits.types import Reward as Reward
    from jaxbandits.types import ScaledReward as ScaledReward
    from jaxbandits.types import Value as Value

_MODULES = {
    "AdaOFUECOLog": "jaxbandits.algorithms.glm.ada_ofu_ecolog",
    "ECOLog": "jaxbandits.algorithms.glm.ecolog",
    "GLOC": "jaxbandits.algorithms.glm.gloc",
    "OFULMLogB": "jaxbandits.algorithms.glm.oful_mlogb",
    "GLMUCB": "jaxbandits.algorithms.glm.glm_ucb",
    "OFUGLB": "jaxbandits.algorithms.glm.ofuglb",
    "OFULogR": "jaxbandits.algorithms.glm.ofulog_r",
    "RSGLinCB": "jaxbandits.algorithms.glm.rs_glincb",
    "HvtIdentification": "jaxbandits.algorithms.linear.hvt_identification",
    "HvtMDP": "jaxbandits.algorithms.linear.hvt_mdp",
    "OFULMDP": "jaxbandits.algorithms.linear.oful_mdp",
    "RecursiveLeastSquares": "jaxbandits.algorithms.linear.recursive_least_squares",
    "AdaGradNorm": "jaxbandits.algorithms.oco.adagrad_norm",
    "AnytimeCAOONS": "jaxbandits.algorithms.oco.anytime_ca_oons",
    "CAOONS": "jaxbandits.algorithms.oco.ca_oons",
    "CLAOONS": "jaxbandits.algorithms.oco.cla_oons",
    "ClippedParameterFreeMD": "jaxbandits.algorithms.oco.clipped_parameter_free_md",
    "DoG": "jaxbandits.algorithms.oco.dog",
    "DoWG": "jaxbandits.algorithms.oco.dowg",
    "KTBetting": "jaxbandits.algorithms.oco.kt_betting",
    "MsMwC": "jaxbandits.algorithms.oco.msmwc",
    "MsMwCMaster": "jaxbandits.algorithms.oco.msmwc_master",
    "OptaxLearner": "jaxbandits.algorithms.oco.optax_learner",
    "OptimisticFTRL2022": "jaxbandits.algorithms.oco.optimistic_ftrl_2022",
    "OptimisticFTRL2023": "jaxbandits.algorithms.oco.optimistic_ftrl_2023",
    "OptimisticOMD": "jaxbandits.algorithms.oco.optimistic_omd",
    "ParameterFreeMD": "jaxbandits.algorithms.oco.parameter_free_md",
    "ScaleFreeFTRL": "jaxbandits.algorithms.oco.scale_free_ftrl",
    "Covertype": "jaxbandits.environments.glm.covertype",
    "LinearMDP": "jaxbandits.environments.linear.linear_mdp",
    "LinearSystem": "jaxbandits.environments.linear.linear_system",
    "CellNoise": "jaxbandits.environments.oco.cell_noise",
    "DataStream": "jaxbandits.environments.oco.data_stream",
    "LogisticLosses": "jaxbandits.environments.oco.logistic_losses",
    "PseudoHuberLosses": "jaxbandits.environments.oco.pseudo_huber_losses",
    "QuadraticLosses": "jaxbandits.environments.oco.quadratic_losses",
    "RandomOrder": "jaxbandits.environments.oco.random_order",
    "Alternating": "jaxbandits.environments.oco.sequences",
    "Corrupted": "jaxbandits.environments.oco.sequences",
    "Drift": "jaxbandits.environments.oco.sequences",
    "Piecewise": "jaxbandits.environments.oco.sequences",
    "load_csv": "jaxbandits.environments.datasets.streams",
    "load_libsvm": "jaxbandits.environments.datasets.streams",
    "load_covertype": "jaxbandits.environments.datasets.covertype",
    "time_rounds": "jaxbandits.simulation",
    "ALGORITHMS": "jaxbandits.algorithms",
    "register_algorithm": "jaxbandits.algorithms",
    "OFWTVC": "jaxbandits.algorithms.coco.ofw_tvc",
    "Online": "jaxbandits.algorithms.dro.online",
    "SMD": "jaxbandits.algorithms.dro.smd",
    "GLBOMD": "jaxbandits.algorithms.glm.glb_omd",
    "HvtEstimator": "jaxbandits.algorithms.linear.hvt_estimator",
    "CRMM": "jaxbandits.algorithms.linear.crmm",
    "CRTM": "jaxbandits.algorithms.linear.crtm",
    "HeavyOFUL": "jaxbandits.algorithms.linear.heavy_oful",
    "MENU": "jaxbandits.algorithms.linear.menu",
    "TOFU": "jaxbandits.algorithms.linear.tofu",
    "HvtUCB": "jaxbandits.algorithms.linear.hvt_ucb",
    "OFUL": "jaxbandits.algorithms.linear.oful",
    "Uniform": "jaxbandits.algorithms.linear.uniform",
    "OGD": "jaxbandits.algorithms.oco.ogd",
    "OONS": "jaxbandits.algorithms.oco.oons",
    "linalg": "jaxbandits.core",
    "links": "jaxbandits.estimation",
    "best_arm": "jaxbandits.estimation.arms",
    "InputError": "jaxbandits.core.errors",
    "param": "jaxbandits.core.pytree",
    "pytree": "jaxbandits.core.pytree",
    "static": "jaxbandits.core.pytree",
    "Entry": "jaxbandits.core.registry",
    "L2Ball": "jaxbandits.domains.ball",
    "NuclearBall": "jaxbandits.domains.nuclear",
    "ENVIRONMENTS": "jaxbandits.environments",
    "register_environment": "jaxbandits.environments",
    "LinearConstraints": "jaxbandits.environments.coco.linear_constraints",
    "SyntheticGroups": "jaxbandits.environments.dro.synthetic_groups",
    "GeneralizedLinear": "jaxbandits.environments.glm.generalized_linear",
    "noise": "jaxbandits.environments.linear",
    "HeavyTailed": "jaxbandits.environments.linear.heavy_tailed",
    "LinearLosses": "jaxbandits.environments.oco.linear_losses",
    "Meter": "jaxbandits.simulation",
    "Result": "jaxbandits.simulation",
    "Round": "jaxbandits.simulation",
    "compare": "jaxbandits.simulation",
    "simulate": "jaxbandits.simulation",
    "sweep": "jaxbandits.simulation",
    "check_algorithm": "jaxbandits.testing",
    "check_environment": "jaxbandits.testing",
    "ArmDecision": "jaxbandits.types",
    "ArmObs": "jaxbandits.types",
    "Constrained": "jaxbandits.types",
    "Gradient": "jaxbandits.types",
    "GroupDecision": "jaxbandits.types",
    "HintObs": "jaxbandits.types",
    "PointDecision": "jaxbandits.types",
    "Reward": "jaxbandits.types",
    "ScaledReward": "jaxbandits.types",
    "Value": "jaxbandits.types",
}

__all__ = sorted(_MODULES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'jaxbandits' has no attribute {name!r}")
    module = importlib.import_module(_MODULES[name])
    try:
        value = getattr(module, name)
    except AttributeError:  # a submodule that nobody has imported yet
        value = importlib.import_module(f"{_MODULES[name]}.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
