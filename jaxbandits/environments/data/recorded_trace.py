"""Replay of a recorded trace of arms and rewards, to compute the estimates of a learner on given data.

    round t: only the recorded arm may be played, and it pays the recorded reward

The learner has no choice; only its estimates are of interest, which a `Meter` can compute from the learner's state, for
example with `recommend`. Rounds after the last round of the trace do not count.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, pytree, shared, validate
from jaxbandits.types import ArmDecision, ArmObs, FixedArmObs, Reward


class Trace(NamedTuple):
    """Rounds of the trace; all trials share one copy."""

    arms: ArrayLike  # [T, K, d], or [K, d] if the arms never change
    index: ArrayLike  # [T] int32, arm that was played
    reward: ArrayLike  # [T]  reward of this arm


class TraceOutcome(NamedTuple):
    """Reward of one round."""

    reward: jax.Array  # []


@pytree
class RecordedTrace:
    """Recorded rounds, which are the same for every learner and trial; the only metric is `reward`."""

    source: ClassVar[str] = "your own arms and rewards, replayed through any learner"
    units: ClassVar = {"reward": "reward"}
    trace: Trace = shared(doc="rounds of the trace (constructed by from_arrays)")

    @classmethod
    def from_arrays(cls, arms: Any, reward: Any, index: Any = None) -> "RecordedTrace":
        """Return the environment for a trace.

        Args:
          arms: `[T, d]` arms that were played; if `index` is given, the available arms `[T, K, d]`, or `[K, d]` if they
            never change.
          reward: `[T]` rewards.
          index: `[T]` index of the arm that was played among the available arms.

        Raises:
          InputError: if shapes do not match, an entry is not a finite number, or an arm does not exist.
        """
        rewards = ranges.floats("reward", reward, "(T,)")
        if index is None:
            shown = ranges.floats("arms", arms, "(T, d)")[:, None]
            numbers = np.zeros(len(rewards))
        else:
            shown = ranges.floats("arms", arms, "(T, K, d)", "(K, d)")
            numbers = ranges.floats("index", index, "(T,)")
        trace = Trace(shown, numbers.astype(np.int32), rewards)
        if not np.array_equal(trace.index, numbers):
            raise InputError(f"index must hold whole numbers, got {numbers[trace.index != numbers][0]}")
        made = cls(trace=trace)
        validate(made)
        return made

    @classmethod
    def example(cls) -> "RecordedTrace":
        return cls.from_arrays(np.eye(4, 2), [1.0, 0.5, 0.0, 0.0])

    def check(self) -> None:
        """Raise InputError if the trace is invalid."""
        trace = self.trace
        if not isinstance(trace, Trace) or np.ndim(trace.reward) != 1 or np.ndim(trace.arms) not in (2, 3):
            raise InputError("RecordedTrace.trace must be a Trace, which from_arrays creates")
        rounds, arms, index = np.shape(trace.reward)[0], np.shape(trace.arms), np.asarray(trace.index)
        if index.shape != (rounds,) or (len(arms) == 3 and arms[0] != rounds):
            raise InputError(
                f"a trace must have arms, index and reward of {rounds} rounds, got {arms} and {index.shape}"
            )
        if index.dtype.kind not in "iu" or index.min() < 0 or index.max() >= arms[-2]:
            raise InputError(f"index must hold whole numbers in [0, {arms[-2]}), the indices of the arms")

    @property
    def dim(self) -> int:
        """d, dimension of the arms."""
        return self.trace.arms.shape[-1]

    def init(self, key: jax.Array) -> None:
        del key

    def observe(self, key: jax.Array, t: jax.Array, state: None) -> ArmObs:
        del key, state
        arms, index = jnp.asarray(self.trace.arms), self._at(self.trace.index, t)
        mask = jnp.arange(arms.shape[-2]) == index
        return FixedArmObs(arms, mask) if arms.ndim == 2 else ArmObs(self._at(arms, t), mask)

    def learner_time(self, t: jax.Array, state: None) -> jax.Array:
        """Return t, because every round up to the end of the trace counts."""
        del state
        return t

    def is_counted(self, t: jax.Array, state: None, obs: ArmObs, decision: ArmDecision) -> jax.Array:
        """Return True if the trace has a round t."""
        del state, obs, decision
        return t < self.trace.reward.shape[0]

    def step(
        self, key: jax.Array, t: jax.Array, state: None, obs: ArmObs, decision: ArmDecision
    ) -> tuple[None, Reward, TraceOutcome]:
        del key, obs, decision
        reward = self._at(self.trace.reward, t)
        return state, Reward(reward), TraceOutcome(jnp.where(t < self.trace.reward.shape[0], reward, 0.0))

    def admits(self, state: None, obs: ArmObs, decision: ArmDecision) -> jax.Array:
        """Return True if the decision is the recorded arm."""
        del state
        mask: Any = obs.mask  # never None in this environment
        return jnp.any(mask & (jnp.arange(obs.arms.shape[0]) == decision.index))

    def _at(self, table: Any, t: jax.Array) -> jax.Array:
        last = self.trace.reward.shape[0] - 1
        return lax.dynamic_index_in_dim(jnp.asarray(table), jnp.minimum(t, last), keepdims=False)
