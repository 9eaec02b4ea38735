"""Robust UCB with the truncated mean (Bubeck, Cesa-Bianchi & Lugosi, IEEE Trans. Information Theory 59(11), 2013).

    m_i    = 1 / T_i sum_{s <= T_i} X_s 1{|X_s| <= (u s / l_t)^{1/(1+eps)}}     X_s the s-th reward of arm i
    play     argmax_i  m_i + 4 u^{1/(1+eps)} (l_t / T_i)^{eps/(1+eps)},   after one play of every arm
    l_t    = log(n^2),   n the smallest power of two with n >= t

in round $t = 1$, 2, ... Notation: u moment_bound, $E |X|^{1+eps} <= u$. The truncation level changes with t, which
would require all rewards. With $l_t$ on a grid of 31 levels, one sum per level suffices: memory and time are $O(31 K)$.
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
    """Counts, and the sum of the truncated rewards at each level."""

    count: jax.Array  # [K]  T_i
    totals: jax.Array  # [31, K]  at l = log 4, log 16, ..., log 4^31


@pytree
class RobustUCB(IndexPolicy):
    """UCB for rewards that may have infinite variance; a moment of order 1 + eps suffices for logarithmic regret.

    `MedianOfMeansUCB` and `CatoniUCB` have the other estimators of the paper.

    Guarantee:
      Independent rewards with $E |X|^{1+eps} <= u$, gaps $D_i$: expected regret is at most
      $sum_{D_i > 0} (8 (4 u / D_i)^{1/eps} log T + 5 D_i)$ with $l_t = log(t^2)$ (their Section 2).

    Deviations:
      * [ours] t is rounded up to a power of two in $l_t$, which is at most log 4 above $log(t^2)$.
      * [ours] Ties go to the first arm.

    References:
      Sebastien Bubeck, Nicolo Cesa-Bianchi, Gabor Lugosi. Bandits with Heavy Tail. IEEE Transactions on Information
      Theory 59(11), 2013, Figure 1, Lemma 1.
    """

    source: ClassVar[str] = "Bubeck, Cesa-Bianchi & Lugosi, IEEE Trans. Inf. Theory 2013, truncated mean"
    environments: ClassVar[tuple[str, ...]] = ("armed/noisy_arms",)
    moment_bound: ArrayLike = param(1.0, "(0, inf)", "u, bound on E |X|^{1+eps} of every arm")
    eps: ArrayLike = param(1.0, "(0, 1]", "eps, rewards have a moment of order 1 + eps")
    scale: ArrayLike = param(1.0, "[0, inf)", "multiplies the width; the theory uses 1")

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
        level = jnp.clip(32 - lax.clz(t).astype(jnp.int32), 1, _LEVELS)
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
        stays = grid * jnp.abs(reward) ** (1.0 + self.eps) <= self.moment_bound * count[i]
        left = jnp.where(stays, reward, 0.0)  # [31]
        is_played = jnp.arange(self.n_arms) == i
        return TruncatedState(count, state.totals + jnp.where(is_played, left[:, None], 0.0))
