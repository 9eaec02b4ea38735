"""V-IDS: variance-based information-directed sampling from posterior draws (Russo & Van Roy, 2018, Section 6.3).

    g_a = sum_i alpha_i (m_ia - m_a)^2,   play an arm drawn from the p that minimises (p'D)^2 / p'g

theta_a is the mean reward of arm a, m_a is its posterior mean, and m_ia is its posterior mean given that arm i is the
best, which has probability alpha_i (`posterior_draws`).
"""

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.contextual.rules.posterior_draws import PosteriorDraws
from jaxbandits.base.pytree import pytree


@pytree
class VIDS(PosteriorDraws):
    """Variance-based information-directed sampling.

    Instead of the information about the best arm, the rule uses the part of the variance of an arm's mean reward that
    is explained by the identity of the best arm.

    Guarantee:
      With the exact posterior and rewards in an interval of length 1, the Bayesian regret after T rounds is at most
      $sqrt(Gamma H(A*) T)$, a bound that also holds for Thompson sampling. H(A*) is the entropy of the best arm, and
      Gamma bounds the information ratio: it is K/2 in general, and d/2 for linear models of dimension d.

    Deviations:
      * [ours] The posterior is approximated by n draws (the linear experiments of the paper use 10^4 draws). Ties go to
        the first arm.

    References:
      Daniel Russo, Benjamin Van Roy. Learning to Optimize via Information-Directed Sampling. Operations Research 66(1),
      2018, Algorithms 4 and 6.
    """

    def gain(self, alpha: jax.Array, shift: jax.Array, square: jax.Array, noise: None) -> jax.Array:
        del square, noise
        return jnp.sum(alpha[:, None] * jnp.square(shift), axis=0)
