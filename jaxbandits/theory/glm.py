"""Regret bound and curvature of GLB-OMD (Zhang, Xu, Zhao & Sugiyama, "Generalized Linear Bandits", NeurIPS 2025)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.glm.glb_omd import GLBOMD
from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import replace


def theorem_2(algorithm: GLBOMD, rounds: np.ndarray, optimal_slope: np.ndarray) -> np.ndarray:
    """Return the explicit bound `[..., M]` in the proof of Theorem 2, with kappa computed over the whole ball.

        Reg_t <= 2 g2 + 4 g1^2 R + 2 g1 sqrt(2 g2 R) + 2 g1 sqrt(t / kappa_*)
        g1 = 2 beta_t sqrt(2 d (1 + C_mu) / g) sqrt(log(1 + t C_mu / (g d lambda)))
        g2 = 8 kappa d R C_mu beta_t+1^2 / g log(1 + t / (g kappa d lambda))

    Args:
      algorithm: an instance of the preset `theory`, for which lambda g >= 1. The proof needs this, and kappa >= 1.
      rounds: `[M]` numbers of rounds t.
      optimal_slope: `[..., M]` t / kappa_*, the sum of mu' at the best arm of each round up to t.
    """
    norm_bound = ranges.numbers("norm_bound", algorithm.norm_bound, "(0, inf)")  # squares of integers may overflow
    algorithm = replace(algorithm, "norm_bound", norm_bound)
    link, dim, bound = algorithm.link, algorithm.dim, np.asarray(algorithm.norm_bound, np.float64)
    r, g, ridge = (np.asarray(a, np.float64) for a in (link.self_concordance, link.dispersion, algorithm.lam))
    least, largest = (np.asarray(a, np.float64) for a in link.slope_bounds(-bound, bound))
    state = algorithm.init(jax.random.key(0))  # the radius of Theorem 1 depends only on t
    beta, beta_next = (np.asarray(algorithm.radius(jnp.asarray(t), state)) for t in (rounds - 1, rounds))
    log_1, log_2 = np.log1p(rounds * largest / (g * dim * ridge)), np.log1p(rounds * least / (g * dim * ridge))
    g1 = 2.0 * beta * np.sqrt(2.0 * dim * (1.0 + largest) / g * log_1)
    g2 = 8.0 * dim * r * largest * beta_next**2 / (least * g) * log_2
    return 2.0 * g2 + 4.0 * g1**2 * r + 2.0 * g1 * np.sqrt(2.0 * g2 * r) + 2.0 * g1 * np.sqrt(optimal_slope)


def largest_inverse_slope(link: Any, norm_bound: float, arm_norm: float = 1.0) -> float:
    """Return kappa, 1 / inf mu'(x' theta) over ||theta|| <= S and over all arms with norm at most `arm_norm`."""
    reach = norm_bound * arm_norm
    least = float(np.asarray(link.slope_bounds(-reach, reach)[0]))
    return 1.0 / least if least > 0.0 else np.inf


def implied_arm_norm(link: Any, norm_bound: float, stated: float) -> float:
    """Return the arm norm for which kappa (`largest_inverse_slope`) has the stated value, by bisection on [0, 2].

    Raises:
      InputError: if no arm norm in [0, 2] gives this value.
    """
    low, high = 0.0, 2.0
    least, most = (largest_inverse_slope(link, norm_bound, norm) for norm in (low, high))
    if not least <= stated <= most:
        raise InputError(f"kappa must lie in [{least:.6g}, {most:.6g}] for arm norms in [0, 2], got {stated:.6g}")
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if largest_inverse_slope(link, norm_bound, middle) < stated else (low, middle)
    return 0.5 * (low + high)
