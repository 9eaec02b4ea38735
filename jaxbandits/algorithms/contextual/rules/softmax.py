"""Boltzmann exploration: arms are drawn with probabilities proportional to the exponentials of their predictions.

    p_k proportional to exp(f_k / tau_t),   tau_t = tau / t^a

f_k is the model's prediction of the mean reward of arm k.
"""

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.contextual.rules.rule import WeightRule, finite, power
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.estimation.arms import largest
from jaxbandits.types import Obs, State


@pytree
class Softmax(WeightRule):
    """Rule that draws the arm from a softmax of the predictions.

    Guarantee:
      None. With one temperature for all arms, the rule is inconsistent or explores too much (Cesa-Bianchi et al.,
      2017).

    References:
      Nicolo Cesa-Bianchi, Claudio Gentile, Gabor Lugosi, Gergely Neu. Boltzmann Exploration Done Right. NIPS 2017.
    """

    temperature: ArrayLike = param(0.1, "(0, inf)", "tau, temperature in units of the reward")
    decay: ArrayLike = param(0.0, "[0, inf)", "a, decay exponent: the temperature is tau / t^a in round t = 1, 2, ...")

    def weights(self, key: jax.Array, t: jax.Array, model: State, state: State, obs: Obs, mask: jax.Array) -> jax.Array:
        del key
        scores = finite(model.predict(state, obs))
        inverse = power(t, self.decay, scores) / self.temperature
        inverse = jnp.minimum(inverse, jnp.finfo(scores.dtype).max)  # infinity times a gap of 0 is NaN
        gap = jnp.where(mask, largest(scores, mask) - scores, 0.0)
        p = mask * jnp.exp(-gap * inverse)
        return p / jnp.sum(p)
