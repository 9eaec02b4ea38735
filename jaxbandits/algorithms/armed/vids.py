"""V-IDS for Bernoulli rewards: variance-based information-directed sampling (Russo & Van Roy, OR 2018, Section 6).

    g_a = sum_i alpha_i (m_ia - m_a)^2,   play an arm drawn from the p that minimises (p'D)^2 / p'g

The posteriors are beta distributions on a grid of G points (`beta_grid`). Arm i is the best with probability alpha_i.
D_a is the expected regret of arm a, m_a is its posterior mean, and m_ia is its posterior mean given that arm i is the
best. The cost per round is $O(K^2 G)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.beta_grid import BestArm, BetaGrid
from jaxbandits.base.pytree import pytree


@pytree
class VIDS(BetaGrid):
    """Variance-based information-directed sampling for rewards in {0, 1}.

    Guarantee:
      If the means are drawn from the prior, the Bayesian regret after T rounds is at most $sqrt(K T H / 2)$, where H <=
      log K is the entropy of the best arm under the prior (Propositions 1 and 3 of the paper).

    Deviations:
      * [ours] Posteriors are approximated by masses at the midpoints of G equal subintervals of [0, 1]. A reward
        between 0 and 1 counts as a fractional success; rewards outside [0, 1] are clipped. The minimum over p is
        attained by a distribution on two arms; if several pairs of arms attain it, the first of them is used.

    References:
      Daniel Russo, Benjamin Van Roy. Learning to Optimize via Information-Directed Sampling. NeurIPS 2014.
      Daniel Russo, Benjamin Van Roy. Learning to Optimize via Information-Directed Sampling. Operations Research 66(1),
      2018.
    """

    source: ClassVar[str] = "Russo & Van Roy, NeurIPS 2014, variance-based IDS"

    @classmethod
    def example(cls) -> "VIDS":
        return cls(n_arms=5, n_points=32)

    def gain(self, found: BestArm) -> jax.Array:
        return jnp.sum(found.alpha[:, None] * jnp.square(found.conditional - found.mean), axis=0)
