"""System identification (`linear_system`, `hvt_identification`, `recursive_least_squares`) in NumPy float64.

Matrix form, nothing incremental: V is summed and solved afresh, all n columns of Theta (p, n) move at once, and every
column is projected through the eigenvectors of V. Constants (kappa, tau0, beta) are written out again here.
"""

import numpy as np

from tests.reference.heavy_tailed_linear import project


class HvtIdentification:
    """Theta (p, n) from samples (z, x'), one noise scale for all coordinates."""

    def __init__(self, p, n, T, eps, S=1.0, L=1.0, lam=None, sigma_min=None, delta=None, alpha=4.0,
                 beta_scale=1.0, sigma_beta_scale=None, tau_scale=1.0):  # fmt: skip
        self.lam = p if lam is None else lam
        self.sigma_min = T**-0.5 if sigma_min is None else sigma_min
        self.S, self.alpha, self.tau_scale = S, alpha, tau_scale
        self.inside = beta_scale if sigma_beta_scale is None else sigma_beta_scale
        self.e = (1 - eps) / (2 + 2 * eps)
        kappa = p * np.log(1 + L**2 * T / (self.sigma_min**2 * self.lam * alpha * p))
        self.ell = np.log(2 * T**2 / (1 / (8 * T) if delta is None else delta))
        self.tau0 = np.sqrt(2 * kappa) * np.log(3 * T) ** self.e / self.ell ** (1 / (1 + eps))
        self.Theta, self.V, self.t = np.zeros((p, n)), self.lam * np.eye(p), 0
        self.clipped = self.projected = 0

    def beta(self, t):
        first = np.sqrt(self.lam * (2 + 4 * self.S**2)) if np.isfinite(self.S) else np.sqrt(2 * self.lam)
        return first + (107 * self.ell * self.tau0 * t**self.e if t > 0 else 0.0)

    def update(self, z, following, nu):
        t = self.t + 1
        Vinv = np.linalg.inv(self.V)
        q = np.sqrt(z @ Vinv @ z)
        third = np.sqrt(2 * self.inside * self.beta(t - 1) / (self.tau0 * np.sqrt(self.alpha) * t**self.e)) * q
        sigma = max(nu, self.sigma_min, third)
        w = q / (np.sqrt(self.alpha) * sigma)
        tau = np.inf if w == 0 else self.tau_scale * self.tau0 * np.sqrt(1 + w**2) / w * t**self.e
        residual = (following - self.Theta.T @ z) / sigma
        self.clipped += int((np.abs(residual) > tau).sum())
        Y = self.Theta + np.outer(Vinv @ z, np.clip(residual, -tau, tau)) / (sigma * (1 + w**2))
        self.V = self.V + np.outer(z, z) / (self.alpha * sigma**2)
        columns = [project(self.V, column, self.S) for column in Y.T]
        self.projected += sum(mu > 0 for _, mu in columns)
        self.Theta, self.t = np.stack([column for column, _ in columns], axis=1), t


def batch_ridge(Z, X, lam):
    """argmin sum ||x' - Theta'z||^2 + lam ||Theta||^2 from all samples, as an augmented least-squares problem."""
    p = Z.shape[1]
    rows = np.vstack([Z, np.sqrt(lam) * np.eye(p)])
    return np.linalg.lstsq(rows, np.vstack([X, np.zeros((p, X.shape[1]))]), rcond=None)[0]


def trajectory(rng, T, A, B, noise):
    """Regressors z (T, p) and next states (T, n) from the origin under white input and the given noise (T, n)."""
    x, Z, X = np.zeros(len(A)), [], []
    for t in range(T):
        u = rng.standard_normal(B.shape[1])
        Z.append(np.concatenate([x, u]))
        x = A @ x + B @ u + noise[t]
        X.append(x)
    return np.array(Z), np.array(X)


def system(rng, n, m):
    """A (n, n) of spectral radius 0.8 and B (n, m)."""
    A = rng.standard_normal((n, n))
    return 0.8 * A / np.abs(np.linalg.eigvals(A)).max(), rng.standard_normal((n, m)) / np.sqrt(n)
