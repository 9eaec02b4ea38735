"""GP-TS: Thompson sampling with a scale from self-normalised bounds (Chowdhury & Gopalan, ICML 2017, Algorithm 2).

    theta ~ the model's posterior,   play argmax_k f_k + scale v_t (theta_k - f_k)
    v_t     = B + R sqrt(2 (gamma_{t-1} + 1 + log(2/delta)))

f_k is the model's prediction of the mean reward of arm k. gamma_{t-1} is the information gain of the arms played,
`model.information`. Notation: B is the field `norm_bound` and R is `noise_scale`.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.contextual.rules.rule import ScoreRule
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.types import Obs, State


@pytree
class GPTS(ScoreRule):
    """Thompson sampling from a posterior that is inflated to the width of the confidence set of IGP-UCB.

    Guarantee:
      Under the assumptions of `IGPUCB`, the regret after T rounds is, with probability at least 1 - delta,
      $O~(sqrt(T) (B sqrt(gamma_T) + gamma_T))$, where gamma_T is the largest information gain of T plays (Theorem 4).

    Deviations:
      * [reconstructed] In the formula of v_t, gamma is the information gain of the arms played, as in `IGPUCB`. The
        paper discretises a continuous set in every round; here the set of arms is finite.
      * [ours] `scale` multiplies v_t. Ties go to the first arm.

    References:
      Sayak Ray Chowdhury, Aditya Gopalan. On Kernelized Multi-armed Bandits. ICML 2017, Algorithm 2, Theorem 4.
    """

    needs: ClassVar[tuple[str, ...]] = ("predict", "sample", "information")
    norm_bound: ArrayLike = param(1.0, "[0, inf)", "B, bound on the norm of the mean rewards")
    noise_scale: ArrayLike = param(1.0, "[0, inf)", "R, sub-Gaussian constant of the noise")
    delta: ArrayLike = param(0.1, "(0, 1)", "delta, failure probability")
    scale: ArrayLike = param(1.0, "[0, inf)", "multiplier of v_t; 1 in the theory")

    def scores(self, key: jax.Array, t: jax.Array, model: State, state: State, obs: Obs) -> jax.Array:
        del t
        spread = jnp.sqrt(2.0 * (model.information(state) + 1.0 - jnp.log(self.delta / 2.0)))
        v, mean = self.norm_bound + self.noise_scale * spread, model.predict(state, obs)
        return mean + self.scale * v * (model.sample(key, state, obs) - mean)
