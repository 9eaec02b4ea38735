"""A tiny algorithm and environment whose results are known by hand: fast to compile, easy to reason about."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import param, pytree, shared, static
from jaxbandits.types import Gradient, PointDecision, Reward


class Outcome(NamedTuple):
    loss: Any
    played: Any


@pytree
class Shrink:
    """Learner whose play follows an exact recursion: x <- (1 - rate) x."""

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
class NanLearner:
    """Learner whose state is NaN from the second round on and whose play is always 1."""

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
    """Environment with loss = play + scale * noise + offset, where the offset is drawn once per trial."""

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
    """Learner that declares feedback which `Noisy` does not offer."""

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


@pytree
class Draws:
    """Learner whose state holds the uniform numbers that each of its methods draws."""

    feedback: ClassVar[type] = Reward
    unused: Any = param(0.0, "[0, 1]", "nothing")

    def init(self, key):
        return {"init": jax.random.uniform(key), "update": jnp.zeros(())}

    def select(self, key, t, state, obs):
        del t, state, obs
        return PointDecision.at(jax.random.uniform(key))

    def update(self, key, t, state, obs, decision, feedback):
        del t, obs, decision, feedback
        return {**state, "update": jax.random.uniform(key)}


class DrawnOutcome(NamedTuple):
    loss: Any


@pytree
class DrawsEnvironment:
    """Environment that reports the uniform numbers that each of its methods draws."""

    unused: Any = param(0.0, "[0, 1]", "nothing")

    def init(self, key):
        return jax.random.uniform(key)

    def observe(self, key, t, state):
        del t, state
        return jax.random.uniform(key)

    def step(self, key, t, state, obs, decision):
        del t, obs, decision
        return state, Reward(jax.random.uniform(key)), DrawnOutcome(jnp.zeros(()))


CONSUMERS = ("environment init", "observe", "step", "algorithm init", "select", "update")


def draws_of(played):
    """Return the draws of the six consumers of randomness, for `Draws` on `DrawsEnvironment`."""
    state = played.next_state
    return jnp.stack(
        [played.env_state, played.obs, played.feedback.reward, state["init"], played.decision.play, state["update"]]
    )


class VectorOutcome(NamedTuple):
    loss: Any  # []
    risk: Any  # [3]


@pytree
class Vectors:
    """Environment with metrics that are vectors and matrices, on a shared table; admits plays up to `limit`."""

    axes: ClassVar[dict[str, tuple[str, ...]]] = {"risk": ("group",), "square": ("row", "column")}
    units: ClassVar[dict[str, str]] = {"risk": "losses"}
    table: Any = shared(doc="losses of the groups, round by round [n, 3]")
    limit: Any = param(10.0, "(-inf, inf]", "the largest admissible play")

    def init(self, key):
        return jax.random.normal(key)

    def observe(self, key, t, state):
        del key, t, state
        return None

    def admits(self, state, obs, decision):
        del state, obs
        return decision.play <= self.limit

    def step(self, key, t, state, obs, decision):
        del key, obs
        risk = self.table[t % len(self.table)] + decision.play
        return state, Reward(risk.sum()), VectorOutcome(risk.mean(), risk)

    def at_record(self, state, recommendation):
        del recommendation
        return {"square": state * jnp.arange(4.0).reshape(2, 2)}


@pytree
class Slow:
    """Learner that takes `work` steps of arithmetic a round."""

    feedback: ClassVar[type] = Reward
    work: int = static(1, "[1, inf)", "steps a round")

    def init(self, key):
        del key
        return jnp.zeros(())

    def select(self, key, t, state, obs):
        del key, t, obs
        return PointDecision.at(state)

    def update(self, key, t, state, obs, decision, feedback):
        del key, t, obs, decision, feedback
        return jax.lax.fori_loop(0, self.work, lambda i, x: jnp.sin(x + i), state)

    def recommend(self, state):
        return state


class TargetOutcome(NamedTuple):
    loss: Any
    target: Any


@pytree
class Hindsight:
    """Environment with loss = (play - target)^2 with noisy targets; the best fixed point needs the whole run."""

    hindsight_needs: ClassVar[tuple[str, ...]] = ("target",)
    called: ClassVar[list[float]] = []
    scale: Any = param(1.0, "[0, inf)", "noise")

    def init(self, key):
        return jax.random.normal(key)

    def observe(self, key, t, state):
        del key, t, state
        return None

    def step(self, key, t, state, obs, decision):
        del t, obs
        target = state + self.scale * jax.random.normal(key)
        loss = (decision.play - target) ** 2
        return state, Reward(loss), TargetOutcome(loss, target)

    def in_hindsight(self, recorded, record_points):
        self.called.append(float(self.scale))
        return {"best_point": recorded["target"] / record_points}

    def derive(self, values):
        return {"distance": abs(values["best_point"])}
