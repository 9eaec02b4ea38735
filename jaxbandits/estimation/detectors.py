"""Detectors of changes in the mean of an arm's rewards, for learners that restart (`armed.Restarting`).

    state           = detector.init(K)
    state, changed  = detector.update(t, state, pulls, index, reward)     changed [K]: arms with a detected change
    state           = detector.restart(t, state, arms)                    discard the data of the arms in a mask [K]

`pulls` holds the count and the sum `[K]` of the rewards of every arm since its last restart, including round t.
"""

import math
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, param, pytree, shared, static, validate
from jaxbandits.estimation import history
from jaxbandits.numerics import bernoulli
from jaxbandits.tracing import batching


class Counts(Protocol):
    """Number and sum of the rewards of each arm."""

    @property
    def count(self) -> jax.Array:
        """Number `[K]` of rewards."""
        ...

    @property
    def total(self) -> jax.Array:
        """Sum `[K]` of the rewards."""
        ...


class Detector(Protocol):
    """Test for a change in the mean of an arm."""

    def init(self, n_arms: int) -> Any:
        """Return the state of K = `n_arms` arms without a reward."""
        ...

    def update(
        self, t: jax.Array, state: Any, pulls: Counts, index: jax.Array, reward: jax.Array
    ) -> tuple[Any, jax.Array]:
        """Add a reward of arm `index`; return the state, and a mask `[K]` of the arms with a detected change."""
        ...

    def restart(self, t: jax.Array, state: Any, arms: jax.Array) -> Any:
        """Return the state after discarding the rewards of the arms in a mask `[K]` up to and including round t."""
        ...


class GLRState(NamedTuple):
    """Counts and sums of the rewards of each arm at the end of each of the last R periods."""

    count: jax.Array  # [R, K]  number of rewards since the last restart of the arm
    total: jax.Array  # [R, K]  sum of these rewards
    since: jax.Array  # [K] int32, first round after the last restart of the arm


