"""Greedy rule: play the arm with the largest predicted reward."""

import jax

from jaxbandits.algorithms.contextual.rules.rule import ScoreRule
from jaxbandits.base.pytree import pytree
from jaxbandits.types import Obs, State


@pytree
class Greedy(ScoreRule):
    """Rule that always plays the arm with the largest prediction.

    Guarantee:
      None in general. If contexts are diverse, the regret is of order $sqrt(T)$ (Bastani, Bayati & Khosravi, 2021).
    """

    def scores(self, key: jax.Array, t: jax.Array, model: State, state: State, obs: Obs) -> jax.Array:
        del key, t
        return model.predict(state, obs)
