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
    from jaxbandits.algorithms.glm.glb_omd import GLBOMD as GLBOMD
    from jaxbandits.algorithms.linear.crmm import CRMM as CRMM
    from jaxbandits.algorithms.linear.crtm import CRTM as CRTM
    from jaxbandits.algorithms.linear.heavy_oful import HeavyOFUL as HeavyOFUL
    from jaxbandits.algorithms.linear.hvt_estimator import HvtEstimator as HvtEstimator
    from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB as HvtUCB
    from jaxbandits.algorithms.linear.menu import MENU as MENU
    from jaxbandits.algorithms.linear.oful import OFUL as OFUL
    from jaxbandits.algorithms.linear.tofu import TOFU as TOFU
    from jaxbandits.algorithms.linear.uniform import Uniform as Uniform
    from jaxbandits.algorithms.oco.ogd import OGD as OGD
    from jaxbandits.algorithms.oco.oons import OONS as OONS
    from jaxbandits.core import linalg as linalg
    from jaxbandits.core import links as links
    from jaxbandits.core.arms import best_arm as best_arm
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
    from jaxbandits.environments.dro.synthetic_groups import SyntheticGroups as SyntheticGroups
    from jaxbandits.environments.glm.generalized_linear import GeneralizedLinear as GeneralizedLinear
    from jaxbandits.environments.linear import noise as noise
    from jaxbandits.environments.linear.heavy_tailed import HeavyTailed as HeavyTailed
    from jaxbandits.environments.oco.linear_losses import LinearLosses as LinearLosses
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
    "links": "jaxbandits.core",
    "best_arm": "jaxbandits.core.arms",
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
