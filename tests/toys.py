"""A tiny algorithm and environment whose results are known by hand: fast to compile, easy to reason about."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.core.pytree import param, pytree
from jaxbandits.types import Gradient, PointDecision, Reward


class Outcome(NamedTuple):
    loss: Any
    played: Any


@pytree
class Shrink:
    """Plays a number that an exact recursion drives: x <- (1 - rate) x."""

    feedback: ClassVar[type] = Reward
    rate: Any = param(0.5, "[0, 1]", "shrinkage a round")
    start: Any = param(1.0, "(-inf, inf)", "first play")

    def init(self, key):
        del key
        return jnp.zeros(()) + self.start

    def select(self, key, t, state, obs):
        del key, t, obs
        return PointDecision.at(state)

    def update(self, key, t, state, obs, decision, feedback):
        del key, t, obs, decision, feedback
        return (1.0 - self.rate) * state

    def recommend(self, state):
        return state


@pytree
class Lost:
    """Its state is NaN from the second round on, its play always 1."""

    feedback: ClassVar[type] = Reward
    play: Any = param(1.0, "(-inf, inf)", "what it plays")

    def init(self, key):
        del key
        return jnp.zeros(())

    def select(self, key, t, state, obs):
        del key, t, state, obs
        return PointDecision.at(jnp.zeros(()) + self.play)

    def update(self, key, t, state, obs, decision, feedback):
        del key, t, obs, decision, feedback
        return state * jnp.nan

    def recommend(self, state):
        return jnp.nan_to_num(state)


@pytree
class Noisy:
    """Loss = play + scale * noise + offset, where the offset is drawn once per trial."""

    units: ClassVar[dict[str, str]] = {"loss": "points"}
    scale: Any = param(0.0, "[0, inf)", "noise")
    fail_at: Any = param(1e9, "[0, inf]", "round from which the loss is NaN for trials with a positive offset")

    def init(self, key):
        return jax.random.normal(key)

    def observe(self, key, t, state):
        del key, t, state
        return None

    def step(self, key, t, state, obs, decision):
        del obs
        loss = decision.play + self.scale * jax.random.normal(key)
        loss = jnp.where((t >= self.fail_at) & (state > 0), jnp.nan, loss)
        return state, Reward(loss), Outcome(loss=loss, played=jnp.ones_like(loss))

    def at_record(self, state, recommendation):
        return {"offset": state, "newest": recommendation}


@pytree
class NeedsGradient:
    """Declares feedback that `Noisy` does not offer."""

    feedback: ClassVar[type] = Gradient
    rate: Any = param(0.5, "[0, 1]", "unused")

    def init(self, key):
        del key
        return jnp.zeros(())

    def select(self, key, t, state, obs):
        del key, t, obs
        return PointDecision.at(state)

    def update(self, key, t, state, obs, decision, feedback):
        del key, t, obs, decision, feedback
        return state
