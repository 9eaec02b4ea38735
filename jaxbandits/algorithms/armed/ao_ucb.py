"""Asymptotically optimal UCB (Lattimore & Szepesvari, Bandit Algorithms, CUP 2020, Algorithm 6).

    play   argmax_i  m_i + R sqrt(2 log f(t) / T_i),   f(t) = 1 + t log^2 t,   after one play of every arm

The policy plays this arm in round $t = 1$, 2, ...; $T_i$ and $m_i$ are the number of plays and the mean reward of arm i
before round t. Notation: R is the field `noise_scale`. The cost per round is $O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls, hoeffding_scale, log_rounds
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree


@pytree
class AOUCB(IndexPolicy):
    """UCB that needs no horizon and whose regret has the smallest possible logarithmic rate for Gaussian rewards.

    Guarantee:
      If rewards are independent and R-sub-Gaussian, and the gaps are $D_i$, then the limsup of the expected regret
      after T rounds divided by log T is at most $sum_{D_i > 0} 2 R^2 / D_i$ (Theorem 8.1). No consistent policy has a
      smaller limit for Gaussian rewards of variance $R^2$.

    Deviations:
      * [ours] R is a field; it is 1 in the book. Ties go to the first arm.

    References:
      Tor Lattimore, Csaba Szepesvari. Bandit Algorithms. Cambridge University Press, 2020, Algorithm 6, Theorem 8.1.
    """

    source: ClassVar[str] = "Lattimore & Szepesvari, Bandit Algorithms, 2020, Algorithm 6"
    noise_scale: ArrayLike = param(
        1.0, "[0, inf)", "R, sub-Gaussian constant of the rewards; 1/2 for rewards in [0, 1]"
    )

    @classmethod
    def bounded(cls, *, n_arms: int, width: ArrayLike = 1.0, **changes: FieldValue) -> "AOUCB":
        """Use R = w / 2 for rewards in an interval of width w, such as [0, 1]."""
        return cls(**{"n_arms": n_arms, "noise_scale": hoeffding_scale(width)} | changes)

    @classmethod
    def example(cls) -> "AOUCB":
        return cls(n_arms=5, noise_scale=0.5)

    @property
    def sub_gaussian_scale(self) -> ArrayLike:
        """Sub-Gaussian constant R of the rewards."""
        return self.noise_scale

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del key
        log_now = log_rounds(t + 1)
        log_f = jnp.log1p((t + 1) * log_now * log_now)
        return state.mean + self.noise_scale * jnp.sqrt(2.0 * log_f / state.positive_count)
