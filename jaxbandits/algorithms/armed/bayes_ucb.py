"""Bayes-UCB for rewards in {0, 1} (Kaufmann, Cappe & Garivier, AISTATS 2012, Algorithm 1).

    play   argmax_i  Q(1 - 1 / (t log^c n), Beta(alpha_0 + S_i, beta_0 + F_i))

The policy plays this arm in round t = 1, 2, ..., n. Q is the quantile function, S_i is the sum of the rewards of arm i,
and $S_i + F_i$ is its number of plays. The cost per round is $O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.beta_posterior import BetaPosterior
from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.base.pytree import ArrayLike, Fields, FieldValue, param, pytree
from jaxbandits.numerics.beta_quantile import upper_quantile


@pytree
class BayesUCB(BetaPosterior):
    """Index policy whose upper confidence bounds are quantiles of the beta posteriors.

    Guarantee:
      If rewards are 0 or 1, the prior is uniform and c >= 5, then the limsup of the expected regret after n rounds
      divided by log n is at most the sum of (mu* - mu_i) / kl(mu_i, mu*) over the suboptimal arms. No consistent policy
      has a smaller limit.

    Deviations:
      * [printed] The default is c = 0, as in the paper's experiments; `theory` uses c = 5.
      * [ours] The order of the quantile is at least 1/2. For c = 0 this affects only round 1, in which the order
        1 - 1 / t is 0, and so is the quantile of every arm. 1 / (t log^c n) is at least the smallest normal
        floating-point number. A reward between 0 and 1 counts as a fractional success; rewards outside [0, 1] are
        clipped. Ties go to the first arm.

    Numerics:
      In float32 the error of the quantile is below 5 % of the difference between the quantile and the posterior mean
      for up to 10^6 plays of an arm (float32/test_armed.py::test_bonuses_keep_their_digits). From 2 x 10^6 plays on,
      the error may be a multiple of this difference: longer runs need float64.

    References:
      Emilie Kaufmann, Olivier Cappe, Aurelien Garivier. On Bayesian Upper Confidence Bounds for Bandit Problems.
      AISTATS 2012, Algorithm 1.
    """

    source: ClassVar[str] = "Kaufmann, Cappe & Garivier, AISTATS 2012, Algorithm 1"
    # Below 0.03 the quantiles are wrong: an arm that has only paid 1 would have the quantile 0.
    prior_success: ArrayLike = param(1.0, "[0.1, inf)", "alpha_0, number of successes that the prior assumes")
    prior_failure: ArrayLike = param(1.0, "[0.1, inf)", "beta_0, number of failures that the prior assumes")
    horizon: ArrayLike = param(1000.0, "[3, inf)", "n, number of rounds; has no effect if c = 0")
    c: ArrayLike = param(0.0, "[0, inf)", "c, exponent of log n")

    @classmethod
    def theory(cls, *, n_arms: int, horizon: ArrayLike, **changes: FieldValue) -> "BayesUCB":
        """Use c = 5, the smallest value for which the guarantee holds; `horizon` is the number n of rounds."""
        fields: Fields = {"n_arms": n_arms, "horizon": horizon, "c": 5.0}
        return cls(**fields | changes)

    @classmethod
    def practical(cls, *, n_arms: int, **changes: FieldValue) -> "BayesUCB":
        """Use c = 0, the value of the paper's experiments (the default)."""
        fields: Fields = {"n_arms": n_arms}
        return cls(**fields | changes)

    @classmethod
    def example(cls) -> "BayesUCB":
        return cls(n_arms=5)

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del key
        rounds = (t + 1).astype(state.total.dtype)
        tail = jnp.exp(-self.c * jnp.log(jnp.log(jnp.asarray(self.horizon, rounds.dtype)))) / rounds
        return upper_quantile(*self.posterior(state), jnp.clip(tail, jnp.finfo(rounds.dtype).tiny, 0.5))
