"""Gaussian and heavy-tailed bandits: K arms that pay their mean plus noise from a common distribution.

    reward_t = mu_i + eta_t for the arm i played,   regret_t = max_k mu_k - mu_i

Means are given, follow from a gap, or are drawn for every trial.
"""

from typing import ClassVar

import jax

from jaxbandits.base.pytree import param, pytree
from jaxbandits.environments.armed.arms import Arms
from jaxbandits.environments.linear.noise import Gaussian, Noise, check_noise


@pytree
class NoisyArms(Arms):
    """K arms that pay a mean plus noise.

    The noise is Gaussian by default; it may have any distribution of `jaxbandits.noise`, such as `Pareto`.

    Example:
      >>> from jaxbandits import noise
      >>> NoisyArms.from_means([0.5, 0.0], noise=noise.Pareto(shape=2.1)).n_arms
      2
    """

    source: ClassVar[str] = "Gaussian arms, and arms with heavy tails"
    noise: Noise = param(factory=Gaussian, doc="distribution of eta")

    def check(self) -> None:
        """Raise InputError if the number of means is not `n_arms`, or if `noise` is not a noise distribution."""
        super().check()
        check_noise(self.noise, "NoisyArms.noise")

    def pay(self, key: jax.Array, mean: jax.Array) -> jax.Array:
        return mean + self.noise.sample(key)
