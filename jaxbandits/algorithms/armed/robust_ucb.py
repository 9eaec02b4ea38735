"""Robust UCB with the truncated mean (Bubeck, Cesa-Bianchi & Lugosi, IEEE Trans. Information Theory 59(11), 2013).

    m_i    = 1 / T_i sum_{s <= T_i} X_s 1{|X_s| <= (u s / l_t)^{1/(1+eps)}}     X_s the s-th reward of arm i
    play     argmax_i  m_i + 4 u^{1/(1+eps)} (l_t / T_i)^{eps/(1+eps)},   after one play of every arm
    l_t    = log(n^2),   n the smallest power of two with n >= max(t, 2)

The policy plays this arm in round $t = 1$, 2, ... Notation: u is the field `moment_bound`, with $E |X|^{1+eps} <= u$.
The truncation level changes with t, so that an exact update would need all past rewards. Since $l_t$ takes only 31
values, one truncated sum per value suffices: the memory and the cost per round are $O(31 K)$.
"""

import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.algorithms.armed.index_policy import IndexPolicy
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree
from jaxbandits.types import ArmDecision, ArmObs, Reward

_LEVELS = 31  # rounds are counted in 31 bits


class TruncatedState(NamedTuple):
    """Number of rewards of each arm, and the sum of its truncated rewards at each level."""

    count: jax.Array  # [K]  T_i
    totals: jax.Array  # [31, K]  at l = log 4, log 16, ..., log 4^31


@pytree
class RobustUCB(IndexPolicy):
    """UCB with truncated means, for rewards that may have infinite variance but have a moment of order 1 + eps.

    `MedianOfMeansUCB` and `CatoniUCB` use the other two estimators of the paper.

    Guarantee:
      If rewards are independent with $E |X|^{1+eps} <= u$, the gaps are $D_i$ and `scale` is 1, then the expected
      regret after T rounds is at most $sum_{D_i > 0} (8 (4 u / D_i)^{1/eps} log T + 5 D_i)$ with $l_t = log(t^2)$
      (Section 2 of the paper).

    Deviations:
      * [ours] In $l_t$, t is rounded up to a power of two, so that $l_t$ exceeds $log(t^2)$ by at most log 4.
      * [ours] Ties go to the first arm.

    References:
      Sebastien Bubeck, Nicolo Cesa-Bianchi, Gabor Lugosi. Bandits with Heavy Tail. IEEE Transactions on Information
      Theory 59(11), 2013, Figure 1, Lemma 1.
    """

    source: ClassVar[str] = "Bubeck, Cesa-Bianchi & Lugosi, IEEE Trans. Inf. Theory 2013, truncated mean"
    environments: ClassVar[tuple[str, ...]] = ("armed/noisy_arms",)
    moment_bound: ArrayLike = param(1.0, "(0, inf)", "u, bound on E |X|^{1+eps} of every arm")
    eps: ArrayLike = param(1.0, "(0, 1]", "eps, where 1 + eps is the order of the moment that is bounded")
    scale: ArrayLike = param(1.0, "[0, inf)", "multiplier of the width; the theory uses 1")

    @classmethod
    def theory(
        cls, *, n_arms: int, moment_bound: ArrayLike, eps: ArrayLike = 1.0, **changes: FieldValue
    ) -> "RobustUCB":
        """Use the width of Lemma 1, which is the default."""
        return cls(**{"n_arms": n_arms, "moment_bound": moment_bound, "eps": eps} | changes)

    @classmethod
    def example(cls) -> "RobustUCB":
        return cls(n_arms=5, moment_bound=2.0, eps=0.9, scale=0.5)

    def init(self, key: jax.Array) -> TruncatedState:
        del key  # deterministic
        return TruncatedState(jnp.zeros(self.n_arms), jnp.zeros((_LEVELS, self.n_arms)))

    def index(self, key: jax.Array, t: jax.Array, state: TruncatedState) -> jax.Array:
        del key
        # The number of bits of t is the least k with 2^k >= t + 1.
        level = jnp.clip(32 - lax.clz(jnp.asarray(t, jnp.int32)), 1, _LEVELS)
        total = lax.dynamic_index_in_dim(state.totals, level - 1, 0, keepdims=False)
        played = jnp.maximum(state.count, 1.0)
        share = 2.0 * math.log(2.0) * level / played
        order = 1.0 + self.eps
        width = 4.0 * self.moment_bound ** (1.0 / order) * share ** (self.eps / order)
        return total / played + self.scale * width

    def update(
        self, key: jax.Array, t: jax.Array, state: TruncatedState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> TruncatedState:
        del key, t, obs
        i, reward = decision.index, feedback.reward
        count = state.count.at[i].add(1.0)
        grid = 2.0 * math.log(2.0) * jnp.arange(1, _LEVELS + 1)
        is_cut = grid * jnp.abs(reward) ** (1.0 + self.eps) > self.moment_bound * count[i]
        left = jnp.where(is_cut, 0.0, reward)  # [31]  a NaN remains, so that the trial counts as failed
        is_played = jnp.arange(self.n_arms) == i
        return TruncatedState(count, state.totals + jnp.where(is_played, left[:, None], 0.0))
