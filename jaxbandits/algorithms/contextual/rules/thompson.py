"""Thompson sampling: the best arm of one joint draw of all means (Thompson, Biometrika 1933; Agrawal & Goyal, 2013).

    theta ~ the model's posterior,   play argmax_k f_k + v (theta_k - f_k)

f_k is the model's prediction of the mean reward of arm k.
"""

from typing import ClassVar

import jax

from jaxbandits.algorithms.contextual.rules.rule import ScoreRule
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.types import Obs, State


@pytree
class Thompson(ScoreRule):
    """Rule that plays each arm with the posterior probability that it is the best arm (for v = 1).

    Guarantee:
      If the model has the true prior and likelihood of the rewards and v = 1, the Bayesian regret is of order $sqrt(T)$
      (Russo & Van Roy, 2014). Frequentist bounds need a larger v.

    Deviations:
      * [ours] v scales the deviation of a draw from the prediction; with v = 1 the draw is from the posterior. Ties go
        to the first arm.

    References:
      William R. Thompson. On the Likelihood that One Unknown Probability Exceeds Another in View of the Evidence of Two
      Samples. Biometrika 25, 1933.
      Shipra Agrawal, Navin Goyal. Thompson Sampling for Contextual Bandits with Linear Payoffs. ICML 2013.
      Daniel Russo, Benjamin Van Roy. Learning to Optimize via Posterior Sampling. Mathematics of Operations Research
      39(4), 2014.
    """

    needs: ClassVar[tuple[str, ...]] = ("predict", "sample")
    scale: ArrayLike = param(1.0, "[0, inf)", "v, scale of the draws; 0: greedy play")

    def scores(self, key: jax.Array, t: jax.Array, model: State, state: State, obs: Obs) -> jax.Array:
        del t
        mean = model.predict(state, obs)
        return mean + self.scale * (model.sample(key, state, obs) - mean)
