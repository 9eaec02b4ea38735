"""HEAVY-OFUL (`heavy_oful`) as a plain NumPy float64 loop, written from the paper.

Nothing incremental and no reweighting: H is summed and solved afresh, Eq. (6) is minimised by Newton steps on its
second derivative, and the ball enters by its multiplier: the minimiser over it minimises Eq. (6) + mu ||th||^2 / 2.
"""

import numpy as np
from scipy.optimize import brentq


def huber(z, tau):
    return np.where(np.abs(z) <= tau, z * z / 2, tau * np.abs(z) - np.where(np.isinf(tau), 0, tau) ** 2 / 2)


def objective(theta, X, r, tau, lam):
    """Eq. (6); X and r are divided by sigma."""
    return lam / 2 * theta @ theta + huber(r - X @ theta, tau).sum()


def gradient(theta, X, r, tau, lam):
    return lam * theta - X.T @ np.clip(r - X @ theta, -tau, tau)


def newton(theta, X, r, tau, lam):
    """argmin of Eq. (6): Newton, with a halving of the step wherever the slope along it turns up steeply."""
    for _ in range(200):
        g = gradient(theta, X, r, tau, lam)
        inside = np.abs(r - X @ theta) <= tau
        p = -np.linalg.solve(lam * np.eye(len(theta)) + X[inside].T @ X[inside], g)
        if np.linalg.norm(p) <= 1e-15 * (1e-3 + np.linalg.norm(theta)):
            break
        step = 1.0
        while step > 1e-12 and gradient(theta + step * p, X, r, tau, lam) @ p > 0.9 * abs(g @ p):
            step /= 2
        theta = theta + step * p
    return theta


def solve(start, X, r, tau, lam, S):
    """argmin of Eq. (6) over ||th|| <= S, and the multiplier mu."""
    theta = newton(start, X, r, tau, lam)
    if np.linalg.norm(theta) <= S:
        return theta, 0.0

    def excess(mu):
        return np.linalg.norm(newton(theta, X, r, tau, lam + mu)) - S

    high = lam
    while excess(high) > 0:
        high *= 4
    mu = brentq(excess, 0.0, high, xtol=1e-15 * high, rtol=1e-14)
    return newton(theta, X, r, tau, lam + mu), mu


class HeavyOful:
    """Algorithm 1; every quantity of every round is kept."""

    def __init__(self, dim, T, eps, S=1.0, L=1.0, lam=None, sigma_min=None, delta=None, c0=None, c1=None,
                 beta_scale=1.0, tau_scale=1.0):  # fmt: skip
        self.lam = dim / S**2 if lam is None else lam
        self.sigma_min = 1 / np.sqrt(T) if sigma_min is None else sigma_min
        delta = 1 / T if delta is None else delta
        self.S, self.L, self.eps, self.beta_scale, self.tau_scale = S, L, eps, beta_scale, tau_scale
        self.e = (1 - eps) / (2 * (1 + eps))
        self.ell = np.log(2 * float(T) ** 2 / delta)
        self.kappa = dim * np.log(1 + L**2 * T / (dim * self.lam * self.sigma_min**2))
        self.log_3T = np.log(3 * T)
        self.c0 = 1 / np.sqrt(23 * self.ell) if c0 is None else c0
        ours = self.log_3T ** ((1 - eps) / (1 + eps)) / (48 * self.ell ** (2 / (1 + eps)))
        self.c1 = ours if c1 is None else c1
        self.tau0 = np.sqrt(2 * self.kappa) * self.log_3T**self.e / self.ell ** (1 / (1 + eps))
        self.theta, self.H, self.t = np.zeros(dim), self.lam * np.eye(dim), 0
        self.X, self.r, self.tau, self.rows = [], [], [], []

    def beta(self, t):
        start = np.sqrt(self.lam) * self.S
        growth = float(t) ** self.e * np.sqrt(2 * self.kappa) * self.log_3T**self.e
        return start if t == 0 else 3 * start + 24 * growth * self.ell ** (self.eps / (1 + self.eps))

    def scores(self, arms):
        widths = np.sqrt(np.einsum("kd,kd->k", arms, np.linalg.solve(self.H, arms.T).T))
        return arms @ self.theta + self.beta_scale * self.beta(self.t) * widths

    def update(self, x, r, nu, fit=True):
        t = self.t = self.t + 1
        q = np.sqrt(x @ np.linalg.solve(self.H, x))
        terms = [nu, self.sigma_min, q / self.c0, np.sqrt(self.L * self.S * q) / (2 * self.kappa * self.c1) ** 0.25]
        sigma, w = max(terms), q / max(terms)
        tau = np.inf if w == 0 else self.tau_scale * self.tau0 * np.sqrt(1 + w * w) / w * float(t) ** self.e
        self.H = self.H + np.outer(x, x) / sigma**2
        self.X.append(x / sigma)
        self.r.append(r / sigma)
        self.tau.append(tau)
        mu = 0.0
        if fit:
            self.theta, mu = solve(self.theta, *map(np.array, (self.X, self.r, self.tau)), self.lam, self.S)
        clipped = np.mean(np.abs(np.array(self.r) - np.array(self.X) @ self.theta) > np.array(self.tau))
        row = {"theta": self.theta, "sigma": sigma, "tau": tau, "mu": mu, "term": int(np.argmax(terms))}
        self.rows.append(row | {"clipped": clipped, "H": self.H, "beta": self.beta_scale * self.beta(t)})

    def trace(self):
        return {name: np.array([row[name] for row in self.rows]) for name in self.rows[0]}
