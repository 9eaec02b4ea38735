"""Thompson sampling with beta priors (Thompson, Biometrika 1933; Agrawal & Goyal, COLT 2012, Algorithm 1).

    theta_i ~ Beta((alpha_0 + S_i) / s, (beta_0 + F_i) / s),   play argmax_i theta_i

Here $S_i$ is the sum of the rewards of arm i, and $S_i + F_i$ is its number of plays. For $s = 1$ the distribution of
theta_i is the posterior of the mean of a Bernoulli arm. The cost per round is $O(K)$.
"""

from typing import ClassVar

import jax

from jaxbandits.algorithms.armed.beta_posterior import BetaPosterior
from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.numerics import rng


@pytree
class ThompsonBeta(BetaPosterior):
    """Thompson sampling for rewards in {0, 1}, with independent beta priors.

    Guarantee:
      If rewards are 0 or 1, the prior is Beta(1, 1) and $s = 1$, then the limsup of the expected regret after T rounds
      divided by log T is at most the sum of (mu* - mu_i) / kl(mu_i, mu*) over the suboptimal arms (Kaufmann, Korda &
      Munos, Theorem 1). No consistent policy has a smaller limit.

    Deviations:
      * [ours] A reward between 0 and 1 counts as a fractional success; rewards outside [0, 1] are clipped. (Agrawal and
        Goyal instead draw a Bernoulli variable whose mean is the reward.)

    References:
      William R. Thompson. On the Likelihood that One Unknown Probability Exceeds Another in View of the Evidence of Two
      Samples. Biometrika 25, 1933.
      Shipra Agrawal, Navin Goyal. Analysis of Thompson Sampling for the Multi-armed Bandit Problem. COLT 2012,
      Algorithm 1.
      Emilie Kaufmann, Nathaniel Korda, Remi Munos. Thompson Sampling: An Asymptotically Optimal Finite-Time Analysis.
      ALT 2012, arXiv:1205.4217, Theorem 1.
      Olivier Chapelle, Lihong Li. An Empirical Evaluation of Thompson Sampling. NIPS 2011: the reshaping s.
    """

    source: ClassVar[str] = "Thompson 1933; Agrawal & Goyal, COLT 2012, Algorithm 1"
    reshaping: ArrayLike = param(
        1.0, "(0, inf)", "s, divisor of both parameters; 1: draws from the posterior; above 1: more exploration"
    )

    @classmethod
    def example(cls) -> "ThompsonBeta":
        return cls(n_arms=5)

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del t
        success, failure = self.posterior(state)
        scale = 1.0 / self.reshaping
        return rng.betas(key, success * scale, failure * scale)
