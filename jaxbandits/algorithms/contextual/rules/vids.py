"""V-IDS: information-directed sampling by variance, from draws of the posterior (Russo & Van Roy, 2018, Section 6.3).

    g_a = sum_i alpha_i (m_ia - m_a)^2,   play from the p that minimises (p'D)^2 / p'g

m_ia is the mean of theta_a given that arm i is the best, with probability alpha_i (`posterior_draws`).
"""

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.contextual.rules.posterior_draws import PosteriorDraws
from jaxbandits.base.pytree import pytree


@pytree
class VIDS(PosteriorDraws):
    """Balance of regret and variance explained by the best arm.

    Guarantee:
      With the exact posterior, the Bayesian regret is at most $sqrt(2 Gamma H(A*) T)$, the bound known for Thompson
      sampling, where Gamma bounds the information ratio: K/2 in general, and d/2 for linear models with rewards of
      range 1.

    Deviations:
      * [ours] The posterior is approximated by n draws (10^4 in the paper's linear experiments). Ties go to the first
        arm.

    References:
      Daniel Russo, Benjamin Van Roy. Learning to Optimize via Information-Directed Sampling. Operations Research 66(1),
      2018, Algorithms 4 and 6.
    """

    def gain(self, alpha: jax.Array, shift: jax.Array, square: jax.Array, noise: None) -> jax.Array:
        del square, noise
        return jnp.sum(alpha[:, None] * jnp.square(shift), axis=0)
