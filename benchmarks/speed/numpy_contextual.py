"""Disjoint LinUCB in fast plain NumPy: all seeds in one array, a single seed in an array with one row.

The arms have linear models in fresh contexts, as in `LinearContexts`: unit vectors and Gaussian noise.
"""

import numpy as np

NOISE = 0.1


def _unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def regret(dim: int, n_arms: int, rounds: int, rng: np.random.Generator, seeds: int = 1) -> np.ndarray:
    """Run DisjointLinUCB with alpha = 1 on several seeds; return their pseudo-regrets `[S]`."""
    row = np.arange(seeds)
    truth = _unit(rng.normal(size=(seeds, n_arms, dim)))
    inverse = np.broadcast_to(np.eye(dim), (seeds, n_arms, dim, dim)).copy()
    theta, total = np.zeros((seeds, n_arms, dim)), np.zeros(seeds)
    for _ in range(rounds):
        x, noise = _unit(rng.normal(size=(seeds, dim))), rng.normal(size=seeds)
        image = np.einsum("skij,sj->ski", inverse, x)
        width_sq = np.einsum("ski,si->sk", image, x)
        k = (np.einsum("ski,si->sk", theta, x) + np.sqrt(width_sq)).argmax(axis=1)
        means = np.einsum("ski,si->sk", truth, x)
        u, scale = image[row, k], 1.0 / (1.0 + width_sq[row, k])
        error = means[row, k] + NOISE * noise - np.einsum("si,si->s", theta[row, k], x)
        theta[row, k] += u * (error * scale)[:, None]
        inverse[row, k] -= u[:, :, None] * u[:, None, :] * scale[:, None, None]
        total += means.max(axis=1) - means[row, k]
    return total
