"""Abstract contextual learner over a regression oracle, which is a learner of `jaxbandits.oco` with squared loss.

    yhat_k   = x'W_k,   where W `[K, p]` is the point that the oracle plays, a vector `[K p]`
    play       k with a probability that depends on yhat
    oracle     receives the loss (x'W_k - reward)^2 of the arm k played and its gradient, at the points that it queries

A concrete subclass defines the probabilities of the arms.
"""

import abc
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.contextual.rules.rule import finite
from jaxbandits.base.pytree import param, pytree, static
from jaxbandits.estimation.arms import check_count, draw_arm
from jaxbandits.estimation.models.oracle_model import SquaredLoss, check_oracle
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import ArmDecision, ContextObs, FullInformation, Reward, State, narrow


@pytree
class OracleLearner(abc.ABC):
    """Abstract randomised policy over a regression oracle; the decision carries the probability of its arm."""

    feedback: ClassVar[type] = Reward
    environments: ClassVar[tuple[str, ...]] = ("contextual/linear_contexts",)
    reads_context: ClassVar[bool] = True
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")
    dim: int = static(range="[1, inf)", doc="p, dimension of the context")
    oracle: Any = param(doc="learner of jaxbandits.oco with dim = K p")

    def check(self) -> None:
        """Raise InputError if the oracle does not have dimension K p, or needs more than losses and gradients."""
        check_oracle(f"{type(self).__name__}.oracle", self.oracle, self.n_arms * self.dim)

    @abc.abstractmethod
    def weights(self, key: jax.Array, t: jax.Array, state: State, obs: ContextObs, mask: jax.Array) -> jax.Array:
        """Return the probability `[K]` with which each arm is played in round t >= 0; it is 0 for masked arms.

        Args:
          key: random key for the oracle.
          t: `[]` int32, number of earlier rounds.
          state: state of the oracle.
          obs: observation with the context; its mask may be None.
          mask: `[K]` True where an arm may be played.
        """

    def init(self, key: jax.Array) -> State:
        return self.oracle.init(key)

    def select(self, key: jax.Array, t: jax.Array, state: State, obs: ContextObs) -> ArmDecision:
        check_count(obs.arms, self.n_arms)
        oracle_key, draw_key = jax.random.split(key)
        mask = jnp.ones(self.n_arms, bool) if obs.mask is None else obs.mask
        return draw_arm(draw_key, obs, self.weights(oracle_key, t, state, obs, mask))

    def update(
        self, key: jax.Array, t: jax.Array, state: State, obs: ContextObs, decision: ArmDecision, feedback: Reward
    ) -> Any:
        return self.fit(key, t, state, obs.context, decision.index, feedback.reward)

    def predict(self, key: jax.Array, t: jax.Array, state: State, context: Vector) -> jax.Array:
        """Return the oracle's predictions `[K]` of the rewards of all arms, all finite even if the oracle diverges.

        With NaN the weights would be NaN, and an unavailable arm could be drawn.
        """
        return finite(self.oracle.select(key, t, state, None).play.reshape(self.n_arms, self.dim) @ context)

    def fit(
        self, key: jax.Array, t: jax.Array, state: State, context: Vector, index: jax.Array, reward: jax.Array
    ) -> Any:
        """Return the oracle's state after an update with the squared loss of arm `index`."""
        select_key, update_key = jax.random.split(key)
        is_played = (jnp.arange(self.n_arms) == index).astype(context.dtype)
        loss = SquaredLoss((is_played[:, None] * context).reshape(-1), reward)
        point = self.oracle.select(select_key, t, state, None)
        told = FullInformation(jax.vmap(loss.value)(point.query), jax.vmap(loss.gradient)(point.query), loss)
        return self.oracle.update(update_key, t, state, None, point, narrow(told, self.oracle.feedback))
