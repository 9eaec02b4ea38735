"""Gaussian and heavy-tailed bandits: K arms that pay their mean plus noise.

    reward_t = mu_i + eta_t for the arm i played,   regret_t = max_k mu_k - mu_i

Means are given, follow from a gap, or are drawn for every trial.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import param, pytree
from jaxbandits.environments.armed.arms import Arms, ArmsState
from jaxbandits.environments.linear.noise import Gaussian, Noise, check_noise
from jaxbandits.environments.outcomes import RegretOutcome
from jaxbandits.types import ArmDecision, IndexObs, Reward


@pytree
class NoisyArms(Arms):
    """K arms that pay a mean plus noise.

    The noise is Gaussian by default; it may have any distribution of `jaxbandits.noise`, such as `Pareto`. A field of
    the noise is one number for all arms, or an array `[K]` with one entry per arm.

    Example:
      >>> from jaxbandits import noise
      >>> NoisyArms.from_means([0.5, 0.0], noise=noise.Pareto(shape=2.1)).n_arms
      2
      >>> NoisyArms.from_means([0.5, 0.0], noise=noise.Gaussian(spread=[0.1, 2.0])).n_arms
      2
    """

    source: ClassVar[str] = "Gaussian arms, and arms with heavy tails"
    noise: Noise = param(factory=Gaussian, doc="distribution of eta; its fields are numbers, or [K]")

    def check(self) -> None:
        """Raise InputError if the number of means is not `n_arms`, or if `noise` is not a noise distribution."""
        super().check()
        check_noise(self.noise, "NoisyArms.noise")

    def step(
        self, key: jax.Array, t: jax.Array, state: ArmsState, obs: IndexObs, decision: ArmDecision
    ) -> tuple[ArmsState, Reward, RegretOutcome]:
        state, feedback, outcome = super().step(key, t, state, obs, decision)
        reward = feedback.reward
        if jnp.shape(reward) not in ((), (self.n_arms,)):
            raise InputError(
                f"the fields of NoisyArms.noise must be numbers, or arrays [{self.n_arms}] with one entry per arm, got "
                f"a {type(self.noise).__name__} whose draws have shape {list(jnp.shape(reward))}"
            )
        return state, Reward(reward[decision.index] if jnp.ndim(reward) else reward), outcome

    def pay(self, key: jax.Array, mean: jax.Array) -> jax.Array:
        """Draw the reward `[]`, or `[K]` if the noise draws one value per arm; `step` then takes that of the arm."""
        return mean + self.noise.sample(key)
