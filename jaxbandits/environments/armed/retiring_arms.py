"""Bernoulli bandit whose items retire and are replaced by new ones (Chapelle & Li, NIPS 2011, Section 4).

    with probability q, a round ends with the replacement of a uniformly drawn item by a new item
    mean of an item ~ Beta(a, b);   reward_t ~ Bernoulli(mean) of the item played
    regret_t = (largest mean of the K current items) - (mean of the item played)

An item keeps its mean and its number until it is replaced.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.environments.outcomes import RegretOutcome
from jaxbandits.estimation.arms import largest
from jaxbandits.numerics import rng
from jaxbandits.types import ArmDecision, ItemObs, Reward


class RetiringState(NamedTuple):
    """Means and numbers of the current items."""

    means: jax.Array  # [K]
    items: jax.Array  # [K] int32, item numbers


@pytree
class RetiringArms:
    """K Bernoulli arms that are replaced one at a time; an observation contains the item numbers.

    To a learner that ignores the item numbers, means appear to jump; `PerItem` restarts the statistics of a new item.

    Deviations:
      * [reconstructed] The paper states a retirement probability of 1e-3, but not whether it is per round or per item
        and round. The default is per round. With ten items, `retirement=0.01` approximates 1e-3 per item and round,
        except that two items never retire in the same round.

    References:
      Olivier Chapelle, Lihong Li. An Empirical Evaluation of Thompson Sampling. NIPS 2011, Section 4, Table 1.
    """

    source: ClassVar[str] = "Chapelle & Li, NIPS 2011, items that retire"
    units: ClassVar = {"regret": "reward"}
    n_arms: int = static(10, "[1, inf)", "K, number of items that are available in a round")
    retirement: ArrayLike = param(1e-3, "[0, 1]", "q, probability that an item retires in a round")
    prior_success: ArrayLike = param(4.0, "(0, inf)", "a, parameter of the beta distribution of means")
    prior_failure: ArrayLike = param(4.0, "(0, inf)", "b, parameter of the beta distribution of means")

    @classmethod
    def example(cls) -> "RetiringArms":
        return cls(n_arms=5, retirement=0.1)

    @property
    def reward_range(self) -> tuple[float, float]:
        """Interval [0, 1] that contains all rewards."""
        return 0.0, 1.0

    def init(self, key: jax.Array) -> RetiringState:
        return RetiringState(self._draw(key, self.n_arms), jnp.arange(self.n_arms, dtype=jnp.int32))

    def observe(self, key: jax.Array, t: jax.Array, state: RetiringState) -> ItemObs:
        del key, t
        return ItemObs(state.items)

    def step(
        self, key: jax.Array, t: jax.Array, state: RetiringState, obs: ItemObs, decision: ArmDecision
    ) -> tuple[RetiringState, Reward, RegretOutcome]:
        del t, obs
        draw_key, mean_key = jax.random.split(key)
        mean = state.means[decision.index]
        reward = jnp.where(rng.bernoulli(draw_key, mean), 1.0, 0.0)
        retires = rng.bernoulli(draw_key, self.retirement, counter=1)
        is_replaced = retires & (jnp.arange(self.n_arms) == rng.randint(draw_key, self.n_arms, counter=2))
        following = RetiringState(
            means=jnp.where(is_replaced, self._draw(mean_key, 1), state.means),
            items=jnp.where(is_replaced, jnp.max(state.items) + 1, state.items),
        )
        return following, Reward(reward), RegretOutcome(largest(state.means) - mean)

    def _draw(self, key: jax.Array, n: int) -> jax.Array:
        """Draw the means `[n]` of n new items."""
        ones = jnp.ones(n)
        return rng.betas(key, self.prior_success * ones, self.prior_failure * ones)

    def admits(self, state: RetiringState, obs: ItemObs, decision: ArmDecision) -> jax.Array:
        """Return True if the index of the arm is in range."""
        del state, obs
        return (decision.index >= 0) & (decision.index < self.n_arms)
