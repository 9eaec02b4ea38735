"""SMD(m) and Online(1) in fast plain NumPy, on synthetic groups: for one seed, and for many together.

The problem is `SyntheticGroups.homogeneous`, with the step sizes of the practical presets. Samples are drawn in blocks
of rounds: rows of all groups for SMD(m), and one row per round for Online(1), whose label is drawn once its group is
known. The functions return for every seed the loss at w_t, averaged over the rows of a round and summed over rounds.
They also keep the sums of w_t and q_t, from which the algorithms compute their output.
"""

import math
from typing import Any

import numpy as np

from jaxbandits.algorithms.dro.multipliers import MULTIPLIERS

RHO, CORRECT, RADIUS = 0.5, 0.9, 3.0
BLOCK = 1 << 18  # numbers drawn ahead


def instance(dim: int, groups: int, rng: np.random.Generator, seeds: int) -> np.ndarray:
    """Draw the optima of the groups `[S, m, d]`."""
    directions = rng.standard_normal((seeds, groups + 1, dim))
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    optima = directions[:, :1] + RHO * directions[:, 1:]
    return optima / np.linalg.norm(optima, axis=2, keepdims=True)


def smd_steps(dim: int, groups: int, horizon: float) -> tuple[float, float]:
    """Return the step sizes of Theorem 1 for the ball."""
    half_square, entropy = RADIUS**2 / 2.0, math.log(groups)
    r = math.sqrt(8.0 / (5.0 * horizon * (half_square * dim + entropy)))
    scale = MULTIPLIERS["smd"]
    return scale["w_scale"] * half_square * r, scale["q_scale"] * entropy * r


def online_steps(dim: int, groups: int, horizon: float) -> tuple[float, float, float]:
    """Return the step sizes of Theorem 5 for the ball."""
    scale = MULTIPLIERS["online"]
    step_q = scale["q_scale"] * math.sqrt(math.log(groups) / (groups * horizon))
    return scale["w_scale"] * 2.0 * RADIUS / math.sqrt(2.0 * dim * 5.0 * horizon), step_q, step_q / 2.0


