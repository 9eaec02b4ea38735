"""Thompson sampling with Gaussian priors (Agrawal & Goyal, AISTATS 2013, Algorithm 2).

    theta_i ~ N(sum of the rewards of arm i / (T_i + 1), R^2 / (T_i + 1)),   play argmax_i theta_i

Here $T_i$ is the number of plays of arm i. The distribution of theta_i is the posterior of the mean mu_i for a N(0,
$R^2$) prior and N(mu_i, $R^2$) rewards. Notation: R is the field `noise_scale`. The cost per round is $O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls, hoeffding_scale
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree
from jaxbandits.numerics import rng


@pytree
class ThompsonGaussian(IndexPolicy):
    """Thompson sampling with a Gaussian prior and likelihood, which may also be used for rewards in [0, 1].

    Guarantee:
      If rewards are independent and in [0, 1] and $R = 1$, then the expected regret after $T >= K$ rounds is
      $O(sqrt(K T log K))$ (the theorem of the paper for Gaussian priors).

    Deviations:
      * [ours] R is the standard deviation of the prior and of the rewards; the paper has $R = 1$.

    References:
      Shipra Agrawal, Navin Goyal. Further Optimal Regret Bounds for Thompson Sampling. AISTATS 2013, Algorithm 2.
    """

    source: ClassVar[str] = "Agrawal & Goyal, AISTATS 2013, Algorithm 2"
    first_pulls: ClassVar[float] = 0.0  # arms without plays keep the prior
    noise_scale: ArrayLike = param(1.0, "[0, inf)", "R, standard deviation of prior and rewards")

    @classmethod
    def bounded(cls, *, n_arms: int, width: ArrayLike = 1.0, **changes: FieldValue) -> "ThompsonGaussian":
        """Use R = w / 2 for rewards in an interval of width w, such as [0, 1]; the guarantee is for R = 1."""
        return cls(**{"n_arms": n_arms, "noise_scale": hoeffding_scale(width)} | changes)

    @classmethod
    def example(cls) -> "ThompsonGaussian":
        return cls(n_arms=5)

    @property
    def sub_gaussian_scale(self) -> ArrayLike:
        """Sub-Gaussian constant R of the rewards."""
        return self.noise_scale

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del t
        share = 1.0 / (state.count + 1.0)
        return state.total * share + self.noise_scale * jnp.sqrt(share) * rng.normal_vector(key, self.n_arms)
