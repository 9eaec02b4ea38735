"""K-armed bandits in fast plain NumPy: all seeds in one array, a single seed in an array with one row.

The first coin pays with probability 0.9 and the others with 0.6 (Auer, Cesa-Bianchi & Fischer 2002). The index of an
arm that was not played is infinite.
"""

from collections.abc import Callable

import numpy as np

BEST, OTHERS = 0.9, 0.6


def means(n_arms: int) -> np.ndarray:
    """Return the means of the arms `[K]`."""
    return np.where(np.arange(n_arms) == 0, BEST, OTHERS)


def ucb1(t: int, count: np.ndarray, total: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the index `[S, K]` of UCB1."""
    del rng
    return total / count + np.sqrt(2.0 * np.log(max(t, 1)) / count)


def kl_ucb(t: int, count: np.ndarray, total: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the index `[S, K]` of KL-UCB."""
    del rng
    return kl_upper(total / count, np.log(max(t, 1)) / count)


def kl_upper(mean: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Return the largest q with kl(mean, q) <= level by five Newton steps."""
    m = np.clip(mean, 1e-12, 1.0 - 1e-12)
    left = 1.0 - m
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -m * np.log(m) - left * np.log(left)
        x = np.minimum(np.sqrt(0.5 * level), level + np.sqrt(level * (level + 2.0 * m)))
        x = np.maximum(np.minimum(x, left - np.exp(-(level + entropy) / left)), 1e-12)
        for _ in range(5):
            kl = np.maximum(-m * np.log1p(x / m) - left * np.log1p(-x / left), 0.0)
            x = np.clip(x - 2.0 * (kl - np.sqrt(kl * level)) * (m + x) * (left - x) / x, 1e-12, left * (1.0 - 1e-15))
    return np.where(mean < 1.0, m + x, 1.0)


def thompson_beta(t: int, count: np.ndarray, total: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return draws `[S, K]` from the posteriors."""
    del t
    return rng.beta(1.0 + total, 1.0 + count - total)


def _index_policy(index: Callable, n_arms: int, rounds: int, rng: np.random.Generator, seeds: int) -> np.ndarray:
    mu, row = means(n_arms), np.arange(seeds)
    count, total, regret = np.zeros((seeds, n_arms)), np.zeros((seeds, n_arms)), np.zeros(seeds)
    tries_all = index is not thompson_beta
    with np.errstate(divide="ignore", invalid="ignore"):
        for t in range(rounds):
            coin = rng.random(seeds)
            k = np.full(seeds, t) if tries_all and t < n_arms else index(t, count, total, rng).argmax(axis=1)
            mean = mu[k]
            count[row, k] += 1.0
            total[row, k] += coin < mean
            regret += BEST - mean
    return regret


def _tsallis_inf(n_arms: int, rounds: int, rng: np.random.Generator, seeds: int) -> np.ndarray:
    mu, row = means(n_arms), np.arange(seeds)
    losses, regret = np.zeros((seeds, n_arms)), np.zeros(seeds)
    for t in range(rounds):
        coin, u = rng.random(seeds), rng.random(seeds)
        y, z = (losses - losses.min(axis=1, keepdims=True)) / np.sqrt(t + 1.0), np.ones((seeds, 1))
        for _ in range(5):
            inverse = 1.0 / (y + z)
            square = inverse * inverse
            total = square.sum(axis=1, keepdims=True)
            z = z + total * (np.sqrt(total) - 1.0) / (square * inverse).sum(axis=1, keepdims=True)
        p = (y + z) ** -2.0
        p /= p.sum(axis=1, keepdims=True)
        k = np.minimum((p.cumsum(axis=1) <= u[:, None]).sum(axis=1), n_arms - 1)
        losses[row, k] += (coin >= mu[k]) / p[row, k]
        regret += BEST - mu[k]
    return regret


def regret(algorithm: str, n_arms: int, rounds: int, rng: np.random.Generator, seeds: int = 1) -> np.ndarray:
    """Run an algorithm on several seeds; return their pseudo-regrets `[S]`."""
    if algorithm == "tsallis_inf":
        return _tsallis_inf(n_arms, rounds, rng, seeds)
    index = {"ucb1": ucb1, "kl_ucb": kl_ucb, "thompson_beta": thompson_beta}[algorithm]
    return _index_policy(index, n_arms, rounds, rng, seeds)
