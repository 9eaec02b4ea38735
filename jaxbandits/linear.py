"""Linear bandits under heavy tails: algorithms, environments and noise laws, under one name."""

from jaxbandits.algorithms.linear.crmm import CRMM
from jaxbandits.algorithms.linear.crtm import CRTM
from jaxbandits.algorithms.linear.heavy_oful import HeavyOFUL
from jaxbandits.algorithms.linear.hvt_estimator import HvtEstimator
from jaxbandits.algorithms.linear.hvt_identification import HvtIdentification
from jaxbandits.algorithms.linear.hvt_mdp import HvtMDP
from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
from jaxbandits.algorithms.linear.menu import MENU
from jaxbandits.algorithms.linear.oful import OFUL
from jaxbandits.algorithms.linear.oful_mdp import OFULMDP
from jaxbandits.algorithms.linear.recursive_least_squares import RecursiveLeastSquares
from jaxbandits.algorithms.linear.tofu import TOFU
from jaxbandits.algorithms.linear.uniform import Uniform
from jaxbandits.environments.linear import noise
from jaxbandits.environments.linear.fresh_arms import FreshArms
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.environments.linear.linear_mdp import LinearMDP
from jaxbandits.environments.linear.linear_system import LinearSystem

__all__ = [
    "CRMM",
    "CRTM",
    "MENU",
    "OFUL",
    "OFULMDP",
    "TOFU",
    "FreshArms",
    "HeavyOFUL",
    "HeavyTailed",
    "HvtEstimator",
    "HvtIdentification",
    "HvtMDP",
    "HvtUCB",
    "LinearMDP",
    "LinearSystem",
    "RecursiveLeastSquares",
    "Uniform",
    "noise",
]
