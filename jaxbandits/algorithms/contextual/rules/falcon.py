"""FALCON: inverse gap weighting in doubling epochs (Simchi-Levi & Xu, Mathematics of OR 2022, Algorithm 1).

    p_k     = 1 / (K + gamma_m (f_b - f_k))  for k != b = argmax f,   p_b = 1 - sum_{k != b} p_k
    gamma_m = c sqrt(K n_m / (log|F| + log(n_m / delta))),   gamma_1 = 1

The predictions f are fitted to the $n_m$ rounds of epoch m - 1 (`models.DoublingEpochs`).
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.contextual.inverse_gap import inverse_gap_weights
from jaxbandits.algorithms.contextual.rules.rule import WeightRule, finite
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.types import Obs, State


@pytree
class FALCON(WeightRule):
    """Inverse gap weighting with one offline regression per epoch.

    Guarantee:
      If rewards are in [0, 1], their mean function belongs to a class of |F| functions and the model is least squares
      over this class, then with probability at least 1 - delta the regret after T rounds is $O(sqrt(K T log(|F| T /
      delta)))$ (Theorem 1).

    Deviations:
      * [reconstructed] The constant is c = 1/30, and $n_m$ is the number of rounds to which f is fitted. The paper uses
        the number of the last round of that epoch, which is about twice as large.
      * [ours] If feedback is late, $n_m$ also counts rounds whose rewards have not arrived.
      * [ours] K in the formulas counts only the available arms. Ties go to the first arm.

    References:
      David Simchi-Levi, Yunzong Xu. Bypassing the Monster: A Faster and Simpler Optimal Algorithm for Contextual
      Bandits under Realizability. Mathematics of Operations Research 47(3), 2022, Algorithm 1.
    """

    needs: ClassVar[tuple[str, ...]] = ("predict", "previous_epoch")
    scale: ArrayLike = param(1.0 / 30.0, "(0, inf)", "c, factor in gamma_m")
    log_size: ArrayLike = param(1.0, "[0, inf)", "log|F|, logarithm of the number of functions in the model's class")
    delta: ArrayLike = param(0.05, "(0, 1)", "delta, failure probability")

    def weights(self, key: jax.Array, t: jax.Array, model: State, state: State, obs: Obs, mask: jax.Array) -> jax.Array:
        del key
        scores = finite(model.predict(state, obs))
        rounds = model.previous_epoch(t).astype(scores.dtype)
        level = self.log_size + jnp.log(jnp.maximum(rounds, 1.0) / self.delta)
        gamma = jnp.where(rounds > 0.0, self.scale * jnp.sqrt(jnp.sum(mask) * rounds / level), 1.0)
        return inverse_gap_weights(scores, mask, gamma)
