"""Sequential halving for a fixed budget (Karnin, Koren & Somekh, ICML 2013).

    phase r = 0, ..., L - 1,  L = ceil(log_2 K):  play each of the K_r remaining arms floor(n / (K_r L)) times
    keep the ceil(K_r / 2) arms with the largest mean rewards in the phase

The first phase has $K_0 = K$ arms, and n is the budget of rounds. The cost per round is $O(K)$, and $O(K^2)$ at the end
of a phase.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.algorithms.explore.identification import Identification
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import pytree, static
from jaxbandits.numerics import first_axis
from jaxbandits.tracing import batching
from jaxbandits.types import ArmDecision, ArmObs, Reward

_OUT = 1e15  # penalty of an eliminated arm, larger than any number of plays


class HalvingState(NamedTuple):
    """Remaining arms, with the counts and sums of the current phase."""

    pulls: Pulls
    is_left: jax.Array  # [K] 1 for a remaining arm, 0 for an eliminated one

    @property
    def count(self) -> jax.Array:
        """Numbers of plays `[K]` in this phase."""
        return self.pulls.count


@pytree
class SequentialHalving(Identification):
    """Fixed-budget best-arm identification: every phase eliminates half of the remaining arms.

    Guarantee:
      If rewards are independent and in [0, 1], the probability that the recommended arm is not the best arm is at most
      3 log_2 K exp(-n / (8 H_2 log_2 K)), where H_2 = max_{i > 1} i / D_(i)^2 and D_(i) is the gap of the i-th best
      arm.

    Deviations:
      * [ours] Within a phase the arms are played in turn, and phases end at fixed rounds. With delayed feedback or arms
        that are not always available, the means are those of the rewards received in the phase, and arms without a
        reward in the phase rank last. Ties go to the first arm.

    References:
      Zohar Karnin, Tomer Koren, Oren Somekh. Almost Optimal Exploration in Multi-Armed Bandits. ICML 2013, Algorithm 2.
      Tor Lattimore, Csaba Szepesvari. Bandit Algorithms. Cambridge University Press, 2020, Algorithm 22, Theorem 33.10:
      the factor 16 in place of 8 for 1-sub-Gaussian rewards, which becomes 4 for rewards in [0, 1].
    """

    source: ClassVar[str] = "Karnin, Koren & Somekh, ICML 2013, sequential halving"
    first_pulls: ClassVar[float] = 0.0  # every phase plays all remaining arms
    budget: int = static(range="[1, inf)", doc="n, total number of rounds")

    @classmethod
    def example(cls) -> "SequentialHalving":
        return cls(n_arms=5, budget=60)

    def check(self) -> None:
        """Raise InputError if the budget is too small for one play of every remaining arm in each phase."""
        least = self.n_arms * max(1, len(self._sizes))
        if self.budget < least:
            raise InputError(
                f"SequentialHalving.budget must be at least {least} for {self.n_arms} arms, got {self.budget}"
            )

    @property
    def _sizes(self) -> list[int]:
        """Number K_r of remaining arms in each phase r."""
        sizes, left = [], self.n_arms
        while left > 1:
            sizes.append(left)
            left = -(-left // 2)
        return sizes

    @property
    def ends(self) -> list[int]:
        """Numbers of rounds after which the phases end."""
        ends = [0]
        for size in self._sizes:
            ends.append(ends[-1] + size * (self.budget // (size * len(self._sizes))))
        return ends[1:]

    @property
    def _phases(self) -> list[tuple[int, int, int]]:
        """First round of each phase, the round after its last, and its number of arms."""
        ends = self.ends
        return list(zip([0, *ends][: len(ends)], ends, self._sizes, strict=True))  # no phase for a single arm

    def init(self, key: jax.Array) -> HalvingState:
        return HalvingState(super().init(key), jnp.ones(self.n_arms))

    def pulls(self, state: HalvingState) -> Pulls:
        return state.pulls

    def index(self, key: jax.Array, t: jax.Array, state: HalvingState) -> jax.Array:
        del key
        left = jnp.sum(state.is_left).astype(t.dtype)
        # Every phase starts with fewer arms than the phase before it.
        start = sum(
            (jnp.where(left < size, end - begin, 0) for begin, end, size in self._phases), jnp.zeros((), t.dtype)
        )
        rank = jnp.cumsum(state.is_left).astype(t.dtype) - 1
        turn = (rank - (t - start)) % jnp.maximum(left, 1)
        # If feedback is late, the arm with the fewest rewards would be played until its first reward arrives.
        is_late = jnp.sum(state.count) < (t - start).astype(state.count.dtype)
        order = jnp.where(is_late, turn.astype(state.count.dtype), state.count)
        return jnp.where(state.is_left > 0.0, 0.0, -_OUT) - order

    def update(
        self, key: jax.Array, t: jax.Array, state: HalvingState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> HalvingState:
        del key, obs
        state = HalvingState(state.pulls.add(decision.index, feedback.reward), state.is_left)
        for end, size in zip(self.ends, self._sizes, strict=True):
            # All trials share t, so that this remains a branch under `vmap`.
            state = batching.cond(t == end - 1, lambda s=state, k=-(-size // 2): _halve(s, k), lambda s=state: s)
        return state

    def stopped(self, state: HalvingState) -> jax.Array:
        return jnp.sum(state.is_left) == 1.0

    def recommend(self, state: HalvingState) -> jax.Array:
        return first_axis.argmax(_scores(state))


def _halve(state: HalvingState, n_kept: int) -> HalvingState:
    """Return the first state of the next phase, which keeps the `n_kept` arms with the largest means."""
    score, numbers = _scores(state), jnp.arange(len(state.is_left))

    def add_beaten(k: jax.Array, rank: jax.Array) -> jax.Array:
        beats = (score[k] > score) | ((score[k] == score) & (k < numbers))
        return rank + beats

    rank = batching.fori_loop(0, len(score), add_beaten, jnp.zeros(len(score)))
    zero = jnp.zeros_like(score)
    return HalvingState(Pulls(zero, zero), jnp.where(rank < n_kept, state.is_left, 0.0))


def _scores(state: HalvingState) -> jax.Array:
    """Return the means `[K]` of the remaining arms; remaining arms without rewards rank below them, others last."""
    mean = state.pulls.mean
    mean = jnp.where(state.count > 0.0, mean, jnp.finfo(mean.dtype).min)
    return jnp.where(state.is_left > 0.0, mean, -jnp.inf)
