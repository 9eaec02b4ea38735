"""SquareCB: inverse gap weighting with any model (Foster & Rakhlin, ICML 2020, Algorithm 1).

    b    = argmax_k f_k
    p_k  = 1 / (K + gamma_t (f_b - f_k))  for k != b,   p_b = 1 - sum_{k != b} p_k,   gamma_t = c t^a

f_k is the model's prediction of the mean reward of arm k.
"""

import jax

from jaxbandits.algorithms.contextual.inverse_gap import inverse_gap_weights
from jaxbandits.algorithms.contextual.rules.rule import WeightRule, finite, power
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.types import Obs, State


@pytree
class SquareCB(WeightRule):
    """Rule of inverse gap weighting, which needs only point predictions.

    Guarantee:
      The guarantee of `contextual.SquareCB` holds if the model is an online learner with regret at most R in squared
      loss, `exponent` is 0 and `scale` is the gamma of `contextual.SquareCB.theory`.

    Deviations:
      * [printed] The default is $gamma_t = 10 sqrt(t)$, as in Vowpal Wabbit.
      * [ours] K in the formulas counts only the available arms. Ties go to the first arm.

    References:
      Dylan Foster, Alexander Rakhlin. Beyond UCB: Optimal and Efficient Contextual Bandits with Regression Oracles.
      ICML 2020, Algorithm 1.
    """

    scale: ArrayLike = param(10.0, "[0, inf)", "c, factor in gamma_t = c t^a")
    exponent: ArrayLike = param(0.5, "[0, inf)", "a, exponent in gamma_t = c t^a")

    def weights(self, key: jax.Array, t: jax.Array, model: State, state: State, obs: Obs, mask: jax.Array) -> jax.Array:
        del key
        scores = finite(model.predict(state, obs))
        return inverse_gap_weights(scores, mask, self.scale * power(t, self.exponent, scores))
