"""IDS for Bernoulli rewards: information-directed sampling (Russo & Van Roy, NeurIPS 2014, Algorithms 1 and 2).

    g_a = I(A*; Y_a) = sum_i alpha_i kl(m_ia, m_a),   play an arm drawn from the p that minimises (p'D)^2 / p'g

The posteriors are beta distributions on a grid of G points (`beta_grid`). The best arm A* is i with probability
alpha_i, and D_a is the expected regret of arm a. A reward Y_a of arm a is 1 with probability m_a, and with probability
m_ia given that arm i is the best. kl is the Kullback-Leibler divergence of Bernoulli distributions. The cost per round
is $O(K^2 G)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.beta_grid import BestArm, BetaGrid
from jaxbandits.base.pytree import pytree
from jaxbandits.numerics import bernoulli


@pytree
class IDS(BetaGrid):
    """Information-directed sampling for rewards in {0, 1}.

    The information of a reward is its mutual information with the best arm.

    Guarantee:
      The guarantee of `VIDS` holds.

    Deviations:
      * [ours] Posteriors are approximated by masses at the midpoints of G equal subintervals of [0, 1]. A reward
        between 0 and 1 counts as a fractional success; rewards outside [0, 1] are clipped. The minimum over p is
        attained by a distribution on two arms; if several pairs of arms attain it, the first of them is used.

    References:
      Daniel Russo, Benjamin Van Roy. Learning to Optimize via Information-Directed Sampling. NeurIPS 2014.
      Daniel Russo, Benjamin Van Roy. Learning to Optimize via Information-Directed Sampling. Operations Research 66(1),
      2018.
    """

    source: ClassVar[str] = "Russo & Van Roy, NeurIPS 2014"

    @classmethod
    def example(cls) -> "IDS":
        return cls(n_arms=5, n_points=32)

    def gain(self, found: BestArm) -> jax.Array:
        probability = jnp.clip(found.conditional, 0.0, 1.0)
        kl = bernoulli.divergence(probability, jnp.clip(found.mean, 0.0, 1.0) - probability)
        return jnp.sum(found.alpha[:, None] * kl, axis=0)
