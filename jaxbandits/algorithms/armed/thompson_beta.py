"""Thompson sampling with beta priors (Thompson, Biometrika 1933; Agrawal & Goyal, COLT 2012, Algorithm 1).

    theta_i ~ Beta((alpha_0 + S_i) / s, (beta_0 + F_i) / s),   play argmax_i theta_i

with $S_i$ the sum of the rewards of arm i, $S_i + F_i$ its plays: at $s = 1$ the posterior of coins. $O(K)$ a round.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.numerics import rng


@pytree
class ThompsonBeta(IndexPolicy):
    """Thompson sampling for rewards 0 and 1.

    Guarantee:
      Rewards 0 and 1, prior Beta(1, 1), $s = 1$: limsup of expected regret / log T is at most
      sum_i (mu* - mu_i) / kl(mu_i, mu*) (Kaufmann, Korda & Munos, Theorem 1), which no consistent policy beats.

    Deviations:
      * [ours] Rewards between 0 and 1 count as fractions of a success; those outside are clipped. (Agrawal and Goyal
        toss a coin with the reward as its probability.)

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
    first_pulls: ClassVar[float] = 0.0  # the prior serves arms that were not played
    prior_success: ArrayLike = param(1.0, "(0, inf)", "alpha_0, successes before the first round")
    prior_failure: ArrayLike = param(1.0, "(0, inf)", "beta_0, failures before the first round")
    reshaping: ArrayLike = param(
        1.0, "(0, inf)", "s, divides both parameters: above 1 explores more; 1 is the posterior"
    )

    @classmethod
    def example(cls) -> "ThompsonBeta":
        return cls(n_arms=5)

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del t
        return rng.betas(key, *self.posterior(state))

    def posterior(self, state: Pulls) -> tuple[jax.Array, jax.Array]:
        """Return both parameters `[K]` of the laws that are drawn from."""
        success = jnp.clip(state.total, 0.0, state.count)
        failure = state.count - success
        return (self.prior_success + success) / self.reshaping, (self.prior_failure + failure) / self.reshaping
