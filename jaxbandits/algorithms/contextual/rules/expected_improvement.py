"""Expected improvement over the largest prediction (Mockus, Tiesis & Zilinskas, 1978).

    play   argmax_k  d_k Phi(d_k / w_k) + w_k phi(d_k / w_k),   d_k = f_k - max_j f_j - margin

f_k and w_k are the model's prediction and width for arm k; Phi and phi are the distribution function and the density of
N(0, 1).
"""

import math
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr

from jaxbandits.algorithms.contextual.rules.rule import ScoreRule, finite
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.estimation.arms import largest
from jaxbandits.types import Obs, State

_LEAST = 1e-30  # smallest width that is used as a divisor, and factor of scores below those of positive gains


@pytree
class ExpectedImprovement(ScoreRule):
    """Rule that maximises the expected improvement, a heuristic of Bayesian optimisation.

    Guarantee:
      None for cumulative regret.

    Deviations:
      * [ours] Improvement is measured from the largest predicted mean, since rewards are noisy. If the expected
        improvements of all arms are too small for the float type, the arm with the largest d_k / w_k is played, which
        determines their logarithms to leading order. Ties go to the first arm.

    References:
      Jonas Mockus, Vytautas Tiesis, Antanas Zilinskas. The Application of Bayesian Methods for Seeking the Extremum.
      Towards Global Optimization 2, 1978.
    """

    needs: ClassVar[tuple[str, ...]] = ("predict", "width")
    margin: ArrayLike = param(0.0, "[0, inf)", "margin, in units of the reward, that an improvement must exceed")

    def scores(self, key: jax.Array, t: jax.Array, model: State, state: State, obs: Obs) -> jax.Array:
        del key, t
        mean, width = finite(model.predict(state, obs)), model.width(state, obs)
        gap = mean - largest(mean, obs.mask) - self.margin
        ratio = gap / jnp.maximum(width, _LEAST)
        z = jnp.maximum(ratio, -40.0)  # for smaller z the gain is 0 in every float type
        gain = gap * ndtr(z) + math.sqrt(0.5 / math.pi) * width * jnp.exp(-0.5 * z * z)
        return jnp.where(gain <= 0.0, _LEAST * ratio, gain)  # with 0 for all arms, the first would be played forever
