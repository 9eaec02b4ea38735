"""Upper confidence bounds with a constant multiplier of the widths: argmax_k f_k + beta w_k.

f_k is the model's prediction of the mean reward of arm k, and w_k is the width (posterior standard deviation).
"""

from typing import ClassVar

import jax

from jaxbandits.algorithms.contextual.rules.rule import ScoreRule
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.types import Obs, State


@pytree
class UCB(ScoreRule):
    """Rule of upper confidence bounds with a constant multiplier: LinUCB with `Ridge`, NeuralUCB with `NeuralGradient`.

    Guarantee:
      The model determines the guarantee: its widths, times beta, must bound its errors. This is not proved in general
      if the choice of arms depends on past rewards.

    References:
      Lihong Li, Wei Chu, John Langford, Robert Schapire. A Contextual-Bandit Approach to Personalized News Article
      Recommendation. WWW 2010.
    """

    needs: ClassVar[tuple[str, ...]] = ("predict", "width")
    beta: ArrayLike = param(1.0, "[0, inf)", "multiplier of the widths")

    def scores(self, key: jax.Array, t: jax.Array, model: State, state: State, obs: Obs) -> jax.Array:
        del key, t
        return model.predict(state, obs) + self.beta * model.width(state, obs)
