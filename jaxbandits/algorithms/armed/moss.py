"""MOSS: minimax optimal strategy in the stochastic case (Audibert & Bubeck, COLT 2009).

    play   argmax_i  m_i + R sqrt((4 / T_i) log^+(n / (K T_i))),   log^+ x = max(0, log x),  after one play of every arm

Arm i has $T_i$ plays and mean reward $m_i$. This is the form of Lattimore & Szepesvari (2020), Algorithm 7. Notation: n
is the field `horizon` and R is `noise_scale`. The cost per round is $O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls, hoeffding_scale
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree
from jaxbandits.numerics import elementary


@pytree
class MOSS(IndexPolicy):
    """UCB with a known horizon, whose worst-case regret has no logarithmic factor.

    Guarantee:
      If rewards are independent and 1-sub-Gaussian, $R = 1$ and the gaps are $D_i$, then the expected regret after n
      rounds is at most $39 sqrt(K n) + sum_i D_i$ (Lattimore & Szepesvari, Theorem 9.1).

    Deviations:
      * [ours] R multiplies the width. With R = 1/2 the index is that of Audibert and Bubeck for rewards in [0, 1].
      * [ours] Ties go to the first arm.

    References:
      Jean-Yves Audibert, Sebastien Bubeck. Minimax Policies for Adversarial and Stochastic Bandits. COLT 2009.
      Tor Lattimore, Csaba Szepesvari. Bandit Algorithms. Cambridge University Press, 2020, Algorithm 7, Theorem 9.1.
    """

    source: ClassVar[str] = "Audibert & Bubeck, COLT 2009; Lattimore & Szepesvari, 2020, Algorithm 7"
    horizon: ArrayLike = param(range="[1, inf)", doc="n, number of rounds")
    noise_scale: ArrayLike = param(
        1.0, "[0, inf)", "R, sub-Gaussian constant of the rewards; 1/2 for rewards in [0, 1]"
    )

    @classmethod
    def theory(cls, *, n_arms: int, horizon: ArrayLike, **changes: FieldValue) -> "MOSS":
        """Use the constants of Theorem 9.1, which are the defaults."""
        return cls(**{"n_arms": n_arms, "horizon": horizon} | changes)

    @classmethod
    def bounded(cls, *, n_arms: int, horizon: ArrayLike, width: ArrayLike = 1.0, **changes: FieldValue) -> "MOSS":
        """Use R = w / 2 for rewards in an interval of width w, such as [0, 1]."""
        return cls(**{"n_arms": n_arms, "horizon": horizon, "noise_scale": hoeffding_scale(width)} | changes)

    @classmethod
    def example(cls) -> "MOSS":
        return cls(n_arms=5, horizon=200.0, noise_scale=0.5)

    @property
    def sub_gaussian_scale(self) -> ArrayLike:
        """Sub-Gaussian constant R of the rewards."""
        return self.noise_scale

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del key, t
        log_ratio = jnp.maximum(elementary.log(self.horizon / (self.n_arms * state.positive_count)), 0.0)
        return state.mean + self.noise_scale * jnp.sqrt(4.0 * log_ratio / state.positive_count)
