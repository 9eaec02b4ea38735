"""IGP-UCB: upper confidence bounds with a self-normalised multiplier (Chowdhury & Gopalan, ICML 2017, Theorem 2).

    play   argmax_k f_k + scale beta_t w_k,   beta_t = B + R sqrt(2 (gamma_{t-1} + 1 + log(1/delta)))

f_k and w_k are the model's prediction and width for arm k. gamma_{t-1} is the information gain of the arms played,
`model.information`: half of log det(I + K_{t-1} / lambda), where K_{t-1} is their kernel matrix. Notation: B is the
field `norm_bound` and R is `noise_scale`.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.contextual.rules.rule import ScoreRule
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.types import Obs, State


@pytree
class IGPUCB(ScoreRule):
    """Upper confidence bounds for functions with bounded RKHS norm; with a linear model they have the form of OFUL.

    Guarantee:
      If the mean rewards have RKHS norm at most B, the noise is R-sub-Gaussian given the past and the model has noise
      parameter lambda = 1 + 2/T and prior variances of at most 1, then with probability at least 1 - delta the regret
      after T rounds is $O(sqrt(T) (B sqrt(gamma_T) + gamma_T))$, where gamma_T is the largest information gain of T
      plays (Theorem 3).

    Deviations:
      * [reconstructed] gamma is the information gain of the arms played. The paper uses the maximum of the information
        gain over all choices of t - 1 arms, although the proof bounds the error by the information gain of the arms
        played.
      * [ours] `scale` multiplies beta_t. Ties go to the first arm.

    References:
      Sayak Ray Chowdhury, Aditya Gopalan. On Kernelized Multi-armed Bandits. ICML 2017, Algorithm 1, Theorems 2 and 3.
    """

    needs: ClassVar[tuple[str, ...]] = ("predict", "width", "information")
    norm_bound: ArrayLike = param(1.0, "[0, inf)", "B, bound on the norm of the mean rewards")
    noise_scale: ArrayLike = param(1.0, "[0, inf)", "R, sub-Gaussian constant of the noise")
    delta: ArrayLike = param(0.1, "(0, 1)", "delta, failure probability")
    scale: ArrayLike = param(1.0, "[0, inf)", "multiplier of beta_t; 1 in the theory")

    def scores(self, key: jax.Array, t: jax.Array, model: State, state: State, obs: Obs) -> jax.Array:
        del key, t
        spread = jnp.sqrt(2.0 * (model.information(state) + 1.0 - jnp.log(self.delta)))
        beta = self.norm_bound + self.noise_scale * spread
        return model.predict(state, obs) + self.scale * beta * model.width(state, obs)
