"""Abstract index policy: play the available arm with the largest index, every arm once before any twice.

A final class is its index; one that keeps more than counts and sums has its own `init` and `update`.
"""

import abc
import warnings
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import pytree, static
from jaxbandits.estimation.arms import check_count, choose_best
from jaxbandits.types import ArmDecision, ArmObs, Reward

_UNPLAYED = 1e30  # above every index


class Pulls(NamedTuple):
    """Number of plays and sum of rewards of each arm."""

    count: jax.Array  # [K]  T_i
    total: jax.Array  # [K]  sum of the rewards of arm i

    @property
    def mean(self) -> jax.Array:
        """`[K]` m_i; 0 where the arm was not played."""
        return self.total / self.positive_count

    @property
    def positive_count(self) -> jax.Array:
        """`[K]` T_i, at least 1: a divisor."""
        return jnp.maximum(self.count, 1.0)

    @property
    def played(self) -> jax.Array:
        """Deprecated: use `positive_count`."""
        warnings.warn("played is renamed: use positive_count", DeprecationWarning, stacklevel=2)
        return self.positive_count

    def add(self, index: jax.Array, reward: jax.Array) -> "Pulls":
        """Count a reward of one arm."""
        return Pulls(self.count.at[index].add(1.0), self.total.at[index].add(reward))


def log_rounds(t: jax.Array) -> jax.Array:
    """Return log t `[]`; 0 before the first round."""
    return jnp.log(jnp.maximum(t, 1).astype(jnp.result_type(float)))


@pytree
class IndexPolicy(abc.ABC):
    """Abstract policy `argmax_i index_i` over counts and sums of rewards; features of arms are not looked at.

    Arms that were not played come first, in turn from arm t mod K on: also while feedback is late every arm is tried.
    Ties: the first arm wins.
    """

    feedback: ClassVar[type] = Reward
    environments: ClassVar[tuple[str, ...]] = ("armed/bernoulli_arms",)
    first_pulls: ClassVar[Any] = 1.0  # of every arm, before an index counts; 0: indices count from the first round
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")

    @abc.abstractmethod
    def index(self, key: jax.Array, t: jax.Array, state: Any) -> jax.Array:
        """Return the index of every arm `[K]` in round t (from 0), finite also for arms that were not played."""

    def init(self, key: jax.Array) -> Any:
        del key  # deterministic
        return Pulls(jnp.zeros(self.n_arms), jnp.zeros(self.n_arms))

    def select(self, key: jax.Array, t: jax.Array, state: Any, obs: ArmObs) -> ArmDecision:
        check_count(obs.arms, self.n_arms)
        return choose_best(obs.arms, obs.mask, self._in_turn(t, state.count, self.index(key, t, state)))

    def update(
        self, key: jax.Array, t: jax.Array, state: Any, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> Any:
        del key, t, obs
        return state.add(decision.index, feedback.reward)

    def _in_turn(self, t: jax.Array, count: jax.Array, index: jax.Array) -> jax.Array:
        """Put arms that need another of their first pulls above all others, arm t mod K first."""
        turn = (jnp.arange(self.n_arms, dtype=t.dtype) - t) % self.n_arms
        return jnp.where(count < self.first_pulls, _UNPLAYED * (self.n_arms - turn), index)
