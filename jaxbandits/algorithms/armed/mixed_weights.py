"""Abstract policy that draws its arm from exponential weights on gains, mixed with the uniform distribution.

    p_i   = (1 - g) w_i / sum_k w_k + g / K
    w_i   <- w_i exp(g x_i / K) + share sum_k w_k,   x_i = reward / p_i for the arm i played, 0 for the others

The state stores normalised weights, none of which is below the smallest normal floating-point number.

For an unavailable arm, x_i is the reward of the learner, as for a sleeping expert (Freund, Schapire, Singer & Warmuth,
STOC 1997), so that the arm does not lose weight to those that are available.

A concrete subclass defines the weight g of the uniform distribution. It may also define `share`, which is 0 by default,
and the rounds in which the weights restart.
"""

import abc
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import pytree, static
from jaxbandits.estimation.arms import check_count, draw_arm
from jaxbandits.numerics import elementary
from jaxbandits.types import ArmDecision, ArmObs, Reward


class WeightState(NamedTuple):
    """State of `MixedWeights`: the normalised weights of the arms."""

    weights: jax.Array  # [K]  w_i / sum_k w_k


@pytree
class MixedWeights(abc.ABC):
    """Abstract randomised policy for rewards in [0, 1]; features of arms are ignored.

    The decision carries the probability of its arm. In a round, unavailable arms have probability 0, and the other
    probabilities are normalised.
    """

    feedback: ClassVar[type] = Reward
    environments: ClassVar[tuple[str, ...]] = ("armed/switching_arms",)
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")

    @property
    @abc.abstractmethod
    def mixture(self) -> Any:
        """Weight g of the uniform distribution in p."""

    @property
    def share(self) -> Any:
        """Fraction of the total weight that is added to the weight of every arm in a round."""
        return 0.0

    def is_restart(self, t: jax.Array) -> Any:
        """Return whether the weights are reset to equal values in round t >= 0."""
        return t < 0

    def init(self, key: jax.Array) -> WeightState:
        del key  # deterministic
        return WeightState(jnp.full(self.n_arms, 1.0 / self.n_arms))

    def probabilities(self, t: jax.Array, state: WeightState) -> jax.Array:
        """Return the probabilities p `[K]` of round t >= 0, for a round in which all arms are available."""
        uniform = 1.0 / self.n_arms
        weights = jnp.where(self.is_restart(t), uniform, state.weights)
        return (1.0 - self.mixture) * weights + self.mixture * uniform

    def select(self, key: jax.Array, t: jax.Array, state: WeightState, obs: ArmObs) -> ArmDecision:
        check_count(obs.arms, self.n_arms)
        p = self.probabilities(t, state)
        if obs.mask is not None:
            available = jnp.where(obs.mask, jnp.maximum(p, jnp.finfo(p.dtype).tiny), 0.0)
            p = available / jnp.sum(available)
        return draw_arm(key, obs, p)

    def update(
        self, key: jax.Array, t: jax.Array, state: WeightState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> WeightState:
        del key
        weights = jnp.where(self.is_restart(t), 1.0 / self.n_arms, state.weights)
        assert decision.probability is not None  # `select` draws
        gain = self.mixture * feedback.reward / (decision.probability * self.n_arms)
        top = jnp.maximum(gain, 0.0)  # all weights are divided by exp(top), so that no weight overflows
        gains = jnp.where(jnp.arange(self.n_arms) == decision.index, gain, 0.0)
        if obs.mask is not None:
            gains = jnp.where(obs.mask, gains, gain * decision.probability)
        grown = weights * elementary.exp(gains - top)
        grown = grown + self.share * elementary.exp(-top)
        total = jnp.sum(grown)
        is_lost = total == 0.0  # all weights underflow only if a reward is far below 0
        weights = jnp.where(is_lost, 1.0 / self.n_arms, grown / jnp.where(is_lost, 1.0, total))
        # A weight of 0 would stay 0 whatever the arm pays.
        return WeightState(jnp.maximum(weights, jnp.finfo(weights.dtype).tiny))
