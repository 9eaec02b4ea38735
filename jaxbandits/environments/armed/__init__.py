"""Bandits with K arms and no features, one per file; each is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.environments.armed.advised_arms import AdvisedArms as AdvisedArms
    from jaxbandits.environments.armed.bernoulli_arms import BernoulliArms as BernoulliArms
    from jaxbandits.environments.armed.beta_arms import BetaArms as BetaArms
    from jaxbandits.environments.armed.noisy_arms import NoisyArms as NoisyArms
    from jaxbandits.environments.armed.retiring_arms import RetiringArms as RetiringArms
    from jaxbandits.environments.armed.sleeping_arms import SleepingArms as SleepingArms
    from jaxbandits.environments.armed.switching_arms import SwitchingArms as SwitchingArms

lazy.attach(__name__)
