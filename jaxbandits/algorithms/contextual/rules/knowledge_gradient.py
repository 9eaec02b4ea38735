"""Knowledge gradient for Gaussian posteriors (Ryzhov, Powell & Frazier, Operations Research 2012).

    v_k  = s_k g(-|f_k - max_{j != k} f_j| / s_k),   g(z) = z Phi(z) + phi(z),   s_k^2 = w_k^4 / (w_k^2 + R^2)
    play   argmax_k f_k + (T - t) v_k,   t = 1, 2, ..., T

f_k and w_k are the model's prediction and width for arm k; Phi and phi are the distribution function and the density of
N(0, 1). s_k is the standard deviation of the change of f_k after one reward of arm k; R is `model.noise`.
"""

import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr

from jaxbandits.algorithms.contextual.rules.rule import ScoreRule, finite
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.numerics import first_axis
from jaxbandits.types import Obs, State


@pytree
class KnowledgeGradient(ScoreRule):
    """Rule with a one-step lookahead, which values one more reward by its expected gain in all later rounds.

    Guarantee:
      None. The rule may stop exploring, so that its regret has a heavy tail.

    Deviations:
      * [ours] The formula is for arms with independent priors. The rule uses the formula even if the arms of the model
        are correlated, so that the effect of a reward of arm k on the predictions for other arms is ignored. The maxima
        exclude unavailable arms. Ties go to the first arm.

    References:
      Ilya Ryzhov, Warren Powell, Peter Frazier. The Knowledge Gradient Algorithm for a General Class of Online Learning
      Problems. Operations Research 60(1), 2012.
    """

    needs: ClassVar[tuple[str, ...]] = ("predict", "width", "noise")
    horizon: ArrayLike = param(1000.0, "[1, inf)", "T, number of rounds")

    def scores(self, key: jax.Array, t: jax.Array, model: State, state: State, obs: Obs) -> jax.Array:
        del key
        mean, width = finite(model.predict(state, obs)), model.width(state, obs)
        rival = _best_rival(mean, obs.mask)
        noise = model.noise(state)
        change = jnp.square(width) / jnp.sqrt(jnp.maximum(jnp.square(width) + jnp.square(noise), 1e-30))
        z = -jnp.abs(mean - rival) / jnp.maximum(change, 1e-30)
        z = jnp.maximum(z, -40.0)  # for smaller z the gain is 0 in every float type
        gain = change * jnp.maximum(z * ndtr(z) + math.sqrt(0.5 / math.pi) * jnp.exp(-0.5 * z * z), 0.0)
        left = jnp.maximum(self.horizon - 1.0 - t.astype(mean.dtype), 0.0)
        return mean + left * jnp.where(rival <= -1e30, 0.0, gain)


def _best_rival(mean: jax.Array, mask: Any) -> jax.Array:
    """Return the largest prediction `[K]` of the other available arms; -1e30 if there is none."""
    shown = mean if mask is None else jnp.where(mask, mean, -1e30)
    best = jnp.arange(len(mean)) == first_axis.argmax(shown)
    return jnp.where(best, jnp.max(jnp.where(best, -1e30, shown)), jnp.max(shown))
