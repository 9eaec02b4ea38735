"""IDS: information-directed sampling from posterior draws, for Gaussian rewards (Russo & Van Roy, NeurIPS 2014).

    g_a = I(A*; Y_a) = 1/2 sum_i alpha_i log((s_a^2 + R^2) / (s_ia^2 + R^2))
    play  an arm drawn from the p that minimises (p'D)^2 / p'g

$s_a^2$ is the posterior variance of the mean theta_a of arm a, and $s_ia^2$ is its variance given that arm i is the
best. R is `model.noise`; alpha and D are defined in `posterior_draws`.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.contextual.rules.posterior_draws import PosteriorDraws
from jaxbandits.base.pytree import ArrayLike, pytree


@pytree
class IDS(PosteriorDraws):
    """Information-directed sampling with the information that a Gaussian reward carries about the best arm.

    Guarantee:
      The guarantee of `VIDS` holds.

    Deviations:
      * [ours] The distribution of a reward and its distribution given the best arm are replaced by Gaussians with the
        same means and variances. The mean over i of the divergence of these Gaussians is g_a, because the other terms
        of the divergence have mean 0. The posterior is approximated by n draws. Ties go to the first arm.

    References:
      Daniel Russo, Benjamin Van Roy. Learning to Optimize via Information-Directed Sampling. NeurIPS 2014; Operations
      Research 66(1), 2018.
    """

    needs: ClassVar[tuple[str, ...]] = ("sample", "noise")

    def gain(self, alpha: jax.Array, shift: jax.Array, square: jax.Array, noise: ArrayLike) -> jax.Array:
        noise_sq = jnp.maximum(jnp.square(noise), 1e-12)
        total = jnp.sum(alpha[:, None] * square, axis=0) + noise_sq
        left = jnp.maximum(square - jnp.square(shift), 0.0) + noise_sq
        return 0.5 * jnp.sum(alpha[:, None] * jnp.log(total / left), axis=0)
