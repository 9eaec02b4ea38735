"""CRTM (`crtm`), CRMM (`crmm`) and their regression (`online_regression`) in NumPy float64, from the equations.

V is a dense matrix summed and solved afresh, least squares keeps its sum of rewards, and the online Newton step is
projected through the eigenvectors of V by bisection. `Crtm` and `Crmm` feed recorded samples; `closed_loop` plays.
"""

import numpy as np

from tests.reference.heavy_tailed_linear import project


class _Regression:
    def __init__(self, dim, mode, lam, S):
        self.mode, self.S = mode, S
        self.V, self.b, self.theta = lam * np.eye(dim), np.zeros(dim), np.zeros(dim)

    def add_arm(self, x):
        self.V = self.V + np.outer(x, x) / (2 if self.mode == "ons" else 1)

    def norm(self, x):
        return np.sqrt(x @ np.linalg.solve(self.V, x))

    def learn(self, x, y):
        if self.mode == "ls":
            self.b = self.b + y * x
            self.theta = np.linalg.solve(self.V, self.b)
        else:
            gradient = (x @ self.theta - y) * x
            self.theta = project(self.V, self.theta - np.linalg.solve(self.V, gradient), self.S)[0]

    def scores(self, arms, radius):
        widths = np.sqrt(np.einsum("kd,kd->k", arms, np.linalg.solve(self.V, arms.T).T))
        return arms @ self.theta + radius * widths


class Crtm:
    """Truncation."""

    def __init__(
        self, dim, T, eps, u, mode="ons", S=1.0, L=1.0, lam=1.0, delta=None, beta_scale=1.0, threshold_scale=1.0
    ):
        delta = 1 / T if delta is None else delta
        c, e, p = (0.5 if mode == "ons" else 1.0), (1 - eps) / (2 * (1 + eps)), 1 + eps
        lg, ld = np.log(4 * T / delta), np.log(1 + c * L**2 * T / (lam * dim))
        self.gamma = threshold_scale * 2 * np.sqrt(dim * ld) * (u / lg) ** (1 / p) * T**e
        squared = 896 * dim * ld * u ** (2 / p) * lg ** (2 * eps / p) * T ** (2 * e)
        self.radius = beta_scale * np.sqrt(squared + 2 * lam * S**2 + 48 * dim * L * S * ld)
        self.fit = _Regression(dim, mode, lam, S)
        self.thetas, self.kept = [], []

    def scores(self, arms):
        return self.fit.scores(arms, self.radius)

    def update(self, x, r):
        self.fit.add_arm(x)
        self.kept.append(bool(self.fit.norm(x) * abs(r) <= self.gamma))
        self.fit.learn(x, r if self.kept[-1] else 0.0)
        self.thetas.append(self.fit.theta)


class Crmm:
    """Medians of held pulls."""

    def __init__(self, dim, T, eps, v, reps, mode="ons", S=1.0, L=1.0, lam=1.0, delta=None, beta_scale=1.0):
        delta = 1 / T if delta is None else delta
        N, R = T // reps, (4 * v) ** (1 / (1 + eps))
        ld = np.log(1 + (0.5 if mode == "ons" else 1.0) * L**2 * N / (lam * dim))
        squared = lam * S**2 + 1 + 2 * R**2 * np.log(np.sqrt(1 + 4 * N * L**2 * S**2) / delta)
        self.radius = beta_scale * np.sqrt(squared + 4 * (4 * L**2 * S**2 + R**2) * dim * ld)
        self.fit, self.reps = _Regression(dim, mode, lam, S), reps
        self.held, self.epoch = None, []
        self.thetas, self.medians = [], []

    def scores(self, arms):
        if not self.epoch:
            return self.fit.scores(arms, self.radius)
        return -np.linalg.norm(arms - self.held, axis=1)

    def update(self, x, r):
        if not self.epoch:
            self.held = x
        self.epoch.append(r)
        if len(self.epoch) == self.reps:
            self.medians.append(np.median(self.epoch))
            self.fit.add_arm(self.held)
            self.fit.learn(self.held, self.medians[-1])
            self.epoch = []
        self.thetas.append(self.fit.theta)


def replay(learner, X, rewards):
    """Feeds a recorded trace; returns the estimates `[T, d]`."""
    for x, r in zip(X, rewards, strict=True):
        learner.update(x, r)
    return np.array(learner.thetas)


def closed_loop(learner, arms, mask, theta_star, noise):
    """Plays recorded arm sets `[T, K, d]` under masks `[T, K]`; returns the played indices and the estimates."""
    played = []
    for t in range(len(noise)):
        played.append(int(np.argmax(np.where(mask[t], learner.scores(arms[t]), -np.inf))))
        x = arms[t, played[-1]]
        learner.update(x, x @ theta_star + noise[t])
    return np.array(played), np.array(learner.thetas)
