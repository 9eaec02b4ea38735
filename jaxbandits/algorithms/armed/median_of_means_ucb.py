"""Robust UCB with the median of means (Bubeck, Cesa-Bianchi & Lugosi, IEEE Trans. Information Theory 59(11), 2013).

    k        = floor(8 log(e^{1/8} t^2)), at most T_i / 2 and at least 1
    m_i      = median of the means of floor(T_i / N) blocks of N consecutive rewards of arm i,
               N the largest power of two with N k <= T_i
    play     argmax_i  m_i + (12 v)^{1/(1+eps)} (16 log(e^{1/8} t^2) / T_i)^{eps/(1+eps)},   after one play of every arm

The policy plays this arm in round $t = 1$, 2, ... Notation: v is the field `moment_bound`, with $E |X - E X|^{1+eps} <=
v$, and B is `n_bins`. The cost per round is $O(B K)$, with 32 passes over the bins of one arm, or 64 in float64. The
memory is $O(B K)$.
"""

import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, log_rounds
from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.estimation import arm_models, bins
from jaxbandits.estimation.bins import Bins
from jaxbandits.numerics.order_statistics import median
from jaxbandits.types import ArmDecision, ArmObs, Reward


class MedianState(NamedTuple):
    """Rewards in bins, and the median of means of each arm for every block length."""

    bins: Bins
    medians: jax.Array  # [levels, K]  of blocks of 1, 2, 4, ... bins; 0 where no block is complete

    @property
    def count(self) -> jax.Array:
        """Numbers of plays T_i `[K]` of the arms."""
        return self.bins.count


@pytree
class MedianOfMeansUCB(IndexPolicy):
    """UCB with medians of means, for rewards whose variance may be infinite.

    A bound on the central moment of order 1 + eps of the rewards must be known.

    Guarantee:
      If rewards are independent with $E |X - E X|^{1+eps} <= v$, the gaps are $D_i$ and `scale` is 1, then the expected
      regret after T rounds is of the order $sum_{D_i > 0} ((v / D_i)^{1/eps} log T + D_i)$ for $T <= e^{B/32}$.

    Deviations:
      * [reconstructed] k and the width are derived from the paper's Lemma 2.
      * [ours] The number of rewards in a block is a power of two, and there are up to 2 k blocks; the paper has k
        blocks of $floor(T_i / k)$ rewards. The proof needs at least k blocks of more than $T_i / (2 k)$ rewards. This
        condition is satisfied here, so that the constants of the paper are valid. Since k is at most B / 2, it does not
        grow after round $e^{B/32}$. The median of an even number of means is the mean of the two middle values. Ties go
        to the first arm.

    References:
      Sebastien Bubeck, Nicolo Cesa-Bianchi, Gabor Lugosi. Bandits with Heavy Tail. IEEE Transactions on Information
      Theory 59(11), 2013, Figure 1, Lemma 2.
    """

    source: ClassVar[str] = "Bubeck, Cesa-Bianchi & Lugosi, IEEE Trans. Inf. Theory 2013, median of means"
    environments: ClassVar[tuple[str, ...]] = ("armed/noisy_arms",)
    moment_bound: ArrayLike = param(1.0, "(0, inf)", "v, bound on E |X - E X|^{1+eps} of every arm")
    eps: ArrayLike = param(1.0, "(0, 1]", "eps, where 1 + eps is the order of the moment that is bounded")
    scale: ArrayLike = param(1.0, "[0, inf)", "multiplier of the width; the theory uses 1")
    n_bins: int = static(
        512, "[2, 65536]", "B, number of bins per arm (a power of two); 512 suffices for 8 million rounds"
    )

    @classmethod
    def theory(
        cls, *, n_arms: int, horizon: int, moment_bound: ArrayLike, eps: ArrayLike = 1.0, **changes: FieldValue
    ) -> "MedianOfMeansUCB":
        """Use the width of Lemma 2, and the number of bins that the horizon needs."""
        blocks = math.floor(1.0 + 16.0 * math.log(ranges.integer("horizon", horizon, "[1, 2147483647]")))
        fields = {"n_arms": n_arms, "moment_bound": moment_bound, "eps": eps, "n_bins": 2 << (blocks - 1).bit_length()}
        return cls(**fields | changes)

    @classmethod
    def example(cls) -> "MedianOfMeansUCB":
        return cls(n_arms=5, moment_bound=2.0, eps=0.9, scale=0.2, n_bins=32)

    def check(self) -> None:
        """Raise InputError for a number of bins that is not a power of two."""
        if self.n_bins & (self.n_bins - 1):
            raise InputError(f"MedianOfMeansUCB.n_bins must be a power of two, got {self.n_bins}")

    def init(self, key: jax.Array) -> MedianState:
        del key  # deterministic
        return MedianState(bins.empty(self.n_bins, self.n_arms), jnp.zeros((self._n_levels(), self.n_arms)))

    def index(self, key: jax.Array, t: jax.Array, state: MedianState) -> jax.Array:
        del key
        level = 0.125 + 2.0 * log_rounds(t + 1)
        played = jnp.maximum(state.count, 1.0)
        most = jnp.minimum(jnp.floor(0.5 * played), 0.5 * self.n_bins)
        blocks = jnp.maximum(jnp.minimum(jnp.floor(8.0 * level), most), 1.0)
        estimate = state.medians[0]
        for merged, candidate in enumerate(state.medians[1:], start=1):
            estimate = jnp.where(blocks * state.bins.size * 2.0**merged <= played, candidate, estimate)
        order = 1.0 + self.eps
        width = (12.0 * self.moment_bound) ** (1.0 / order) * (16.0 * level / played) ** (self.eps / order)
        return estimate + self.scale * width

    def update(
        self, key: jax.Array, t: jax.Array, state: MedianState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> MedianState:
        del key, t, obs
        arm = bins.add(arm_models.of_arm(state.bins, decision.index), feedback.reward)
        means, complete = arm.mean, arm.complete
        medians = [median(means, complete)]
        for _ in range(self._n_levels() - 1):
            means, complete = means.reshape(-1, 2).mean(axis=1), jnp.floor(0.5 * complete)
            medians.append(median(means, complete))
        return arm_models.replace(state, decision.index, MedianState(arm, jnp.stack(medians)))

    def _n_levels(self) -> int:
        """Return how many of the block lengths of 1, 2, 4, ... bins can occur.

        With bins of one reward, an arm with n <= B plays has blocks of at most n / k bins in any round t >= n. This
        ratio is largest for n = B.
        """
        least = max(1.0, min(0.5 * self.n_bins, math.floor(1.0 + 16.0 * math.log(self.n_bins))))
        return 1 + math.floor(math.log2(max(2.0, self.n_bins / least)))