@pytree
class GLR:
    """Generalised likelihood ratio test for rewards in [0, 1] (Besson, Kaufmann, Maillard & Seznec, JMLR 2022).

        sup_s  s kl(m_{1:s}, m_{1:n}) + (n - s) kl(m_{s+1:n}, m_{1:n}) >= log(3 n^{3/2} / delta)

    m_{i:j} is the mean of the rewards i, ..., j of an arm that has n rewards since its last restart. All arms are
    tested after every `period` rounds, and only the ends of earlier periods are considered as split points; the paper
    instead tests an arm after a number of plays of this arm. All arms and trials are tested in the same rounds. Other
    rounds therefore skip the cost of a test, and the history has only one row per period. Time per test and memory are
    $O(K T / period)$.
    """

    horizon: int = static(range="[1, inf)", doc="T, number of rounds whose split points are stored")
    delta: ArrayLike = param(0.01, "(0, 1]", "delta, probability of a false alarm")
    period: int = static(10, "[1, inf)", "number of rounds between two tests, and between two split points")

    def init(self, n_arms: int) -> GLRState:
        zeros = jnp.zeros((-(-self.horizon // self.period), n_arms))
        return GLRState(zeros, zeros, jnp.zeros(n_arms, jnp.int32))

    def update(
        self, t: jax.Array, state: GLRState, pulls: Counts, index: jax.Array, reward: jax.Array
    ) -> tuple[GLRState, jax.Array]:
        del index, reward

        def test() -> tuple[jax.Array, jax.Array, jax.Array]:
            changed = self.statistic(t, state, pulls) >= self.threshold(pulls.count)
            _, rows = history.exchange((state.count, state.total), t // self.period, (pulls.count, pulls.total))
            return (*rows, changed & (pulls.count > 1.0))

        count, total, changed = batching.cond(  # a real branch, because the round is the same for all trials
            t % self.period == self.period - 1,
            test,
            lambda: (state.count, state.total, jnp.zeros(len(pulls.count), bool)),
        )
        return GLRState(count, total, state.since), changed

    def statistic(self, t: jax.Array, state: GLRState, pulls: Counts) -> jax.Array:
        """Return the largest likelihood ratio `[K]` over the split points of each arm; 0 if there is no split point."""
        n, mean = pulls.count, _mean(pulls.total, pulls.count)
        later = n - state.count
        row = jnp.arange(len(state.count), dtype=jnp.int32)
        present = jnp.asarray(t // self.period, jnp.int32)
        written = present - 1 - (present - 1 - row) % len(row)  # index of the period that is stored in row r
        is_split = ((written >= 0)[:, None]) & (((written + 1) * self.period)[:, None] > state.since)
        is_split &= (state.count > 0.0) & (later > 0.0)
        before, after = _mean(state.total, state.count), _mean(pulls.total - state.total, later)
        ratio = state.count * bernoulli.divergence(before, mean - before)
        ratio = ratio + later * bernoulli.divergence(after, mean - after)
        return jnp.max(jnp.where(is_split, ratio, 0.0), axis=0)

    def threshold(self, n: jax.Array) -> jax.Array:
        """Return the threshold log(3 n^{3/2} / delta) of the test for n rewards."""
        return math.log(3.0) + 1.5 * jnp.log(jnp.maximum(n, 1.0)) - jnp.log(self.delta)

    def restart(self, t: jax.Array, state: GLRState, arms: jax.Array) -> GLRState:
        return state._replace(since=jnp.where(arms, jnp.asarray(t + 1, jnp.int32), state.since))


def _mean(total: jax.Array, count: jax.Array) -> jax.Array:
    return jnp.clip(total / jnp.maximum(count, 1.0), 0.0, 1.0)


class WindowedState(NamedTuple):
    """The last w rewards of each arm."""

    rewards: jax.Array  # [K, w]  column n mod w holds reward n of an arm, counted from 0
    count: jax.Array  # [K] int32, number of rewards since the last restart of the arm


@pytree
class HalfWindows:
    """Test of M-UCB (Cao, Wen, Kveton & Xie, AISTATS 2019), which compares the halves of the last w rewards of an arm.

        |sum of the newer w/2 rewards - sum of the older w/2| > b

    Only the arm that was played is tested, and only if it has at least w rewards. The cost per round is $O(K w)$.
    """

    window: int = static(150, "[2, inf)", "w, number of rewards of an arm that are compared, an even number")
    threshold: ArrayLike = param(40.0, "(0, inf)", "b, threshold of the test")

    def check(self) -> None:
        """Raise InputError for an odd window."""
        if self.window % 2:
            raise InputError(f"HalfWindows.window must be even, got {self.window}")

    def init(self, n_arms: int) -> WindowedState:
        return WindowedState(jnp.zeros((n_arms, self.window)), jnp.zeros(n_arms, jnp.int32))

    def update(
        self, t: jax.Array, state: WindowedState, pulls: Counts, index: jax.Array, reward: jax.Array
    ) -> tuple[WindowedState, jax.Array]:
        del t, pulls
        place = jnp.arange(self.window, dtype=jnp.int32)
        is_played = jnp.arange(len(state.count), dtype=jnp.int32) == index
        n = jnp.sum(jnp.where(is_played, state.count, 0), dtype=jnp.int32)
        is_here = is_played[:, None] & (place == n % self.window)
        rewards = jnp.where(is_here, reward, state.rewards)
        mine = jnp.sum(jnp.where(is_played[:, None], rewards, 0.0), axis=0)
        age = (n - place) % self.window  # 0 for this round
        difference = jnp.sum(jnp.where(age < self.window // 2, mine, -mine))
        changed = (n + 1 >= self.window) & (jnp.abs(difference) > self.threshold)
        return WindowedState(rewards, state.count + is_played), is_played & changed

    def restart(self, t: jax.Array, state: WindowedState, arms: jax.Array) -> WindowedState:
        del t
        return state._replace(count=jnp.where(arms, 0, state.count))


class CUSUMState(NamedTuple):
    """Both CUSUM statistics of each arm, and the data for their baseline."""

    up: jax.Array  # [K]  g+
    down: jax.Array  # [K]  g-
    count: jax.Array  # [K]  number of rewards since the last restart of the arm
    first: jax.Array  # [K]  sum of the first M of these rewards


@pytree
class CUSUM:
    """Two-sided CUSUM test (Liu, Lee & Shroff, AAAI 2018), around the mean u of the first M rewards of an arm.

        g+ <- max(0, g+ + x - u - eps),   g- <- max(0, g- + u - x - eps),   changed if max(g+, g-) > h

    x is a reward of the arm after its first M rewards. The cost per round is $O(K)$.
    """

    threshold: ArrayLike = param(10.0, "(0, inf)", "h, threshold of the test")
    drift: ArrayLike = param(0.1, "[0, inf)", "eps, tolerated deviation of a reward from the baseline mean")
    baseline: ArrayLike = param(
        150.0, "[1, inf)", "M, number of initial rewards that give the baseline mean u; rounded up"
    )

    def init(self, n_arms: int) -> CUSUMState:
        zeros = jnp.zeros(n_arms)
        return CUSUMState(zeros, zeros, zeros, zeros)

    def update(
        self, t: jax.Array, state: CUSUMState, pulls: Counts, index: jax.Array, reward: jax.Array
    ) -> tuple[CUSUMState, jax.Array]:
        del t, pulls
        is_played = jnp.arange(len(state.count)) == index
        learns = state.count < self.baseline
        first = state.first + jnp.where(is_played & learns, reward, 0.0)
        shift = reward - state.first / jnp.maximum(jnp.minimum(state.count, jnp.ceil(self.baseline)), 1.0)
        walks = is_played & ~learns
        up = jnp.where(walks, jnp.maximum(0.0, state.up + shift - self.drift), state.up)
        down = jnp.where(walks, jnp.maximum(0.0, state.down - shift - self.drift), state.down)
        count = state.count + jnp.where(is_played, 1.0, 0.0)
        return CUSUMState(up, down, count, first), walks & (jnp.maximum(up, down) > self.threshold)

    def restart(self, t: jax.Array, state: CUSUMState, arms: jax.Array) -> CUSUMState:
        del t
        return jax.tree.map(lambda x: jnp.where(arms, 0.0, x), state)


class ChangePoints(NamedTuple):
    """Rounds in which means change, and the arms whose means change; all trials share one copy."""

    rounds: ArrayLike  # [P] int32, first round of each phase
    arms: ArrayLike  # [P, K] bool, whether the mean of the arm changes at the start of the phase


@pytree
class Oracle:
    """Detector that reports the true change points, a benchmark for the other detectors."""

    changes: ChangePoints = shared(doc="rounds and arms of the changes, constructed by from_phases")

    @classmethod
    def from_phases(cls, means: Any, starts: Any) -> "Oracle":
        """Return an oracle for `SwitchingArms.from_phases`, which restarts an arm when the mean of this arm changes.

        Args:
          means: `[P, K]` means of the arms in every phase.
          starts: `[P]` first round of every phase, ascending.

        Raises:
          InputError: if the shapes or values are invalid.
        """
        means, starts = ranges.floats("means", means, "(P, K)"), ranges.floats("starts", starts, "(P,)")
        if len(starts) != len(means):
            raise InputError(f"starts must have shape [{len(means)}], got [{len(starts)}]")
        moved = np.concatenate([np.zeros((1, means.shape[1]), bool), np.diff(means, axis=0) != 0.0])
        rounds = ranges.round_numbers("starts", starts)
        if (np.diff(rounds) <= 0).any():
            raise InputError("starts must increase from one phase to the next")
        made = cls(changes=ChangePoints(rounds, moved))
        validate(made)
        return made

    def check(self) -> None:
        """Raise InputError for change points whose shapes or types differ from those that `from_phases` returns."""
        if not isinstance(self.changes, ChangePoints) or np.ndim(self.changes.arms) != 2:
            raise InputError("Oracle.changes must be a ChangePoints object, which from_phases creates")
        rounds, arms = np.asarray(self.changes.rounds), np.asarray(self.changes.arms)
        if rounds.shape != arms.shape[:1] or not np.issubdtype(rounds.dtype, np.integer) or arms.dtype != bool:
            raise InputError("Oracle.changes: rounds must be whole numbers [P], and arms True or False [P, K]")

    def init(self, n_arms: int) -> tuple[()]:
        if np.shape(self.changes.arms)[-1] != n_arms:
            raise InputError(
                f"the change points of the oracle are for {np.shape(self.changes.arms)[-1]} arms, but the learner "
                f"has {n_arms}"
            )
        return ()

    def update(
        self, t: jax.Array, state: tuple[()], pulls: Counts, index: jax.Array, reward: jax.Array
    ) -> tuple[tuple[()], jax.Array]:
        del pulls, index, reward
        is_next = jnp.asarray(self.changes.rounds) == t + 1
        return state, jnp.any(is_next[:, None] & jnp.asarray(self.changes.arms), axis=0)

    def restart(self, t: jax.Array, state: tuple[()], arms: jax.Array) -> tuple[()]:
        del t, arms
        return state
