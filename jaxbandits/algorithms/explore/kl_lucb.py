"""KL-LUCB for the identification of the best arm (Kaufmann & Kalyanakrishnan, COLT 2013).

    U_i, L_i = max and min {q in [0, 1] : T_i kl(m_i, q) <= beta(t)}

These are the bounds after t plays. Every arm is played once, and the later plays come in pairs (`lucb`). kl is the
Kullback-Leibler divergence of Bernoulli distributions. The cost per round is $O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.algorithms.explore import identification
from jaxbandits.algorithms.explore.lucb import LUCB
from jaxbandits.base.pytree import ArrayLike, Fields, FieldValue, param, pytree, static
from jaxbandits.base.ranges import BOOL
from jaxbandits.numerics import bernoulli


@pytree
class KLLUCB(LUCB):
    """LUCB with confidence bounds from Chernoff's inequality.

    Guarantee:
      For rewards in [0, 1] and the preset `theory`, the mean of the recommended arm is within eps of the largest mean
      with probability at least 1 - delta. With another alpha, k_1 must also be above the value under Deviations.

    Deviations:
      * [printed] The default is beta(t) = $log((log t + 1) / delta)$, as in the experiments of Garivier and Kaufmann
        (COLT 2016), in which t is also the number of plays.
      * [reconstructed] `theory` has beta(t) = x + log x with $x = log(k_1 K t^alpha / delta)$, $alpha = 1.1$ and $k_1 =
        405.5$. These constants are taken from public implementations that cite the paper; k_1 is just above $2 e + 1 +
        e / (alpha - 1) + (e + 1) / (alpha - 1)^2 = 405.45$.
      * [ours] Only the best arm is identified $(m = 1)$. Means are clipped to [0, 1]. Ties go to the first arm.

    References:
      Emilie Kaufmann, Shivaram Kalyanakrishnan. Information Complexity in Bandit Subset Selection. COLT 2013.
    """

    source: ClassVar[str] = "Kaufmann & Kalyanakrishnan, COLT 2013, KL-LUCB"
    k_1: ArrayLike = param(405.5, "(0, inf)", "k_1, constant inside the logarithm of beta(t); used if `proven`")
    alpha: ArrayLike = param(1.1, "(1, inf)", "alpha, exponent of t in beta(t); used if `proven`")
    proven: bool = static(
        False, BOOL, "True: use beta(t) of `theory`; False: that of Garivier & Kaufmann's experiments"
    )

    @classmethod
    def theory(cls, *, n_arms: int, **changes: FieldValue) -> "KLLUCB":
        """Use the exploration rate beta(t) for which the error probability is bounded."""
        fields: Fields = {"n_arms": n_arms, "proven": True}
        return cls(**fields | changes)

    @classmethod
    def practical(cls, *, n_arms: int, **changes: FieldValue) -> "KLLUCB":
        """Use the exploration rate of the experiments of Garivier and Kaufmann (the default)."""
        fields: Fields = {"n_arms": n_arms}
        return cls(**fields | changes)

    @classmethod
    def example(cls) -> "KLLUCB":
        return cls(n_arms=5)

    def upper(self, pulls: Pulls) -> jax.Array:
        return bernoulli.upper(jnp.clip(pulls.mean, 0.0, 1.0), self.rate(jnp.sum(pulls.count)) / pulls.positive_count)

    def lower(self, pulls: Pulls, arm: jax.Array) -> jax.Array:
        mean, level = jnp.clip(pulls.mean, 0.0, 1.0)[arm], self.rate(jnp.sum(pulls.count)) / pulls.positive_count[arm]
        return bernoulli.lower(mean, level)

    def rate(self, rounds: jax.Array) -> jax.Array:
        """Return the exploration rate beta(t) `[]` after t = `rounds` plays."""
        if not self.proven:
            return identification.practical_threshold(rounds, self.delta)
        x = jnp.log(self.k_1 * self.n_arms / self.delta) + self.alpha * jnp.log(jnp.maximum(rounds, 1.0))
        x = jnp.maximum(x, 1.0)
        return x + jnp.log(x)
