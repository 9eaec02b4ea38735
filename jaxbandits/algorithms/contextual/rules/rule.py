"""Abstract exploration rules, which choose an arm from the predictions of a reward model (`estimation.models`).

    decision = rule.decide(key, t, model, state, obs)

A rule has no state. `needs` lists the methods of a model that the rule calls; `Bandit` rejects a model that lacks one
of them. A concrete subclass defines either scores, of which the largest is played, or weights, from which the arm is
drawn; in the second case the decision carries the probability of the arm.
"""

import abc
from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, pytree
from jaxbandits.estimation.arms import choose_best, draw_arm
from jaxbandits.types import ArmDecision, Obs, State

_LARGEST = 1e30  # bound on predictions, so that their differences are finite in float32


@pytree
class Rule(abc.ABC):
    """Abstract exploration rule."""

    needs: ClassVar[tuple[str, ...]] = ("predict",)

    @abc.abstractmethod
    def decide(self, key: jax.Array, t: jax.Array, model: State, state: State, obs: Obs) -> ArmDecision:
        """Return the decision that plays an available arm.

        Args:
          key: `[]` random key.
          t: `[]` int32, the number of earlier rounds.
          model: reward model that has the methods in `needs`.
          state: state of the model.
          obs: observation that the model reads; its mask may be None.
        """


@pytree
class ScoreRule(Rule):
    """Abstract rule that plays the available arm with the largest score; ties go to the first arm, NaN ranks lowest."""

    @abc.abstractmethod
    def scores(self, key: jax.Array, t: jax.Array, model: State, state: State, obs: Obs) -> jax.Array:
        """Return the scores `[K]`; the arguments are those of `decide`."""

    def decide(self, key: jax.Array, t: jax.Array, model: State, state: State, obs: Obs) -> ArmDecision:
        return choose_best(obs.arms, obs.mask, self.scores(key, t, model, state, obs))


@pytree
class WeightRule(Rule):
    """Abstract rule that draws an arm from known probabilities; the decision carries the probability of the arm."""

    @abc.abstractmethod
    def weights(self, key: jax.Array, t: jax.Array, model: State, state: State, obs: Obs, mask: jax.Array) -> jax.Array:
        """Return probabilities `[K]`, 0 where the mask `[K]` is False; the other arguments are those of `decide`."""

    def decide(self, key: jax.Array, t: jax.Array, model: State, state: State, obs: Obs) -> ArmDecision:
        weights_key, draw_key = jax.random.split(key)
        mask = jnp.ones(obs.arms.shape[0], bool) if obs.mask is None else obs.mask
        return draw_arm(draw_key, obs, self.weights(weights_key, t, model, state, obs, mask))


def finite(scores: jax.Array) -> jax.Array:
    """Return the scores clipped to [-1e30, 1e30], so that differences do not overflow; NaN becomes -1e30."""
    return jnp.where(jnp.isnan(scores), -_LARGEST, jnp.clip(scores, -_LARGEST, _LARGEST))


def power(t: jax.Array, exponent: ArrayLike, like: jax.Array) -> jax.Array:
    """Return $(t + 1)^exponent$ `[]` in the type of `like`, for a round t >= 0; at most the largest finite number."""
    return jnp.minimum(jnp.exp(exponent * jnp.log((t + 1).astype(like.dtype))), jnp.finfo(like.dtype).max)
