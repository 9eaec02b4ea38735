"""Linear model for each arm, trained online on squared losses by a learner of `jaxbandits.oco`.

    f_k  = x'W_k,   where W `[K, p]` is the point that the learner plays, a vector `[K p]`
    loss   (x'W_k - r)^2 of the arm k played, r its reward, with its gradient, at the points that the learner queries

The cost per round is $O(K p)$ plus the cost of the learner.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import PyTree, param, pytree, static
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import ArmDecision, ContextObs, Decision, FullInformation, narrow


class SquaredLoss(NamedTuple):
    """Loss of a round as a function of the coefficients of all arms."""

    features: Vector  # [K p]  the context x in the block of the arm played, 0 elsewhere
    target: jax.Array  # []  reward

    def value(self, w: Vector) -> jax.Array:
        """Return the loss `[]` at coefficients w `[K p]`."""
        return jnp.square(self.features @ w - self.target)

    def gradient(self, w: Vector) -> Vector:
        """Return the gradient `[K p]` of the loss at coefficients w `[K p]`."""
        return 2.0 * (self.features @ w - self.target) * self.features


def check_oracle(name: str, oracle: Any, size: int) -> None:
    """Raise `InputError`, whose message begins with `name`, unless a learner of dimension `size` can learn a loss."""
    if getattr(oracle, "dim", None) != size:
        raise InputError(
            f"{name} must be a learner of jaxbandits.oco with dim={size} (n_arms * dim), "
            f"got {type(oracle).__name__} with dim={getattr(oracle, 'dim', None)}"
        )
    fields = getattr(getattr(oracle, "feedback", None), "_fields", ())
    lacking = [field for field in fields if field not in FullInformation._fields]
    if lacking:
        raise InputError(
            f"{name} must be a learner of jaxbandits.oco, which needs only losses and gradients, but "
            f"{type(oracle).__name__} also needs {', '.join(lacking)}"
        )


class OracleModelState(NamedTuple):
    """State of the learner, and its decision for the next round."""

    inner: PyTree  # state of the learner
    decision: Decision  # a PointDecision


@pytree
class OracleModel:
    """Model whose predictions are those of an online regression oracle; it has no widths and no draws.

    Deviations:
      * [ours] If the learner is randomised, one random point per round is used for both the prediction and the loss.

    References:
      Dylan Foster, Alexander Rakhlin. Beyond UCB: Optimal and Efficient Contextual Bandits with Regression Oracles.
      ICML 2020.
    """

    reads_context: ClassVar[bool] = True
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")
    dim: int = static(range="[1, inf)", doc="p, dimension of the context")
    oracle: Any = param(doc="learner of jaxbandits.oco with dim = K p")

    def check(self) -> None:
        """Raise InputError if the learner does not have dimension K p, or needs more than losses and gradients."""
        check_oracle("OracleModel.oracle", self.oracle, self.n_arms * self.dim)

    def init(self, key: jax.Array) -> OracleModelState:
        init_key, select_key = jax.random.split(key)
        inner = self.oracle.init(init_key)
        return OracleModelState(inner, self.oracle.select(select_key, jnp.int32(0), inner, None))

    def predict(self, state: OracleModelState, obs: ContextObs) -> jax.Array:
        return state.decision.play.reshape(self.n_arms, self.dim) @ obs.context

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: OracleModelState,
        obs: ContextObs,
        decision: ArmDecision,
        reward: jax.Array,
    ) -> OracleModelState:
        select_key, update_key = jax.random.split(key)
        is_played = (jnp.arange(self.n_arms) == decision.index).astype(obs.context.dtype)
        loss = SquaredLoss((is_played[:, None] * obs.context).reshape(-1), reward)
        query = state.decision.query
        given = FullInformation(jax.vmap(loss.value)(query), jax.vmap(loss.gradient)(query), loss)
        feedback = narrow(given, self.oracle.feedback)
        inner = self.oracle.update(update_key, t, state.inner, None, state.decision, feedback)
        return OracleModelState(inner, self.oracle.select(select_key, t + 1, inner, None))
