"""Abstract index policy on the rewards of a sliding window, for non-stationary bandits.

The sums over the window are computed without subtraction, since subtracting a huge reward would not restore the digits
that its addition had rounded away. Rounds are grouped into blocks of tau, so that the window consists of the end of one
block and the beginning of the next. The sum over the beginning of the current block grows by addition. When a block is
complete, the reward of each of its rounds is replaced by the sum of all later rewards of the same arm in this block.
When such a round leaves the window, the stored sum is exactly the sum of the arm's rewards in this block that are still
in the window. The cost per round is $O(K)$ on average, and the memory is $O(K + tau)$.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls
from jaxbandits.base.pytree import pytree, static
from jaxbandits.estimation import history
from jaxbandits.tracing import batching
from jaxbandits.types import ArmDecision, ArmObs, Reward


class WindowState(NamedTuple):
    """Counts over the window, sums over its two parts, and the arms and rewards of its rounds."""

    count: jax.Array  # [K]  N_i
    ending: jax.Array  # [K]  sum of the rewards in the rounds of the previous block that are still in the window
    beginning: jax.Array  # [K]  sum of the rewards in the rounds of the current block
    index: jax.Array  # [tau] int32, the arms played
    value: jax.Array  # [tau]  rewards of the current block; for the previous one, sums of later rewards of the same arm

    @property
    def pulls(self) -> Pulls:
        """Counts and sums of the rewards in the window."""
        return Pulls(self.count, self.ending + self.beginning)


@pytree
class WindowPolicy(IndexPolicy):
    """Abstract policy over counts and sums of the last tau rounds; arms without plays in the window come first."""

    window: int = static(range="[1, inf)", doc="tau, number of rounds in the window")

    def init(self, key: jax.Array) -> WindowState:
        del key  # deterministic
        zero, size = jnp.zeros(self.n_arms), self.window
        return WindowState(zero, zero, zero, jnp.zeros(size, jnp.int32), jnp.zeros(size))

    def update(
        self, key: jax.Array, t: jax.Array, state: WindowState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> WindowState:
        del key, obs
        arm, reward = decision.index, jnp.asarray(feedback.reward, state.value.dtype)
        (oldest, later), (index, value) = history.exchange((state.index, state.value), t, (arm, reward))
        leaves = jnp.where(t >= self.window, 1.0, 0.0)
        ending = state.ending.at[oldest].set(later)  # 0 in the first block
        beginning = state.beginning.at[arm].add(reward)
        is_full = t % self.window == self.window - 1  # all trials share t, so that this remains a branch under `vmap`
        ending, value, beginning = batching.cond(
            is_full,
            lambda: (*_later_sums(index, value, self.n_arms), jnp.zeros_like(beginning)),
            lambda: (ending, value, beginning),
        )
        return WindowState(state.count.at[oldest].add(-leaves).at[arm].add(1.0), ending, beginning, index, value)


def _later_sums(index: jax.Array, reward: jax.Array, n_arms: int) -> tuple[jax.Array, jax.Array]:
    """Return the sums `[K]` over a block, and for each round the sum `[tau]` of the later rewards of the same arm."""
    size = len(index)

    def step(i: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        total, value = carry
        arm = lax.dynamic_index_in_dim(index, size - 1 - i, 0, keepdims=False)
        paid, value = history.exchange(value, size - 1 - i, total[arm])
        return total.at[arm].add(paid), value

    return batching.fori_loop(0, size, step, (jnp.zeros(n_arms, reward.dtype), reward))
