"""Linear bandits and linear models under heavy tails, one per file; each is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.environments.linear.ball_arms import BallArms as BallArms
    from jaxbandits.environments.linear.fresh_arms import FreshArms as FreshArms
    from jaxbandits.environments.linear.heavy_tailed import HeavyTailed as HeavyTailed
    from jaxbandits.environments.linear.linear_mdp import LinearMDP as LinearMDP
    from jaxbandits.environments.linear.linear_system import LinearSystem as LinearSystem

lazy.attach(__name__)
