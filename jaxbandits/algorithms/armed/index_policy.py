"""Abstract index policy: play each arm once, then the available arm with the largest index.

A concrete subclass defines `index`. If its state holds more than counts and sums, it also defines `init` and `update`.
"""

import abc
import warnings
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, pytree, static
from jaxbandits.estimation.arms import check_count, choose_best
from jaxbandits.types import ArmDecision, ArmObs, Reward, State

_UNPLAYED = 0.5  # the largest score of an arm that was not played is this fraction of the largest float


class Pulls(NamedTuple):
    """Number of plays and sum of rewards of each arm.

    The sums are plain. In float32 they are exact for rewards of 0 and 1 up to 2^24 plays, but the mean of equal rewards
    of 0.1 is wrong by 1 % after 10^6 plays, and by 4 % after 4 x 10^6.
    """

    count: jax.Array  # [K]  T_i
    total: jax.Array  # [K]  sum of the rewards of arm i

    @property
    def mean(self) -> jax.Array:
        """Mean rewards m_i `[K]`; 0 for arms that were not played."""
        return self.total / self.positive_count

    @property
    def positive_count(self) -> jax.Array:
        """Numbers of plays `[K]`, replaced by 1 where they are 0, for use as a divisor."""
        return jnp.maximum(self.count, 1.0)

    @property
    def played(self) -> jax.Array:
        """Deprecated: use `positive_count`."""
        warnings.warn("`played` has been renamed: use `positive_count`", DeprecationWarning, stacklevel=2)
        return self.positive_count

    def add(self, index: jax.Array, reward: jax.Array) -> "Pulls":
        """Return the counts and sums after one more reward of one arm."""
        return Pulls(self.count.at[index].add(1.0), self.total.at[index].add(reward))


def log_rounds(t: jax.Array) -> jax.Array:
    """Return log t `[]`, and 0 for t = 0."""
    return jnp.log(jnp.maximum(t, 1).astype(jnp.result_type(float)))


def hoeffding_scale(width: ArrayLike) -> ArrayLike:
    """Return the sub-Gaussian scale w / 2 of rewards in an interval of width w (Hoeffding's lemma).

    Raises:
      InputError: for a width that is not positive.
    """
    return 0.5 * ranges.numbers("width", width, "(0, inf)")


@pytree
class IndexPolicy(abc.ABC):
    """Abstract policy `argmax_i index_i` over counts and sums of rewards; features of arms are ignored.

    Arms with feedback from fewer than `first_pulls` plays are played first, in turn and starting from arm t mod K, so
    that all arms are tried even if feedback is delayed. Ties go to the first arm.
    """

    feedback: ClassVar[type] = Reward
    environments: ClassVar[tuple[str, ...]] = ("armed/bernoulli_arms",)
    first_pulls: ClassVar[Any] = 1.0  # number of pulls of every arm before the index is used; may be 0
    counts_all: ClassVar[bool] = True  # False: `update` discounts or ignores some rewards
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")

    @abc.abstractmethod
    def index(self, key: jax.Array, t: jax.Array, state: State) -> jax.Array:
        """Return the index of every arm `[K]` in round t >= 0; it must be finite even for arms without plays."""

    def init(self, key: jax.Array) -> State:
        del key  # deterministic
        return Pulls(jnp.zeros(self.n_arms), jnp.zeros(self.n_arms))

    def select(self, key: jax.Array, t: jax.Array, state: State, obs: ArmObs) -> ArmDecision:
        check_count(obs.arms, self.n_arms)
        return choose_best(obs.arms, obs.mask, self.in_turn(t, state.count, self.index(key, t, state)))

    def update(
        self, key: jax.Array, t: jax.Array, state: State, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> Any:
        del key, t, obs
        return state.add(decision.index, feedback.reward)

    def in_turn(self, t: jax.Array, count: jax.Array, index: jax.Array) -> jax.Array:
        """Return the index `[K]`, with arms that have fewer than `first_pulls` plays ranked above all others.

        Among these arms, arm t mod K ranks highest, followed by arms t + 1, t + 2, ... mod K.
        """
        turn = (jnp.arange(self.n_arms, dtype=t.dtype) - t) % self.n_arms
        score = _UNPLAYED * float(jnp.finfo(index.dtype).max) / self.n_arms
        return jnp.where(count < self.first_pulls, score * (self.n_arms - turn), index)
