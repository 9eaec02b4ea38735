"""UCB-V: upper confidence bounds from empirical variances (Audibert, Munos & Szepesvari, TCS 410, 2009).

    play   argmax_i  m_i + sqrt(2 V_i E_t / T_i) + 3 c b E_t / T_i,   E_t = zeta log t,   after one play of every arm

The policy plays this arm in round $t = 1$, 2, ... Before this round, arm i has $T_i$ plays with mean reward $m_i$ and
empirical variance $V_i$. Notation: b is the field `reward_range`. The cost per round is $O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, log_rounds
from jaxbandits.algorithms.armed.moments import Moments
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree


@pytree
class UCBV(IndexPolicy):
    """Index policy with upper confidence bounds from Bernstein's inequality with the empirical variance.

    Guarantee:
      If rewards are independent and in [0, b], the variances are $sigma_i^2$, the gaps are $D_i$, $c = 1$ and $zeta >
      1$, then the expected regret after T rounds is at most $C_zeta sum_{D_i > 0} (sigma_i^2 / D_i + 2 b) log T$, where
      $C_{1.2} = 10$.

    Deviations:
      * [reconstructed] The default zeta = 1.2 and the constant 10 of the bound for this zeta are reconstructed. Ties go
        to the first arm.

    References:
      Jean-Yves Audibert, Remi Munos, Csaba Szepesvari. Exploration-Exploitation Tradeoff Using Variance Estimates in
      Multi-armed Bandits. Theoretical Computer Science 410, 2009.
    """

    source: ClassVar[str] = "Audibert, Munos & Szepesvari, Theoretical Computer Science 2009"
    reward_range: ArrayLike = param(1.0, "(0, inf)", "b, upper end of the interval [0, b] of the rewards")
    zeta: ArrayLike = param(1.2, "(0, inf)", "zeta, factor of the exploration E_t")
    c: ArrayLike = param(1.0, "[0, inf)", "c, factor of the term that does not contain the variance")

    @classmethod
    def theory(cls, *, n_arms: int, **changes: FieldValue) -> "UCBV":
        """Use c = 1 and zeta = 1.2, which are the defaults."""
        return cls(**{"n_arms": n_arms} | changes)

    @classmethod
    def example(cls) -> "UCBV":
        return cls(n_arms=5)

    def init(self, key: jax.Array) -> Moments:
        del key  # deterministic
        return Moments.init(self.n_arms)

    def index(self, key: jax.Array, t: jax.Array, state: Moments) -> jax.Array:
        del key
        share = self.zeta * log_rounds(t + 1) / jnp.maximum(state.count, 1.0)
        return state.mean + jnp.sqrt(2.0 * state.variance * share) + 3.0 * self.c * self.reward_range * share
