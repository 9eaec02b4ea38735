"""Bernoulli bandit: arm i pays 1 with probability mu_i, else 0.

    reward_t ~ Bernoulli(mu_i) for the arm i played,   regret_t = max_k mu_k - mu_i

Means are given, follow from a gap, or are drawn for every trial.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.environments.armed.arms import Arms, ArmsState
from jaxbandits.numerics import rng


@pytree
class BernoulliArms(Arms):
    """K Bernoulli arms. Drifting means are clipped to [0, 1].

    Example:
      >>> BernoulliArms.from_means([0.9, 0.8]).n_arms
      2
    """

    source: ClassVar[str] = "arms that pay 0 or 1"
    means: ArrayLike | None = param(
        None, "[0, 1]", "[K] probabilities; None to draw them in every trial, uniformly from [0, 1]"
    )

    @property
    def reward_range(self) -> tuple[float, float]:
        """Interval [0, 1] that contains all rewards."""
        return 0.0, 1.0

    def moved(self, state: ArmsState, theta: jax.Array) -> ArmsState:
        return super().moved(state, jnp.clip(theta, 0.0, 1.0))

    def pay(self, key: jax.Array, mean: jax.Array) -> jax.Array:
        return jnp.where(rng.bernoulli(key, mean), 1.0, 0.0)
