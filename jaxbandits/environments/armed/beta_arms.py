"""Bounded bandit: K arms with beta-distributed rewards, which have the same concentration for all arms.

    reward_t ~ Beta(c mu_i, c (1 - mu_i)) for the arm i played,   regret_t = max_k mu_k - mu_i

The mean is $mu_i$, the variance $mu_i (1 - mu_i) / (1 + c)$. Means are given, follow from a gap, or
are drawn for every trial.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.environments.armed.arms import Arms, ArmsState
from jaxbandits.numerics import rng


@pytree
class BetaArms(Arms):
    """K arms with beta-distributed rewards in (0, 1); means are clipped to [0.001, 0.999].

    Example:
      >>> BetaArms.from_means([0.9, 0.8], concentration=10.0).n_arms
      2
    """

    source: ClassVar[str] = "bounded arms with beta-distributed rewards"
    means: ArrayLike | None = param(
        None, "(0, 1)", "[K] means; None to draw them in every trial, uniformly from [0, 1]"
    )
    concentration: ArrayLike = param(4.0, "(0, inf)", "c, concentration; as c -> 0 the rewards become Bernoulli")

    @property
    def reward_range(self) -> tuple[float, float]:
        """Interval [0, 1] that contains all rewards."""
        return 0.0, 1.0

    def init(self, key: jax.Array) -> ArmsState:
        drawn = super().init(key)
        return self.moved(drawn, drawn.theta)

    def moved(self, state: ArmsState, theta: jax.Array) -> ArmsState:
        return super().moved(state, jnp.clip(theta, 0.001, 0.999))

    def pay(self, key: jax.Array, mean: jax.Array) -> jax.Array:
        both = self.concentration * jnp.stack([mean, 1.0 - mean])
        return rng.betas(key, both[:1], both[1:])[0]
