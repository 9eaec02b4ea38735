"""Robust UCB with Catoni's estimator (Bubeck, Cesa-Bianchi & Lugosi, IEEE Trans. Information Theory 59(11), 2013).

    m_i      = root of  sum_s psi(alpha (X_s - m)) = 0   over the rewards X_s of arm i
    psi(x)   = sign(x) log(1 + |x| + x^2 / 2)
    alpha    = sqrt(2 l_t / (n v (1 + 2 l_t / (n - 2 l_t)))),   n = T_i,   l_t = log(t^2)
    play     argmax_i  m_i + 2 sqrt(v l_t / T_i),   arms with T_i < 4 l_t first

The policy plays this arm in round $t = 1$, 2, ... Notation: v is the field `variance_bound` and B is `n_bins`. After
more than B rewards of an arm, each $X_s$ is a mean of N rewards (`estimation.bins`) with variance v / N. The cost per
round and the memory are $O(B K)$.
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
from jaxbandits.numerics import elementary
from jaxbandits.tracing import batching
from jaxbandits.types import ArmDecision, ArmObs, Reward

# The score of an arm with too few plays is this fraction of the largest float, divided by K: above every index, but
# below the score of arms without plays.
_UNDECIDED = 0.25


class CatoniState(NamedTuple):
    """Rewards in bins, and the starting points of the root search."""

    bins: Bins
    mean: jax.Array  # [K]  the root after the last reward of the arm

    @property
    def count(self) -> jax.Array:
        """Numbers of plays T_i `[K]` of the arms."""
        return self.bins.count


@pytree
class CatoniUCB(IndexPolicy):
    """UCB for rewards with finite variance, with Catoni's estimate of the mean, which is robust to a few large rewards.

    Guarantee:
      If rewards are independent with variance at most v, the gaps are $D_i$ and `scale` is 1, then the expected regret
      after T rounds is of the order $sum_{D_i > 0} ((v / D_i + D_i) log T)$ for $T <= e^{B/16}$.

    Deviations:
      * [printed] psi is Catoni's own choice, the widest influence function that the paper admits.
      * [reconstructed] alpha, the width and the number of initial plays are derived from the paper's Lemma 3.
      * [ours] As long as $T_i <= B$, the estimate agrees with the paper. For larger $T_i$ it is computed from the means
        of at least B / 2 bins, for which Lemma 3 holds with the same constants; the latest rewards (a fraction below 2
        / B) are not used until their bin is complete. Rounds after round $e^{B/16}$ use $l_t$ of round $e^{B/16}$. The
        root is computed by a fixed number of Newton steps that start from the previous root of the arm. Ties go to the
        first arm.

    References:
      Sebastien Bubeck, Nicolo Cesa-Bianchi, Gabor Lugosi. Bandits with Heavy Tail. IEEE Transactions on Information
      Theory 59(11), 2013, Lemma 3.
      Olivier Catoni. Challenging the Empirical Mean and Empirical Variance: a Deviation Study. Annales de l'Institut
      Henri Poincare 48(4), 2012.
    """

    source: ClassVar[str] = "Bubeck, Cesa-Bianchi & Lugosi, IEEE Trans. Inf. Theory 2013, Catoni's estimator"
    environments: ClassVar[tuple[str, ...]] = ("armed/noisy_arms",)
    variance_bound: ArrayLike = param(1.0, "(0, inf)", "v, bound on the variance of every arm")
    scale: ArrayLike = param(1.0, "[0, inf)", "multiplier of the width; the theory uses 1")
    n_bins: int = static(256, "[2, 65536]", "B, even number of bins per arm; 256 suffices for 8 million rounds")

    @classmethod
    def theory(cls, *, n_arms: int, horizon: int, variance_bound: ArrayLike, **changes: FieldValue) -> "CatoniUCB":
        """Use the width of Lemma 3, and the number of bins that the horizon needs."""
        plays = math.ceil(8.0 * math.log(ranges.integer("horizon", horizon, "[1, 2147483647]")))
        return cls(**{"n_arms": n_arms, "variance_bound": variance_bound, "n_bins": 2 * max(1, plays)} | changes)

    @classmethod
    def example(cls) -> "CatoniUCB":
        return cls(n_arms=5, variance_bound=2.0, scale=0.5, n_bins=64)

    def check(self) -> None:
        """Raise InputError for an odd number of bins, since full bins are merged in pairs."""
        if self.n_bins % 2:
            raise InputError(f"CatoniUCB.n_bins must be even, got {self.n_bins}")

    def init(self, key: jax.Array) -> CatoniState:
        del key  # deterministic
        return CatoniState(bins.empty(self.n_bins, self.n_arms), jnp.zeros(self.n_arms))

    def index(self, key: jax.Array, t: jax.Array, state: CatoniState) -> jax.Array:
        del key
        level, n = self._level(t), state.bins.complete
        mean = self._root(level, state.bins, state.mean)
        used = jnp.maximum(n * state.bins.size, 1.0)
        value = mean + self.scale * 2.0 * jnp.sqrt(self.variance_bound * level / used)
        undecided = _UNDECIDED * float(jnp.finfo(value.dtype).max) / self.n_arms
        return jnp.where(n >= 4.0 * level, value, undecided)

    def update(
        self, key: jax.Array, t: jax.Array, state: CatoniState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> CatoniState:
        del key, obs
        old = arm_models.of_arm(state, decision.index)
        arm = bins.add(old.bins, feedback.reward)
        return arm_models.replace(state, decision.index, CatoniState(arm, self._root(self._level(t), arm, old.mean)))

    def _level(self, t: jax.Array) -> jax.Array:
        """Return l_t, capped at the value for which B / 2 bins are enough."""
        return jnp.minimum(2.0 * log_rounds(t + 1), 0.125 * self.n_bins)

    def _root(self, level: jax.Array, arm: Bins, start: jax.Array) -> jax.Array:
        """Return the estimate m_i of all arms `[K]`, or that of one arm `[]`, whose bins are given."""
        n, counts = arm.complete, bins.is_complete(arm)
        # With fewer than 4 l_t plays the index does not use alpha; alpha is then computed for 4 l_t plays.
        n_or_more = jnp.maximum(n, jnp.maximum(4.0 * level, 1.0))
        spread = self.variance_bound / arm.size * (1.0 + 2.0 * level / (n_or_more - 2.0 * level))
        alpha = jnp.maximum(jnp.sqrt(2.0 * level / (n_or_more * spread)), 1e-6 / jnp.sqrt(spread))
        values = alpha * jnp.where(counts, arm.mean, 0.0)
        return _catoni_root(values, counts, alpha * start) / alpha


def _catoni_root(values: jax.Array, counts: jax.Array, start: jax.Array) -> jax.Array:
    """Return the root z of `sum psi(x - z)` over the values x `[B, ...]` for which `counts` is True."""
    most = 0.5 * float(jnp.finfo(values.dtype).max) ** 0.5  # a larger x counts as this number, whose square is finite

    def move(z: jax.Array, is_newton: bool) -> jax.Array:
        x = values - z
        size = jnp.minimum(jnp.abs(x), most)
        square = 1.0 + size + 0.5 * size * size
        psi = jnp.sign(x) * elementary.log(square)
        is_small = size < 1e-6
        slope = (1.0 + size) / square if is_newton else jnp.where(is_small, 1.0, psi / jnp.where(is_small, 1.0, x))
        total = jnp.sum(jnp.where(counts, psi, 0.0), axis=0)
        return z + total / jnp.maximum(jnp.sum(jnp.where(counts, slope, 0.0), axis=0), 1e-6)

    steps = 3 if values.dtype == jnp.float32 else 6
    z = move(start, is_newton=False)  # reweighted least squares, which converges from any starting point
    return batching.fori_loop(0, steps, lambda _, z: move(z, is_newton=True), z)