def blocks(rounds: int, numbers: int) -> list[int]:
    """Return the number of rounds of each block of draws, if a round takes `numbers` numbers."""
    size = max(1, BLOCK // numbers)
    return [min(size, rounds - start) for start in range(0, rounds, size)]


def smd_one(dim: int, groups: int, rounds: int, horizon: float, rng: np.random.Generator) -> float:
    """Run SMD(m) on one seed."""
    optima = instance(dim, groups, rng, 1)[0]
    step_w, step_q = smd_steps(dim, groups, horizon)
    w, log_q, total = np.zeros(dim), np.full(groups, -math.log(groups)), 0.0
    w_sum, q_sum = np.zeros(dim), np.zeros(groups)
    for size in blocks(rounds, groups * dim):
        x = rng.standard_normal((size, groups, dim))
        side = np.where(np.einsum("tmd,md->tm", x, optima) < 0.0, -1.0, 1.0)
        rows = np.where(rng.random((size, groups)) < CORRECT, side, -side)[:, :, None] * x  # only y x enters
        for t in range(size):
            q = np.exp(log_q)
            w_sum += w
            q_sum += q
            v = rows[t] @ w
            weight = np.exp(-np.logaddexp(0.0, v))
            loss = np.logaddexp(0.0, -v)
            total += float(loss.sum())
            w = w + step_w * ((q * weight) @ rows[t])
            norm = math.sqrt(float(w @ w))
            if norm > RADIUS:
                w *= RADIUS / norm
            log_q = log_q + step_q * loss
            top = float(log_q.max())
            log_q = log_q - (top + math.log(float(np.exp(log_q - top).sum())))
    return total / groups


def smd_many(dim: int, groups: int, rounds: int, horizon: float, rng: np.random.Generator, seeds: int) -> np.ndarray:
    """Run SMD(m) on all seeds together."""
    optima = instance(dim, groups, rng, seeds)
    step_w, step_q = smd_steps(dim, groups, horizon)
    w, log_q, total = np.zeros((seeds, dim)), np.full((seeds, groups), -math.log(groups)), np.zeros(seeds)
    w_sum, q_sum = np.zeros((seeds, dim)), np.zeros((seeds, groups))
    for size in blocks(rounds, seeds * groups * dim):
        x = rng.standard_normal((size, seeds, groups, dim))
        side = np.where(np.einsum("tsmd,smd->tsm", x, optima) < 0.0, -1.0, 1.0)
        rows = np.where(rng.random((size, seeds, groups)) < CORRECT, side, -side)[..., None] * x
        for t in range(size):
            q = np.exp(log_q)
            w_sum += w
            q_sum += q
            v = np.matmul(rows[t], w[:, :, None])[:, :, 0]
            tail = np.exp(-np.abs(v))
            weight = np.where(v < 0.0, 1.0, tail) / (1.0 + tail)
            loss = np.maximum(-v, 0.0) + np.log1p(tail)
            total += loss.sum(axis=1)
            w = onto_ball(w + step_w * np.matmul((q * weight)[:, None], rows[t])[:, 0])
            log_q = log_q + step_q * loss
            log_q = log_q - log_sum_exp(log_q)
    return total / groups


def online_one(dim: int, groups: int, rounds: int, horizon: float, rng: np.random.Generator) -> float:
    """Run Online(1) on one seed."""
    optima = instance(dim, groups, rng, 1)[0]
    step_w, step_q, gamma = online_steps(dim, groups, horizon)
    w, log_q, total = np.zeros(dim), np.full(groups, -math.log(groups)), 0.0
    w_sum, q_sum = np.zeros(dim), np.zeros(groups)
    for size in blocks(rounds, dim):
        rows, picks, labels = rng.standard_normal((size, dim)), rng.random(size).tolist(), rng.random(size).tolist()
        for t in range(size):
            q, x = np.exp(log_q), rows[t]
            w_sum += w
            q_sum += q
            i = min(int(np.searchsorted(np.cumsum(q), picks[t], side="right")), groups - 1)
            sign = -1.0 if (float(x @ optima[i]) < 0.0) == (labels[t] < CORRECT) else 1.0
            v = sign * float(x @ w)
            tail = math.exp(-abs(v))
            loss = max(-v, 0.0) + math.log1p(tail)
            total += loss
            w = w + (step_w * sign * (1.0 if v < 0.0 else tail) / (1.0 + tail)) * x
            norm = math.sqrt(float(w @ w))
            if norm > RADIUS:
                w *= RADIUS / norm
            log_q[i] -= step_q * (1.0 - loss) / (float(q[i]) + gamma)
            top = float(log_q.max())
            log_q -= top + math.log(float(np.exp(log_q - top).sum()))
    return total


def online_many(dim: int, groups: int, rounds: int, horizon: float, rng: np.random.Generator, seeds: int) -> np.ndarray:
    """Run Online(1) on all seeds together."""
    optima, each = instance(dim, groups, rng, seeds), np.arange(seeds)
    step_w, step_q, gamma = online_steps(dim, groups, horizon)
    w, log_q, total = np.zeros((seeds, dim)), np.full((seeds, groups), -math.log(groups)), np.zeros(seeds)
    w_sum, q_sum = np.zeros((seeds, dim)), np.zeros((seeds, groups))
    for size in blocks(rounds, seeds * dim):
        rows, picks, labels = (
            rng.standard_normal((size, seeds, dim)),
            rng.random((size, seeds)),
            rng.random((size, seeds)),
        )
        for t in range(size):
            q, x = np.exp(log_q), rows[t]
            w_sum += w
            q_sum += q
            i = np.minimum((np.cumsum(q, axis=1) <= picks[t][:, None]).sum(axis=1), groups - 1)
            sign = np.where((_dot(x, optima[each, i]) < 0.0) == (labels[t] < CORRECT), -1.0, 1.0)
            v = sign * _dot(x, w)
            tail = np.exp(-np.abs(v))
            loss = np.maximum(-v, 0.0) + np.log1p(tail)
            total += loss
            w = onto_ball(w + (step_w * sign * np.where(v < 0.0, 1.0, tail) / (1.0 + tail))[:, None] * x)
            log_q[each, i] -= step_q * (1.0 - loss) / (q[each, i] + gamma)
            log_q -= log_sum_exp(log_q)
    return total


def onto_ball(w: np.ndarray) -> np.ndarray:
    """Project rows onto the ball."""
    return w * np.minimum(1.0, RADIUS / np.maximum(np.sqrt(_dot(w, w)), 1e-300))[:, None]


def log_sum_exp(a: np.ndarray) -> np.ndarray:
    """Compute log-sum-exp of rows, `[S, 1]`."""
    top = a.max(axis=1, keepdims=True)
    return top + np.log(np.exp(a - top).sum(axis=1, keepdims=True))


def _dot(a: Any, b: Any) -> Any:
    return np.einsum("sd,sd->s", a, b)


ONE = {"smd": smd_one, "online": online_one}
MANY = {"smd": smd_many, "online": online_many}
