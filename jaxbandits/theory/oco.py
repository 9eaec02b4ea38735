"""Regret bounds in the stochastically extended adversarial (SEA) model (Wang, Barik, Zhao & Tan, NeurIPS 2025)."""

import math
from typing import Any

import numpy as np


def visible_bound(environment: Any, horizon: int, diameter: float = 2.0) -> float:
    """Return D (sqrt(sigma^2_{1:T}) + sqrt(Sigma^2_{1:T})), the bound of Theorem 3.2 without its constants."""
    variance, variation = environment.cumulative_variance(horizon), environment.cumulative_variation(horizon)
    return diameter * (math.sqrt(float(variance)) + math.sqrt(float(variation)))


def theorem_3_1(  # noqa: PLR0913
    rounds: np.ndarray,
    *,
    rank: int,
    eta_first: float,
    eta_last: np.ndarray,
    range_first: float,
    range_last: np.ndarray | float,
    diameter: float,
    norm_sq: float,
    errors: np.ndarray,
    moves: np.ndarray,
) -> np.ndarray:
    """Return the bound `[..., M]` of Theorem 3.1 with the constants of its proof (Appendix C.2).

        R_T(u) <= (33 / 16) r log(1 + T eta_1 z_T^2 / z_1^2) / eta_T + 2 z_1^2 (1 + eta_1) ||u||^2 + D (z_T - z_1) / 16
                  + 24 sum_t eta_t <u, e_t>^2 - z_1^2 sum_{t >= 2} ||x_t - x_{t-1}||^2,   e_t = g_t - m_t

    Lemma C.3 gives the term 2 r log(...) / eta_T. The change of A_t adds 1 / 32 of this term, since 2 eta_t D z_t <= 1
    / 32. Of the factor 24, the change of A_t contributes 8 and the correction of the losses contributes 16.

    Args:
      rounds: `[M]` numbers of rounds T.
      rank: r, rank of sum_t e_t e_t'.
      eta_first: eta_1.
      eta_last: `[..., M]` eta_T.
      range_first: z_1.
      range_last: z_T.
      diameter: D, diameter of X.
      norm_sq: ||u||^2.
      errors: `[..., M]` sum_t eta_t <u, e_t>^2 up to T; the value U^2 sum_t eta_t ||e_t||^2 covers all u of norm U.
      moves: `[..., M]` sum of ||x_t - x_{t-1}||^2 up to T.
    """
    first_sq = range_first**2
    curvature = 33.0 / 16.0 * rank * np.log1p(rounds * eta_first * np.square(range_last) / first_sq) / eta_last
    start = 2.0 * first_sq * (1.0 + eta_first) * norm_sq + diameter * (np.asarray(range_last) - range_first) / 16.0
    return curvature + start + 24.0 * errors - first_sq * moves


def conversion_2(lipschitz: float, noise: np.ndarray, variation: np.ndarray) -> np.ndarray:
    """Return the bound on sum_t sup_x ||grad f_t - grad f_{t-1}||^2 from which inequality (2) follows (Appendix B.1).

    The bound is G^2 + 6 sum_t sup_x ||grad f_t - grad F_t||^2 + 4 sum_t sup_x ||grad F_t - grad F_{t-1}||^2.
    """
    return lipschitz**2 + 6.0 * np.asarray(noise) + 4.0 * np.asarray(variation)


def theorem_4_5(
    norm: float, lipschitz: float, *, variance: float, variation: float, deviation: float, mean_gradients: float
) -> dict[str, float]:
    """Return a dictionary of the terms of the bound of Theorem 4.5, without constants and logarithms.

    Args:
      norm: ||u||.
      lipschitz: G.
      variance: sigma^2_{1:T}.
      variation: Sigma^2_{1:T}.
      deviation: sigma_{1:T}.
      mean_gradients: frak-G_{1:T}, the sum of sup_x ||grad F_t(x)||.
    """
    return {
        "u^2 (sigma + Sigma)": norm**2 * (math.sqrt(variance) + math.sqrt(variation)),
        "G^2 u^2": lipschitz**2 * norm**2,
        "u^4": norm**4,
        "G u^3": lipschitz * norm**3,
        "G^2 sqrt(sigma + frak-G)": lipschitz**2 * math.sqrt(deviation + mean_gradients),
    }
