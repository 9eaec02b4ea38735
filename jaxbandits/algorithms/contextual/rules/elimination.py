"""Elimination by confidence intervals (the rule of RegCB) over any model with widths (Foster et al., ICML 2018).

    play   one of the arms with f_k + beta w_k >= max_j (f_j - beta w_j), uniformly at random

f_k is the model's prediction of the mean reward of arm k, and w_k is the width (posterior standard deviation).
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.contextual.rules.rule import WeightRule, finite
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.estimation.arms import largest
from jaxbandits.types import Obs, State


@pytree
class Elimination(WeightRule):
    """Rule that plays uniformly among the arms that, by their confidence intervals, may be the best arm.

    Guarantee:
      None in general. The guarantee of RegCB is for intervals that contain the predictions of all regressors with small
      loss.

    Deviations:
      * [ours] The intervals are those of the model; `contextual.RegCBElim` uses the intervals of the paper, from
        sensitivities of an oracle.

    References:
      Dylan Foster, Alekh Agarwal, Miroslav Dudik, Haipeng Luo, Robert Schapire. Practical Contextual Bandits with
      Regression Oracles. ICML 2018, Algorithm 1.
    """

    needs: ClassVar[tuple[str, ...]] = ("predict", "width")
    beta: ArrayLike = param(1.0, "[0, inf)", "half-width of the intervals, in multiples of the width of the model")

    def weights(self, key: jax.Array, t: jax.Array, model: State, state: State, obs: Obs, mask: jax.Array) -> jax.Array:
        del key, t
        mean, reach = model.predict(state, obs), self.beta * model.width(state, obs)
        best_lower = largest(finite(mean - reach), mask)
        kept = mask & (finite(mean + reach) >= best_lower)
        return kept / jnp.sum(kept)
