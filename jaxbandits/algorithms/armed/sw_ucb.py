"""SW-UCB: UCB on a sliding window, for non-stationary rewards (Garivier & Moulines, ALT 2011).

    N_i, m_i   plays and mean reward of arm i in the last tau rounds
    play       argmax_i  m_i + B sqrt(xi log(min(t, tau)) / N_i),   arms without plays in the window first

after t rounds. Notation: tau window, B reward_bound, xi as the field. $O(K)$ per round on average, memory $O(K + tau)$.

No reward is subtracted, since digits that a huge reward has rounded away would stay lost. Rounds are grouped into
blocks of tau, so that the window is the end of one block and the beginning of the next. Sums over the beginning grow by
addition. When a block is complete, each of its rewards is replaced by the sum of the later rewards of the same arm in
the block, which is the remaining sum of this arm when the round leaves the window.
"""

import math
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls, log_rounds
from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.estimation import history
from jaxbandits.tracing import batching
from jaxbandits.types import ArmDecision, ArmObs, Reward


class WindowState(NamedTuple):
    """Counts of the window, its sums in two parts, and its rounds."""

    count: jax.Array  # [K]  N_i
    ending: jax.Array  # [K]  sum of the rewards in the rounds of the last block that are still in the window
    beginning: jax.Array  # [K]  sum of the rewards in the rounds of this block
    index: jax.Array  # [tau] int32, the arms played
    value: jax.Array  # [tau]  rewards of this block; for the last block, sums of later rewards of the same arm

    @property
    def pulls(self) -> Pulls:
        """Counts and sums of the window."""
        return Pulls(self.count, self.ending + self.beginning)


@pytree
class SWUCB(IndexPolicy):
    """UCB on the last tau rounds.

    Guarantee:
      Independent rewards in [0, B] whose means change at most C times up to T, xi > 1/2, tau as in `theory`: a
      suboptimal arm is played $O(sqrt(C T log T))$ times in expectation.

    Deviations:
      * [ours] Ties: the first arm wins.

    References:
      Aurelien Garivier, Eric Moulines. On Upper-Confidence Bound Policies for Switching Bandit Problems. ALT 2011,
      arXiv:0805.3415.
    """

    source: ClassVar[str] = "Garivier & Moulines, ALT 2011, SW-UCB"
    window: int = static(range="[1, inf)", doc="tau, number of rounds in the window")
    reward_bound: ArrayLike = param(1.0, "(0, inf)", "B: rewards lie in [0, B]")
    xi: ArrayLike = param(0.6, "[0, inf)", "xi, factor of the exploration; above 1/2 in the theory")

    @classmethod
    def theory(cls, *, n_arms: int, horizon: int, changes: int, reward_bound: float = 1.0, **fields: Any) -> "SWUCB":
        """Use tau = 2 B sqrt(T log T / C), rounded up, for C changes in T rounds."""
        horizon = ranges.integer("horizon", horizon, "[1, 1000000000000]")
        rounds = horizon * math.log(horizon) / ranges.integer("changes", changes, f"[1, {horizon}]")
        window = 2.0 * ranges.real("reward_bound", reward_bound, "(0, 1e6]") * math.sqrt(rounds)
        return cls(**{"n_arms": n_arms, "window": max(1, math.ceil(window)), "reward_bound": reward_bound} | fields)

    @classmethod
    def example(cls) -> "SWUCB":
        return cls(n_arms=5, window=20)

    def init(self, key: jax.Array) -> WindowState:
        del key  # deterministic
        zero, size = jnp.zeros(self.n_arms), self.window
        return WindowState(zero, zero, zero, jnp.zeros(size, jnp.int32), jnp.zeros(size))

    def index(self, key: jax.Array, t: jax.Array, state: WindowState) -> jax.Array:
        del key
        pulls, log_window = state.pulls, log_rounds(jnp.minimum(t, self.window))
        return pulls.mean + self.reward_bound * jnp.sqrt(self.xi * log_window / pulls.positive_count)

    def update(
        self, key: jax.Array, t: jax.Array, state: WindowState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> WindowState:
        del key, obs
        arm, reward = decision.index, jnp.asarray(feedback.reward, state.value.dtype)
        (oldest, later), (index, value) = history.exchange((state.index, state.value), t, (arm, reward))
        leaves = jnp.where(t >= self.window, 1.0, 0.0)
        ending = state.ending.at[oldest].set(later)  # 0 in the first block
        beginning = state.beginning.at[arm].add(reward)
        is_full = t % self.window == self.window - 1  # t is the same for all trials: a real branch
        ending, value, beginning = batching.cond(
            is_full,
            lambda: (*_later_sums(index, value, self.n_arms), jnp.zeros_like(beginning)),
            lambda: (ending, value, beginning),
        )
        return WindowState(state.count.at[oldest].add(-leaves).at[arm].add(1.0), ending, beginning, index, value)


def _later_sums(index: jax.Array, reward: jax.Array, n_arms: int) -> tuple[jax.Array, jax.Array]:
    """Return the sums of a block `[K]`, and at each of its rounds `[tau]` that of the later rewards of the same arm."""
    size = len(index)

    def step(i: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        total, value = carry
        arm = lax.dynamic_index_in_dim(index, size - 1 - i, 0, keepdims=False)
        paid, value = history.exchange(value, size - 1 - i, total[arm])
        return total.at[arm].add(paid), value

    return batching.fori_loop(0, size, step, (jnp.zeros(n_arms, reward.dtype), reward))
