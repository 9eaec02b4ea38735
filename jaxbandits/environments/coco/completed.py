"""Minimisation of squared errors over matrices in a nuclear-norm ball, with or without linear constraints.

The solver runs on the host after a run; it uses NumPy in float64 and one dense SVD per step. It is suitable for
matrices with a few thousand entries.
"""

import warnings
from typing import NamedTuple

import numpy as np

from jaxbandits.base.text import count_of

_INNER, _OUTER = 400, 200
_MOST = 50 * _INNER  # steps without constraints


class Problem(NamedTuple):
    """Problem of minimising `1/2 <weight, (X - target)^2>` over `||X||_* <= radius`."""

    weight: np.ndarray  # [m, n] >= 0, number of batches that contained the entry
    target: np.ndarray  # [m, n]
    radius: float

    def loss(self, x: np.ndarray) -> float:
        return 0.5 * float(np.sum(self.weight * (x - self.target) ** 2))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        return self.weight * (x - self.target)


class Penalty(NamedTuple):
    """The term `||max(0, mu + rho (rows x - bounds))||^2 / (2 rho)` of an augmented Lagrangian."""

    rows: np.ndarray  # [k, m n]
    bounds: np.ndarray  # [k]
    mu: np.ndarray  # [k] multipliers, >= 0
    rho: float

    def gradient(self, x: np.ndarray) -> np.ndarray:
        pushed = np.maximum(0.0, self.mu + self.rho * (self.rows @ x.ravel() - self.bounds))
        return (self.rows.T @ pushed).reshape(x.shape)

    def curvature(self) -> float:
        """Return an upper bound on the eigenvalues of the second derivative."""
        return float(self.rho * np.linalg.norm(self.rows, 2) ** 2) if len(self.rows) else 0.0


def best(problem: Problem, start: np.ndarray, tolerance: float = 1e-6) -> np.ndarray:
    """Minimise the loss over the ball by FISTA, and return the point `[m, n]`.

    The search ends when the duality gap certifies a loss within `tolerance * _scale(problem)` of the minimum. If this
    takes more than 20,000 steps, the search ends with a warning.
    """
    none = Penalty(np.zeros((0, start.size)), np.zeros(0), np.zeros(0), 1.0)
    x, is_certified = _minimise(problem, none, start, _MOST, tolerance, _scale(problem))
    if not is_certified:
        warnings.warn(
            f"the best matrix in hindsight is not certified after {_MOST:,} steps: its loss may be too large, so the "
            "regret may be too small",
            stacklevel=2,
        )
    return x


def best_feasible(
    problem: Problem, rows: np.ndarray, bounds: np.ndarray, start: np.ndarray, tolerance: float = 1e-4
) -> np.ndarray:
    """Minimise the loss under `rows @ X <= bounds` (rows `[T, m n]`), approximately, by an augmented Lagrangian method.

    The Lagrangian includes only constraints that some iterate violates. The returned point `[m, n]` satisfies the
    constraints, with rows scaled to norm 1, up to `tolerance` times the norm of the target. If this takes more than 200
    steps of the method, the search ends with a warning.
    """
    scale, size = _scale(problem), max(np.linalg.norm(problem.target), 1e-300)
    lengths = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
    rows, bounds = rows / lengths[:, None], bounds / lengths
    x, chosen, mu, rho, before = best(problem, start, tolerance), np.zeros(0, int), np.zeros(0), 0.0, np.inf
    for _ in range(_OUTER):
        excess = rows @ x.ravel() - bounds
        worst = float(excess.max())
        if worst <= tolerance * size:
            return x
        most = np.argsort(-excess)[:20]
        new = np.setdiff1d(most[excess[most] > tolerance * size], chosen)
        chosen, mu = np.concatenate([chosen, new]), np.concatenate([mu, np.zeros(len(new))])
        if worst > 0.5 * before or not rho:  # progress is slow: increase rho, which starts at the curvature of the loss
            rho = max(2.0 * rho, problem.weight.max() / np.linalg.norm(rows[chosen], 2) ** 2)
        before = worst
        penalty = Penalty(rows[chosen], bounds[chosen], mu, rho)
        x, _ = _minimise(problem, penalty, x, _INNER, 0.1 * tolerance, scale)
        mu = np.maximum(0.0, mu + rho * (rows[chosen] @ x.ravel() - bounds[chosen]))
    warnings.warn(
        f"the best feasible matrix in hindsight may violate a constraint after {count_of(_OUTER, 'step')}: "
        "`feasible_comparator_excess` says by how much",
        stacklevel=2,
    )
    return x


def _scale(problem: Problem) -> float:
    """Return L + min(1, L), where L is the loss at 0; tolerances of losses are relative to this scale."""
    at_zero = problem.loss(np.zeros_like(problem.target))
    return at_zero + min(1.0, at_zero)


def _minimise(
    problem: Problem, penalty: Penalty, x: np.ndarray, iterations: int, tolerance: float, scale: float
) -> tuple[np.ndarray, bool]:
    """Minimise the loss plus the penalty by FISTA, whose momentum is reset when it points uphill.

    Returns:
      The point, and True if its duality gap is at most `tolerance * scale`.
    """
    curvature = problem.weight.max() + penalty.curvature()
    if curvature == 0.0:
        return x, True
    y, momentum = x, 1.0
    for k in range(iterations):
        gradient = problem.gradient(y) + penalty.gradient(y)
        if k % 10 == 0 and np.sum(gradient * y) + problem.radius * np.linalg.norm(gradient, 2) <= tolerance * scale:
            return project(y, problem.radius), True
        new = project(y - gradient / curvature, problem.radius)
        if np.sum((y - new) * (new - x)) > 0.0:
            momentum = 1.0
        after = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        y, x, momentum = new + (momentum - 1.0) / after * (new - x), new, after
    return x, False


def project(x: np.ndarray, radius: float) -> np.ndarray:
    """Return the nearest point `[m, n]` of the nuclear-norm ball.

    Outside the ball, the singular values are projected on the simplex of vectors whose sum is the radius.
    """
    left, values, right = np.linalg.svd(x, full_matrices=False)
    if values.sum() <= radius:
        return x
    thresholds = (np.cumsum(values) - radius) / np.arange(1, len(values) + 1)
    return (left * np.maximum(values - thresholds[np.nonzero(values > thresholds)[0][-1]], 0.0)) @ right
