"""UCB(delta): UCB with a fixed confidence level (Lattimore & Szepesvari, Bandit Algorithms, 2020, Algorithm 3).

    play   argmax_i  m_i + R sqrt(2 log(1 / delta) / T_i),   after one play of every arm

Arm i has $T_i$ plays with mean reward $m_i$. Notation: R is the field `noise_scale`. The cost per round is
$O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls, hoeffding_scale
from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree


@pytree
class UCBDelta(IndexPolicy):
    """Index policy for sub-Gaussian rewards, with upper confidence bounds whose level does not depend on the round.

    Guarantee:
      If rewards are independent and 1-sub-Gaussian, and the gaps are $D_i$, then the expected regret with `theory`
      after n rounds is at most $3 sum_i D_i + 16 sum_{D_i > 0} log n / D_i$ (Theorem 7.1).

    Deviations:
      * [ours] R is a field; it is 1 in the book. Ties go to the first arm.

    References:
      Tor Lattimore, Csaba Szepesvari. Bandit Algorithms. Cambridge University Press, 2020, Algorithm 3, Theorem 7.1.
    """

    source: ClassVar[str] = "Lattimore & Szepesvari, Bandit Algorithms, 2020, Algorithm 3"
    delta: ArrayLike = param(range="(0, 1)", doc="delta, failure probability of one confidence bound")
    noise_scale: ArrayLike = param(
        1.0, "[0, inf)", "R, sub-Gaussian constant of the rewards; 1/2 for rewards in [0, 1]"
    )

    @classmethod
    def theory(cls, *, n_arms: int, horizon: ArrayLike, **changes: FieldValue) -> "UCBDelta":
        """Use delta = 1 / n^2 for n rounds, as in Theorem 7.1."""
        horizon = ranges.numbers("horizon", horizon, "[2, 1e9]")
        return cls(**{"n_arms": n_arms, "delta": 1.0 / np.square(horizon)} | changes)

    @classmethod
    def bounded(cls, *, n_arms: int, horizon: ArrayLike, width: ArrayLike = 1.0, **changes: FieldValue) -> "UCBDelta":
        """Use R = w / 2 for rewards in an interval of width w, such as [0, 1], and the delta of `theory`."""
        return cls.theory(n_arms=n_arms, horizon=horizon, **{"noise_scale": hoeffding_scale(width)} | changes)

    @classmethod
    def example(cls) -> "UCBDelta":
        return cls(n_arms=5, delta=0.01, noise_scale=0.5)

    @property
    def sub_gaussian_scale(self) -> ArrayLike:
        """Sub-Gaussian constant R of the rewards."""
        return self.noise_scale

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del key, t
        return state.mean + self.noise_scale * jnp.sqrt(-2.0 * jnp.log(self.delta) / state.positive_count)
