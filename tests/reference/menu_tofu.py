"""MENU (`menu`) and TOFU (`tofu`) as plain NumPy float64 loops, written from the paper.

Nothing incremental: designs are summed and solved afresh from all samples, distances are taken between the estimates
themselves, medians by sorting.
"""

import numpy as np


class Menu:
    """Median of k ridge regressions; one `update` a round, as the held arm is part of the method."""

    def __init__(self, dim, reps, eps, nu=1.0, S=1.0, lam=1.0, beta_scale=1.0):
        self.dim, self.reps, self.eps, self.nu, self.S, self.lam = dim, reps, eps, nu, S, lam
        self.beta_scale = beta_scale
        self.X, self.Y, self.now = [], [], []  # arms [n, d] and rewards [n, k] of finished epochs; this epoch's rewards
        self.held, self.theta, self.V, self.medians = None, np.zeros(dim), lam * np.eye(dim), None
        self.rows = []

    @property
    def radius(self):
        n, c = len(self.X), self.nu ** (1 + self.eps)
        if n == 0:
            return self.beta_scale * np.sqrt(self.lam) * self.S
        power = n ** ((1 - self.eps) / (2 * (1 + self.eps)))
        return self.beta_scale * 3 * ((9 * self.dim * c) ** (1 / (1 + self.eps)) * power + np.sqrt(self.lam) * self.S)

    def scores(self, arms):
        if self.now:
            return -np.linalg.norm(arms - self.held, axis=1)
        widths = np.sqrt(np.einsum("kd,kd->k", arms, np.linalg.solve(self.V, arms.T).T))
        return arms @ self.theta + self.radius * widths

    def update(self, x, r, hint=None):
        """`hint`: which estimate to take where several share the least median up to rounding (None: the first).

        They often do on a line, where all estimates lie after the first epoch: the mean of the distances to a left and
        a right neighbour is the same from every point between the two.
        """
        if not self.now:
            self.held = np.array(x)
        self.now.append(r)
        if len(self.now) == self.reps:
            self.X.append(self.held)
            self.Y.append(self.now)
            self.now = []
            self.finish(hint)
        self.rows.append({"theta": self.theta, "radius": self.radius, "V": self.V, "held": self.held})

    def finish(self, hint):
        X, Y = np.array(self.X), np.array(self.Y)
        self.V = self.lam * np.eye(self.dim) + X.T @ X
        estimates = np.linalg.solve(self.V, X.T @ Y).T  # [k, d]
        gaps = estimates[:, None, :] - estimates[None, :, :]
        distance = np.sqrt(np.maximum(np.einsum("jsa,ab,jsb->js", gaps, self.V, gaps), 0))
        others = [np.sort(np.delete(row, j)) for j, row in enumerate(distance)]
        self.medians = np.array([np.median(row) for row in others])
        tied = estimates[self.medians <= self.medians.min() * (1 + 1e-10)]
        self.theta = tied[0 if hint is None else ((tied - hint) ** 2).sum(axis=1).argmin()]

    def trace(self):
        return {name: np.array([row[name] for row in self.rows]) for name in self.rows[0]}


class Tofu:
    """Truncation coordinate by coordinate in the frame of V^{1/2}, over the whole history."""

    def __init__(self, dim, T, eps, b, S=1.0, lam=1.0, delta=None, beta_scale=1.0, threshold_scale=1.0):
        self.dim, self.T, self.eps, self.b, self.S, self.lam = dim, T, eps, b, S, lam
        self.delta = 1 / T if delta is None else delta
        self.beta_scale, self.threshold_scale = beta_scale, threshold_scale
        self.e = (1 - eps) / (2 * (1 + eps))
        self.X, self.r, self.theta, self.V = [], [], np.zeros(dim), lam * np.eye(dim)
        self.rows = []

    @property
    def radius(self):
        t, p = len(self.r), 1 + self.eps
        spread = 0.0 if t == 0 else 4 * np.sqrt(self.dim) * self.b ** (1 / p) * t**self.e
        spread *= np.log(2 * self.dim * self.T / self.delta) ** (self.eps / p)
        return self.beta_scale * (spread + np.sqrt(self.lam) * self.S)

    def scores(self, arms):
        widths = np.sqrt(np.einsum("kd,kd->k", arms, np.linalg.solve(self.V, arms.T).T))
        return arms @ self.theta + self.radius * widths

    def update(self, x, r, hint=None, fit=True):
        del hint
        self.X.append(np.array(x))
        self.r.append(r)
        if not fit:
            return
        X, r, t = np.array(self.X), np.array(self.r), len(self.r)
        self.V = self.lam * np.eye(self.dim) + X.T @ X
        l, Q = np.linalg.eigh(self.V)
        root = Q @ np.diag(l**-0.5) @ Q.T
        U = root @ X.T  # [d, t]
        b = self.threshold_scale * (self.b / np.log(2 * self.T / self.delta)) ** (1 / (1 + self.eps)) * t**self.e
        kept = np.abs(U * r) <= b
        self.theta = root @ np.array([U[i][kept[i]] @ r[kept[i]] for i in range(self.dim)])
        margin = np.abs(np.abs(U * r) / b - 1).min()  # how near a sample is to the threshold
        dropped = (~kept).sum()
        self.rows.append(
            {"theta": self.theta, "radius": self.radius, "V": self.V, "dropped": dropped, "margin": margin}
        )

    trace = Menu.trace


def replay(learner, X, r, hints=None):
    """Feeds a recorded trace."""
    for t in range(len(r)):
        learner.update(X[t], r[t], None if hints is None else hints[t])
    return learner.trace()
