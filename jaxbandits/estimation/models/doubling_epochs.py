"""Doubling epochs around a model: the predictions of an epoch use only the data of the previous epoch.

    epoch m   rounds 2^{m-1} + 1, ..., 2^m (epoch 1: rounds 1 and 2)
    acting    the model at the end of epoch m - 1, which learned only from that epoch

FALCON needs such a model, since within an epoch its probabilities may depend only on the context. The state is twice as
large as the state of the inner model.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import pytree
from jaxbandits.estimation.models.wrapper import Wrapper
from jaxbandits.tracing import batching
from jaxbandits.types import ArmDecision, Obs, State


class DoublingEpochsState(NamedTuple):
    """Two states of the inner model."""

    acting: Any  # state at the end of the previous epoch, used for predictions
    learning: Any  # state that learns from the current epoch


@pytree
class DoublingEpochs(Wrapper):
    """Model whose predictions are frozen within an epoch and come from the data of the previous epoch.

    References:
      David Simchi-Levi, Yunzong Xu. Bypassing the Monster: A Faster and Simpler Optimal Algorithm for Contextual
      Bandits under Realizability. Mathematics of Operations Research 47(3), 2022, Algorithm 1.
    """

    has_fixed_start: ClassVar[bool] = True

    def init(self, key: jax.Array) -> DoublingEpochsState:
        state = self.model.init(key)
        return DoublingEpochsState(state, state)

    def init_from_obs(self, state: DoublingEpochsState, obs: Obs) -> DoublingEpochsState:
        first = self._prepare(state.acting, obs)
        return DoublingEpochsState(first, first)

    def predict(self, state: DoublingEpochsState, obs: Obs) -> jax.Array:
        return self.model.predict(state.acting, obs)

    def previous_epoch(self, t: jax.Array) -> jax.Array:
        """Return the number of rounds `[]` in the epoch before that of round t = 0, 1, ...; 0 in epoch 1."""
        # Round t + 1 lies in epoch m, the number of bits of t (at least 1); epoch m - 1 ends after round 2^(m - 1).
        bits = _epoch(t)
        rounds = jnp.where(bits == 2, 2, jnp.left_shift(jnp.int32(1), jnp.maximum(bits - 2, 0)))
        return jnp.where(bits <= 1, 0, rounds)

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: DoublingEpochsState,
        obs: Obs,
        decision: ArmDecision,
        reward: jax.Array,
    ) -> DoublingEpochsState:
        update_key, init_key = jax.random.split(key)
        # The model restarts in every epoch: its stored rows and its step sizes are those of the rounds since then.
        learned = self.model.update(update_key, t - _first_round(t), state.learning, obs, decision, reward)
        rounds = t + 1
        is_last = (rounds >= 2) & (rounds & t == 0)  # a power of two

        def begin() -> DoublingEpochsState:
            return DoublingEpochsState(learned, self._prepare(self.model.init(init_key), obs))

        return batching.cond(is_last, begin, lambda: DoublingEpochsState(state.acting, learned))

    def _prepare(self, state: State, obs: Obs) -> Any:
        return self.model.init_from_obs(state, obs) if hasattr(self.model, "init_from_obs") else state


def _epoch(t: jax.Array) -> jax.Array:
    """Return the number m `[]` of the epoch of round t = 0, 1, ..."""
    return jnp.maximum(32 - jax.lax.clz(jnp.maximum(jnp.asarray(t, jnp.int32), 0)), 1)


def _first_round(t: jax.Array) -> jax.Array:
    """Return the first round `[]`, counted from 0, of the epoch of round t = 0, 1, ..."""
    epoch = _epoch(t)
    return jnp.where(epoch == 1, 0, jnp.left_shift(jnp.int32(1), epoch - 1))
