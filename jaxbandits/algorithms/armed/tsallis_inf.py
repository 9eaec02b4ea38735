"""Tsallis-INF: one policy for stochastic and adversarial rewards (Zimmert & Seldin, JMLR 22(28), 2021, Algorithm 1).

    play   i with probability w_i = 4 (eta_t (L_i - x))^{-2},   x such that sum_i w_i = 1,   eta_t = 2 / sqrt(t)
    L_i    <- L_i + (1 - reward) / w_i   for the arm i played

In round $t = 1$, 2, ..., this is a step of mirror descent with the Tsallis entropy of power 1/2. The cost per round is
$O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.sampled_policy import SampledPolicy
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree


@pytree
class TsallisINF(SampledPolicy):
    """Policy with logarithmic regret for stochastic rewards and $O(sqrt(K T))$ regret for adversarial rewards.

    The policy depends neither on the regime nor on T.

    Guarantee:
      If rewards are in [0, 1], the expected regret against every fixed arm after T rounds is at most $4 sqrt(K T) + 1$
      for any sequence of rewards, and $O(sum_{D_i > 0} log T / D_i)$ in the stochastically constrained adversarial
      regime with a unique best arm and gaps $D_i$ (Theorem 1).

    Deviations:
      * [ours] `rate` multiplies $eta_t$. x is computed by a fixed number of Newton steps on the function $(sum_i
        w_i)^{-1/2}$, which is concave in x; the weights are then normalised. In the loss estimates, weights below 2^-40
        are replaced by 2^-40.

    References:
      Julian Zimmert, Yevgeny Seldin. Tsallis-INF: An Optimal Algorithm for Stochastic and Adversarial Bandits.
      JMLR 22(28), 2021, arXiv:1807.07623, Algorithms 1 and 2, Theorem 1 (importance weights), Lemmas 11 and 12.
    """

    source: ClassVar[str] = "Zimmert & Seldin, JMLR 22(28), 2021, Algorithm 1"
    rate: ArrayLike = param(1.0, "(0, inf)", "multiplier of eta_t; the theory uses 1")

    @classmethod
    def theory(cls, *, n_arms: int, **changes: FieldValue) -> "TsallisINF":
        """Use eta_t = 2 / sqrt(t) (the default)."""
        return cls(**{"n_arms": n_arms} | changes)

    @classmethod
    def example(cls) -> "TsallisINF":
        return cls(n_arms=5)

    def weights(self, t: jax.Array, losses: jax.Array) -> jax.Array:
        return tsallis_weights(losses, 2.0 * self.rate / jnp.sqrt((t + 1).astype(losses.dtype)))


def tsallis_weights(losses: jax.Array, rate: jax.Array) -> jax.Array:
    """Return w_i = 4 (rate (L_i - x))^{-2} `[K]` with sum 1; a loss of inf excludes an arm.

    With y_i = rate (L_i - min L) / 2 and z = rate (min L - x) / 2 the weights are w_i = (y_i + z)^{-2}. The function
    g(z) = (sum_i (y_i + z)^{-2})^{-1/2} is a power mean and therefore concave and increasing. At z = 1 the sum is at
    least 1. From there, Newton's method for g = 1 increases monotonically to the root and converges quadratically.
    """
    y = 0.5 * rate * (losses - jnp.min(losses))
    z = jnp.ones((), losses.dtype)
    for _ in range(4 if losses.dtype == jnp.float32 else 6):
        inverse = 1.0 / (y + z)
        squares = inverse * inverse
        total, cubes = jnp.sum(squares), jnp.sum(squares * inverse)
        z = z + total * (jnp.sqrt(total) - 1.0) / cubes
    weights = 1.0 / jnp.square(y + z)
    return weights * (1.0 / jnp.sum(weights))
