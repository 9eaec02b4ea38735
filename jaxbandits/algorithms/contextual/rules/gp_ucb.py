"""GP-UCB: upper confidence bounds for a finite set of arms (Srinivas, Krause, Kakade & Seeger, ICML 2010, Theorem 1).

    play   argmax_k f_k + sqrt(beta_t / c) w_k,   beta_t = 2 log(K t^2 pi^2 / (6 delta)),   t = 1, 2, ...

f_k is the model's prediction of the mean reward of arm k, and w_k is the width (posterior standard deviation). K is the
number of arms.
"""

import math
from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.contextual.rules.rule import ScoreRule
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.types import Obs, State


@pytree
class GPUCB(ScoreRule):
    """Rule of upper confidence bounds with a multiplier of order sqrt(log(K t)).

    Guarantee:
      In round t, arm k has the score f_k + sqrt(beta_t / c) w_k, where beta_t = 2 log(K t^2 pi^2 / (6 delta)) and c is
      the field `discount`. If the mean rewards are drawn from the Gaussian process of the model, with variances of at
      most 1, the noise is distributed as the model assumes and c = 1, then with probability at least 1 - delta the
      regret after T rounds is at most $sqrt(C_1 T beta_T gamma_T)$, where $C_1 = 8 / log(1 + 1 / s^2)$, s is the
      standard deviation of the noise, and gamma_T is the largest information gain of T plays (Theorem 1).

    Deviations:
      * [printed] The theorem has c = 1. In the experiments of the paper (Section 6) beta_t is divided by 5, as in the
        preset `experiments`.
      * [ours] Ties go to the first arm.

    References:
      Niranjan Srinivas, Andreas Krause, Sham Kakade, Matthias Seeger. Gaussian Process Optimization in the Bandit
      Setting: No Regret and Experimental Design. ICML 2010, Theorem 1.
    """

    needs: ClassVar[tuple[str, ...]] = ("predict", "width")
    delta: ArrayLike = param(0.1, "(0, 1)", "delta, failure probability")
    discount: ArrayLike = param(1.0, "(0, inf)", "c, divisor of beta_t; 1 in the theory")

    @classmethod
    def experiments(cls, *, delta: ArrayLike = 0.1) -> "GPUCB":
        """Use beta_t / 5, as in the authors' experiments."""
        return cls(delta=delta, discount=5.0)

    def scores(self, key: jax.Array, t: jax.Array, model: State, state: State, obs: Obs) -> jax.Array:
        del key
        mean = model.predict(state, obs)
        log_t = jnp.log((t + 1).astype(mean.dtype))
        beta = 2.0 * (math.log(len(mean) * math.pi**2 / 6.0) + 2.0 * log_t - jnp.log(self.delta))
        return mean + jnp.sqrt(beta / self.discount) * model.width(state, obs)
