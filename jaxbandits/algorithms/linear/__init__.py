"""Algorithms for linear bandits and heavy-tailed linear models, one per file; a class is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.algorithms.linear.crmm import CRMM as CRMM
    from jaxbandits.algorithms.linear.crtm import CRTM as CRTM
    from jaxbandits.algorithms.linear.d_lin_ucb import DLinUCB as DLinUCB
    from jaxbandits.algorithms.linear.heavy_oful import HeavyOFUL as HeavyOFUL
    from jaxbandits.algorithms.linear.hvt_identification import HvtIdentification as HvtIdentification
    from jaxbandits.algorithms.linear.hvt_mdp import HvtMDP as HvtMDP
    from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB as HvtUCB
    from jaxbandits.algorithms.linear.lin_ts import LinTS as LinTS
    from jaxbandits.algorithms.linear.menu import MENU as MENU
    from jaxbandits.algorithms.linear.oful import OFUL as OFUL
    from jaxbandits.algorithms.linear.oful_mdp import OFULMDP as OFULMDP
    from jaxbandits.algorithms.linear.phased_elimination import PhasedElimination as PhasedElimination
    from jaxbandits.algorithms.linear.recursive_least_squares import RecursiveLeastSquares as RecursiveLeastSquares
    from jaxbandits.algorithms.linear.sw_lin_ucb import SWLinUCB as SWLinUCB
    from jaxbandits.algorithms.linear.tofu import TOFU as TOFU
    from jaxbandits.algorithms.linear.uniform import Uniform as Uniform

lazy.attach(__name__)
