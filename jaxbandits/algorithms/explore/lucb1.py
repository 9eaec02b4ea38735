"""LUCB1 for the identification of the best arm (Kalyanakrishnan, Tewari, Auer & Stone, ICML 2012).

    U_i, L_i = m_i +- sqrt(log(k_1 K n^4 / delta) / (2 T_i)),   k_1 = 5/4

These are the bounds in stage $n = 1$, 2, ...; a stage has two plays (`lucb`). Every arm is played once before the first
stage. The cost per round is $O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.algorithms.explore.lucb import LUCB
from jaxbandits.base.pytree import ArrayLike, param, pytree


@pytree
class LUCB1(LUCB):
    """LUCB with confidence bounds from Hoeffding's inequality.

    Guarantee:
      If rewards are in [0, 1], then the mean of the recommended arm is within eps of the largest mean with probability
      at least 1 - delta. The expected stopping time is $O(H log(H / delta))$, where H = sum_i 1 / max(D_i, eps / 2)^2
      for gaps $D_i$.

    Deviations:
      * [ours] Only the best arm is identified $(m = 1)$. Ties go to the first arm.

    References:
      Shivaram Kalyanakrishnan, Ambuj Tewari, Peter Auer, Peter Stone. PAC Subset Selection in Stochastic Multi-armed
      Bandits. ICML 2012.
    """

    source: ClassVar[str] = "Kalyanakrishnan, Tewari, Auer & Stone, ICML 2012, LUCB1"
    k_1: ArrayLike = param(1.25, "(0, inf)", "k_1, constant in the logarithm")

    @classmethod
    def example(cls) -> "LUCB1":
        return cls(n_arms=5)

    def upper(self, pulls: Pulls) -> jax.Array:
        return pulls.mean + self.width(pulls)

    def lower(self, pulls: Pulls, arm: jax.Array) -> jax.Array:
        return (pulls.mean - self.width(pulls))[arm]

    def width(self, pulls: Pulls) -> jax.Array:
        """Return the half-widths `[K]` of the confidence intervals."""
        stage = 1.0 + jnp.floor(0.5 * jnp.maximum(jnp.sum(pulls.count) - self.n_arms, 0.0))
        log_term = jnp.log(self.k_1 * self.n_arms / self.delta) + 4.0 * jnp.log(stage)
        return jnp.sqrt(0.5 * jnp.maximum(log_term, 0.0) / pulls.positive_count)
