"""Two measures of gradient noise: sigma^2 = sup_x E ||.||^2 and the larger sigma~^2 = E sup_x ||.||^2.

S. Wang, A. Barik, P. Zhao, V. Y. F. Tan, "Parameter-free Algorithms for the Stochastically Extended Adversarial Model",
NeurIPS 2025, arXiv 2510.04685, Appendix A. Proposition A.1: a random gradient field on n cells, on each 0 or (with
probability 1/n) +-1, has $sigma^2$ = 1/n and $sigma~^2 = 1 - (1 - 1/n)^n -> 1$ - 1/e. (The fields are not gradients of
convex functions; the example concerns only the measures.)
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike


class NoiseMeasures(NamedTuple):
    """Of one round's gradient noise."""

    variance: ArrayLike  # []  sigma^2 = sup_x E ||grad f(x) - grad F(x)||^2
    uniform_variance: ArrayLike  # []  sigma~^2 = E sup_x ||grad f(x) - grad F(x)||^2


def noise_measures(gradients: jax.Array, mean: ArrayLike | None = None) -> NoiseMeasures:
    """Monte Carlo estimates over a grid of points.

    Args:
      gradients: `[S, X, d]` S draws of grad f, each at the same X points.
      mean: `[X, d]` grad F, if known; None: the mean of the draws.

    Returns:
      Both measures, with suprema over the X points. By Jensen's inequality, on any sample,
      `variance <= uniform_variance`.
    """
    noise = gradients - (jnp.mean(gradients, axis=0) if mean is None else mean)
    square = jnp.sum(noise**2, axis=-1)  # [S, X]
    return NoiseMeasures(jnp.max(jnp.mean(square, axis=0)), jnp.mean(jnp.max(square, axis=1)))


def cell_gradients(key: jax.Array, n_cells: int, draws: int) -> jax.Array:
    """Return `[draws, n_cells, 1]`, the fields of Proposition A.1, one value per cell.

    A value is 0, or +-1 with probability 1/(2n) each.
    """
    u = jax.random.uniform(key, (draws, n_cells))
    return (jnp.where(u < 0.5 / n_cells, 1.0, 0.0) - jnp.where(u >= 1.0 - 0.5 / n_cells, 1.0, 0.0))[..., None]


def cell_measures(n_cells: ArrayLike) -> NoiseMeasures:
    """Return the two measures of those fields, exactly."""
    n_cells = jnp.asarray(n_cells, jnp.result_type(float))
    return NoiseMeasures(1.0 / n_cells, -jnp.expm1(n_cells * jnp.log1p(-1.0 / n_cells)))
