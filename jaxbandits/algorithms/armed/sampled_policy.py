"""Abstract policy that draws its arm with probabilities computed from importance-weighted estimates of the losses.

    L_i   <- L_i + (1 - reward) / (p_i + gamma_t)   for the arm i played, with probability p_i
    play     i with probability weights_i(L)

An unavailable arm incurs the loss of the learner, (1 - reward) p_i / (p_i + gamma_t), as a sleeping expert does
(Freund, Schapire, Singer & Warmuth, STOC 1997). Without a loss it would come to be the best arm, whatever its rewards.

A concrete subclass defines `weights`, which must not change if a constant is added to all $L_i$, since the state stores
the $L_i$ minus the smallest of them.
"""

import abc
import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, pytree, static
from jaxbandits.estimation.arms import check_count, draw_arm
from jaxbandits.numerics import elementary
from jaxbandits.types import ArmDecision, ArmObs, Reward


class LossState(NamedTuple):
    """Estimated losses of the arms, relative to the smallest."""

    losses: jax.Array  # [K]  L_i minus the smallest


@pytree
class SampledPolicy(abc.ABC):
    """Abstract randomised policy for rewards in [0, 1]; features of arms are ignored.

    The decision carries the probability of its arm. Unavailable arms have probability 0; the probabilities of the
    available arms are computed from the losses of these arms alone, and sum to 1.
    """

    feedback: ClassVar[type] = Reward
    environments: ClassVar[tuple[str, ...]] = ("armed/bernoulli_arms",)
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")

    @abc.abstractmethod
    def weights(self, t: jax.Array, losses: jax.Array) -> jax.Array:
        """Return the probabilities `[K]` of round t >= 0 for losses `[K]`; a loss of inf excludes an arm."""

    def bias(self, t: jax.Array) -> ArrayLike:
        """Return gamma_t, which is added to the probability p_i in the loss estimates."""
        del t
        return 0.0

    def init(self, key: jax.Array) -> LossState:
        del key  # deterministic
        return LossState(jnp.zeros(self.n_arms))

    def select(self, key: jax.Array, t: jax.Array, state: LossState, obs: ArmObs) -> ArmDecision:
        check_count(obs.arms, self.n_arms)
        losses = state.losses if obs.mask is None else jnp.where(obs.mask, state.losses, jnp.inf)
        return draw_arm(key, obs, self.weights(t, losses))

    def update(
        self, key: jax.Array, t: jax.Array, state: LossState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> LossState:
        del key
        estimate = (1.0 - feedback.reward) / (decision.probability + self.bias(t))
        losses = state.losses.at[decision.index].add(estimate)
        if obs.mask is not None:
            losses = losses + jnp.where(obs.mask, 0.0, estimate * decision.probability)
        return LossState(losses - jnp.min(losses))


def exponential_weights(losses: jax.Array, rate: ArrayLike) -> jax.Array:
    """Return `exp(-rate L_i) / sum_k exp(-rate L_k)` `[K]`."""
    least = jnp.min(losses)
    weights = jnp.where(losses < jnp.inf, elementary.exp(-rate * (losses - least)), 0.0)
    return weights * (1.0 / jnp.sum(weights))


def anytime_rate(n_choices: int, n_arms: int, t: jax.Array) -> jax.Array:
    """Return the learning rate sqrt(log n / ((t + 1) K)) `[]` of round t >= 0 for n choices and K arms."""
    rounds = (jnp.asarray(t) + 1).astype(jnp.result_type(float))  # (t + 1) K may exceed the range of int32
    return jnp.sqrt(math.log(n_choices) / (n_arms * rounds))
