"""Two measures of gradient noise: sigma^2 = sup_x E ||.||^2 and the larger sigma~^2 = E sup_x ||.||^2.

S. Wang, A. Barik, P. Zhao, V. Y. F. Tan, "Parameter-free Algorithms for the Stochastically Extended Adversarial Model",
NeurIPS 2025, arXiv 2510.04685, Appendix A. Proposition A.1: a random gradient field on n cells, on each 0 or (with
probability 1/n) +-1, has sigma^2 = 1/n and sigma~^2 = 1 - (1 - 1/n)^n -> 1 - 1/e.
"""

import numpy as np


def noise_measures(noise: np.ndarray) -> tuple[float, float]:
    """Return both measures of a sample `[S, X]` of centred gradients at X points: S draws of a scalar field."""
    square = noise**2
    return float(square.mean(axis=0).max()), float(square.max(axis=1).mean())


def cell_gradients(rng: np.random.Generator, n_cells: int, draws: int) -> np.ndarray:
    """Return `[draws, n_cells]`, the fields of Proposition A.1: 0, or +-1 with probability 1/(2n) each."""
    u = rng.random((draws, n_cells))
    return np.where(u < 0.5 / n_cells, 1.0, 0.0) - np.where(u >= 1.0 - 0.5 / n_cells, 1.0, 0.0)


def cell_measures(n_cells: int) -> tuple[float, float]:
    """Return the two measures of those fields, exactly."""
    return 1.0 / n_cells, 1.0 - (1.0 - 1.0 / n_cells) ** n_cells
