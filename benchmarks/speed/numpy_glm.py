"""GLB-OMD for logistic rewards in fast plain NumPy: for one seed, and for many seeds in one array.

These are baselines of the speed table, like `numpy_loops`: only the inverse is kept, by Sherman-Morrison updates;
rewards (and for one seed fresh arms) are drawn before the loop; and the projection runs only for points outside the
ball.
"""

import math

import numpy as np

from benchmarks.speed.numpy_loops import optimistic_many, optimistic_one, project, project_where_outside

RADIUS, DELTA = 3.0, 0.05  # S and the failure probability
ETA = 1.0 + RADIUS
LARGEST_SLOPE = 0.25  # of the logistic function


def sphere(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw uniformly on the unit sphere of the last axis."""
    x = rng.standard_normal(shape)
    x /= np.sqrt(np.einsum("...d,...d->...", x, x))[..., None]
    return x


def ball(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw uniformly in the unit ball of the last axis."""
    return sphere(shape, rng) * rng.random((*shape[:-1], 1)) ** (1.0 / shape[-1])


def logistic(z: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-z))


def _radii(dim: int, rounds: int) -> list[float]:
    """Return the radii of the confidence sets of all rounds, for ridge d."""
    log_terms = np.log(2.0 + 2.0 * LARGEST_SLOPE * np.arange(1, rounds + 1) / dim)
    return np.sqrt(4.0 * dim * RADIUS**2 - 2.0 * ETA * math.log(DELTA) + 6.0 * dim * ETA**2 * log_terms).tolist()


def glb_omd_one(dim: int, n_arms: int, rounds: int, fresh_arms: bool, rng: np.random.Generator) -> float:
    """Run one seed; return its pseudo-regret."""
    theta_star = RADIUS * sphere((dim,), rng)
    sets = ball((rounds if fresh_arms else 1, n_arms, dim), rng)
    means, uniforms = logistic(sets @ theta_star), rng.random(rounds)
    sets, means = np.broadcast_to(sets, (rounds, n_arms, dim)), np.broadcast_to(means, (rounds, n_arms))
    inverse, theta, played = np.eye(dim) / dim, np.zeros(dim), 0.0
    for t, radius in enumerate(_radii(dim, rounds)):
        k = optimistic_one(sets[t], theta, inverse, radius)
        x, mean = sets[t, k], means[t, k]
        u, expected = inverse @ x, 1.0 / (1.0 + math.exp(-(x @ theta)))
        width_sq, weight = float(x @ u), ETA * expected * (1.0 - expected)
        shrunk = 1.0 / (1.0 + weight * width_sq)
        theta = theta - u * (ETA * (expected - (uniforms[t] < mean)) * shrunk)
        if theta @ theta > RADIUS**2:
            theta = project(inverse - np.outer(u, u * (weight * shrunk)), theta, RADIUS)
        expected = 1.0 / (1.0 + math.exp(-(x @ theta)))
        slope = expected * (1.0 - expected)
        inverse -= np.outer(u, u * (slope / (1.0 + slope * width_sq)))
        played += mean
    return float(means.max(1).sum() - played)


def glb_omd_many(
    dim: int, n_arms: int, rounds: int, fresh_arms: bool, rng: np.random.Generator, seeds: int
) -> np.ndarray:
    """Run all seeds in one array; return their pseudo-regrets `[S]`."""
    theta_star = RADIUS * sphere((seeds, dim), rng)
    arms = means = best = np.empty(0)
    inverse, theta = np.tile(np.eye(dim) / dim, (seeds, 1, 1)), np.zeros((seeds, dim))
    row, regret = np.arange(seeds), np.zeros(seeds)
    for t, radius in enumerate(_radii(dim, rounds)):
        if fresh_arms or t == 0:
            arms = ball((seeds, n_arms, dim), rng)
            means = logistic(np.matmul(arms, theta_star[..., None])[..., 0])
            best = means.max(1)
        k = optimistic_many(arms, theta, inverse, radius)
        x, mean = arms[row, k], means[row, k]
        u = np.matmul(inverse, x[..., None])[..., 0]
        width_sq, expected = np.einsum("sd,sd->s", x, u), logistic(np.einsum("sd,sd->s", x, theta))
        weight = ETA * expected * (1.0 - expected)
        shrunk = 1.0 / (1.0 + weight * width_sq)
        outer = u[:, :, None] * u[:, None, :]
        theta -= u * (ETA * (expected - (rng.random(seeds) < mean)) * shrunk)[:, None]
        project_where_outside(inverse - outer * (weight * shrunk)[:, None, None], theta, RADIUS)
        expected = logistic(np.einsum("sd,sd->s", x, theta))
        slope = expected * (1.0 - expected)
        inverse -= outer * (slope / (1.0 + slope * width_sq))[:, None, None]
        regret += best - mean
    return regret
