"""Algorithms for bandits with a context that all arms share, one per file; a class is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.algorithms.contextual.bandit import Bandit as Bandit
    from jaxbandits.algorithms.contextual.disjoint_lin_ucb import DisjointLinUCB as DisjointLinUCB
    from jaxbandits.algorithms.contextual.hybrid_lin_ucb import HybridLinUCB as HybridLinUCB
    from jaxbandits.algorithms.contextual.oracle_eps_greedy import OracleEpsGreedy as OracleEpsGreedy
    from jaxbandits.algorithms.contextual.reg_cb_elim import RegCBElim as RegCBElim
    from jaxbandits.algorithms.contextual.reg_cb_opt import RegCBOpt as RegCBOpt
    from jaxbandits.algorithms.contextual.square_cb import SquareCB as SquareCB

lazy.attach(__name__)
