"""OFW-TVC in fast plain NumPy, on linear losses under a linear constraint: for one seed, and for many together.

The problem is `LinearConstraints` on the unit ball with its default sizes, and the constants are those of
`OFWTVC.practical`.
"""

import math
from typing import Any

import numpy as np

LIPSCHITZ, DIAMETER = 2.0, 2.0


def draw(dim: int, rounds: int, rng: np.random.Generator, seeds: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw loss vectors and constraint normals, `[T, S, d]` each, and offsets `[T, S]`."""
    along, across = rng.standard_normal((2, seeds, dim))
    along /= np.linalg.norm(along, axis=1)[:, None]
    across -= along * np.einsum("sd,sd->s", along, across)[:, None]
    across /= np.linalg.norm(across, axis=1)[:, None]
    costs = along + rng.uniform(-1.0, 1.0, (rounds, seeds, dim)) / math.sqrt(dim)
    normals = rng.uniform(0.5, 1.5, (rounds, seeds))[:, :, None] * (0.6 * across - 0.8 * along)
    return costs, normals, rng.uniform(0.2, 0.4, (rounds, seeds))


def regret_one(dim: int, rounds: int, horizon: float, rng: np.random.Generator) -> float:
    """Run one seed; return its regret against the best point of the ball."""
    costs, normals, offsets = (a[:, 0] for a in draw(dim, rounds, rng, 1))
    rate, pace = 40.0 / (LIPSCHITZ * DIAMETER) * 0.5 * horizon**-0.75, 10.0 * DIAMETER / 2.0 * horizon**-0.75
    x, anchor, total, queue, level, start, loss = np.zeros(dim), np.zeros(dim), np.zeros(dim), 0.0, LIPSCHITZ, 0, 0.0
    for t in range(rounds):
        cost, normal = costs[t], normals[t]
        loss += float(cost @ x)
        violation = float(normal @ x) - float(offsets[t])
        if violation > 0.0:
            queue += violation
        weight = math.exp(queue * rate)
        h = cost + weight * normal if violation > 0.0 else cost
        if level < LIPSCHITZ * (1.0 + weight):
            while level < LIPSCHITZ * (1.0 + weight):
                level *= 2.0
            start, anchor, total = t, x, np.zeros(dim)
        total = total + h
        slope = (pace / level) * total + 2.0 * (x - anchor)
        vertex = slope * (-1.0 / math.sqrt(float(slope @ slope)))
        x = x + min(1.0, 2.0 / math.sqrt(t - start + 1)) * (vertex - x)
    return loss + float(np.linalg.norm(costs.sum(axis=0)))


def regret_many(dim: int, rounds: int, horizon: float, rng: np.random.Generator, seeds: int) -> float:
    """Run all seeds together; return the mean regret."""
    costs, normals, offsets = draw(dim, rounds, rng, seeds)
    rate, pace = 40.0 / (LIPSCHITZ * DIAMETER) * 0.5 * horizon**-0.75, 10.0 * DIAMETER / 2.0 * horizon**-0.75
    x, anchor, total = np.zeros((3, seeds, dim))
    queue, level, start, loss = np.zeros(seeds), np.full(seeds, LIPSCHITZ), np.zeros(seeds), np.zeros(seeds)
    for t in range(rounds):
        loss += _dot(costs[t], x)
        violation = _dot(normals[t], x) - offsets[t]
        queue += np.maximum(violation, 0.0)
        weight = np.exp(queue * rate)
        total = total + costs[t] + (weight * (violation > 0.0))[:, None] * normals[t]
        target = LIPSCHITZ * (1.0 + weight)
        restart = np.flatnonzero(level < target)
        if restart.size:
            while (low := level < target).any():
                level[low] *= 2.0
            start[restart], anchor[restart] = t, x[restart]
            active = (weight * (violation > 0.0))[restart, None]
            total[restart] = costs[t][restart] + active * normals[t][restart]
        slope = (pace / level)[:, None] * total + 2.0 * (x - anchor)
        vertex = slope * (-1.0 / np.sqrt(_dot(slope, slope)))[:, None]
        x = x + np.minimum(1.0, 2.0 / np.sqrt(t - start + 1))[:, None] * (vertex - x)
    return float(np.mean(loss + np.linalg.norm(costs.sum(axis=0), axis=1)))


def _dot(a: Any, b: Any) -> Any:
    return np.einsum("sd,sd->s", a, b)
