"""Bounds on regret and estimation error of Hvt-UCB (Wang, Zhang, Zhao & Zhou, ICML 2025)."""

import numpy as np

from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB


def theorem_1(algorithm: HvtUCB, rounds: np.ndarray, noise_power: np.ndarray) -> np.ndarray:
    """Return the explicit bound `[..., M]` in the proof of Theorem 1.

        4 beta_t (sqrt(2 kappa (sum nu^2 + 1)) + 4 c L kappa / sqrt(lambda)),   c = beta_0 / tau0 + 107 ell

    The other symbols are those of `hvt_estimator`. The paper prints the second term without the factor 4, since its
    proof uses w_t^{-2} = beta_{t-1} / (tau_0 t^e), which is four times too small.

    Args:
      algorithm: an instance of the preset `theory` (lambda = d, alpha = 4, L = 1, delta = 1/(8T), sigma_min =
        1/sqrt(T)).
      rounds: `[M]` numbers of rounds t.
      noise_power: `[..., M]` sum of nu_s^2 up to t.
    """
    dim, horizon, eps = algorithm.dim, float(algorithm.horizon), float(algorithm.eps)  # pyright: ignore
    log_3t, e = np.log(3.0 * horizon), (1.0 - eps) / (2.0 * (1.0 + eps))
    kappa = dim * np.log1p(horizon * horizon / (4.0 * dim * dim))
    ell = np.log(16.0) + 3.0 * np.log(horizon)
    tau0 = np.sqrt(2.0 * kappa) * log_3t**e / ell ** (1.0 / (1.0 + eps))
    drift = np.sqrt(dim * (2.0 + 4.0 * float(algorithm.norm_bound) ** 2))  # pyright: ignore
    beta = 107.0 * ell * tau0 * rounds**e + drift
    c = drift / tau0 + 107.0 * ell
    return 4.0 * beta * (np.sqrt(2.0 * kappa * (noise_power + 1.0)) + 4.0 * c * kappa / np.sqrt(dim))


def lemma_2(
    gap: np.ndarray, stability: np.ndarray, negative: np.ndarray, *, ridge: float, norm_bound: float
) -> np.ndarray:
    """Return the right side `[..., M]` of Lemma 2 for alpha = 2, which bounds ||theta_{t+1} - theta*||^2_{V_t}.

    Args:
      gap: `[..., M]` sum of 2 <grad l~_s - grad l_s, theta_s - theta*>, where l~ is the loss without noise.
      stability: `[..., M]` sum of ||grad l_s||^2 in the norm of V_s^{-1}.
      negative: `[..., M]` sum of (X_s' (theta_s - theta*) / sigma_s)^2 / 2.
      ridge: lambda.
      norm_bound: S.
    """
    return gap + stability - negative + 4.0 * ridge * norm_bound**2
