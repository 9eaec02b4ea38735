"""Additional noise in the rewards that the learner receives.

    received_t = reward_t + xi_t,   xi_t independent with mean zero

Regret does not change, since it is computed from means.
"""

from typing import Any, ClassVar

import jax

from jaxbandits.base.pytree import param, pytree
from jaxbandits.environments.linear.noise import Gaussian, Noise, check_noise, draw
from jaxbandits.environments.operators.operator import Operator, example_environment, require_single_reward
from jaxbandits.types import Decision, Feedback, Obs, Outcome, Reward, State


@pytree
class Noisy(Operator):
    """Environment with additional noise in its rewards.

    The feedback is `Reward`. The moment scale that some environments provide is omitted, since it would be wrong for
    the total noise.
    """

    source: ClassVar[str] = "any bandit, with more noise"
    environment: Any = param(doc="environment to whose rewards noise is added")
    noise: Noise = param(factory=Gaussian, doc="distribution of xi")

    @classmethod
    def example(cls) -> "Noisy":
        return cls(environment=example_environment())

    @property
    def reward_range(self) -> None:
        """None, because the noise may be unbounded."""
        return None

    def step(
        self, key: jax.Array, t: jax.Array, state: State, obs: Obs, decision: Decision
    ) -> tuple[State, Feedback, Outcome]:
        state, feedback, outcome = self.environment.step(key, t, state, obs, decision)
        reward = require_single_reward(self, feedback).reward + draw(self.noise, self._own(key))
        return state, Reward(reward), outcome


def with_noise(environment: Any, noise: Noise) -> Noisy:
    """Return the environment with `noise` added to the rewards of its feedback (`Noisy`)."""
    check_noise(noise, "noise")
    return Noisy(environment=environment, noise=noise)
