"""KL-UCB: upper confidence bounds from the Kullback-Leibler divergence (Garivier & Cappe, COLT 2011, Algorithm 1).

    play   argmax_i  max{q in [0, 1] : T_i kl(m_i, q) <= log t + c log log t},   after one play of every arm

After t rounds, arm i has $T_i$ plays with mean reward $m_i$; kl is the Kullback-Leibler divergence of Bernoulli
distributions. The cost per round is $O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls, log_rounds
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree
from jaxbandits.numerics import bernoulli


@pytree
class KLUCB(IndexPolicy):
    """Index policy for rewards in [0, 1] with upper confidence bounds from Chernoff's inequality.

    Guarantee:
      If rewards are independent and in [0, 1] with means $mu_i$, and $c = 3$, then the limsup of the expected regret
      after T rounds divided by log T is at most the sum of (mu* - mu_i) / kl(mu_i, mu*) over the arms with mu_i < mu*
      (Theorem 1). No consistent policy has a smaller limit for rewards in {0, 1}.

    Deviations:
      * [printed] The default is $c = 0$, as in the paper's experiments, not the $c = 3$ of Theorem 1 (`theory`).
      * [ours] Means outside [0, 1] are clipped; log log t counts as 0 for t <= e. Ties go to the first arm.

    References:
      Aurelien Garivier, Olivier Cappe. The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond. COLT 2011,
      Algorithm 1, Theorem 1.
    """

    source: ClassVar[str] = "Garivier & Cappe, COLT 2011, Algorithm 1"
    c: ArrayLike = param(0.0, "[0, inf)", "c, factor of log log t")

    @classmethod
    def theory(cls, *, n_arms: int, **changes: FieldValue) -> "KLUCB":
        """Use c = 3, the value of Theorem 1."""
        return cls(**{"n_arms": n_arms, "c": 3.0} | changes)

    @classmethod
    def practical(cls, *, n_arms: int, **changes: FieldValue) -> "KLUCB":
        """Use c = 0, the value that the authors recommend in practice (the default)."""
        return cls(**{"n_arms": n_arms} | changes)

    @classmethod
    def example(cls) -> "KLUCB":
        return cls(n_arms=5)

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del key
        log_now = log_rounds(t)
        level = log_now + self.c * jnp.log(jnp.maximum(log_now, 1.0))
        return bernoulli.upper(jnp.clip(state.mean, 0.0, 1.0), level / state.positive_count)
