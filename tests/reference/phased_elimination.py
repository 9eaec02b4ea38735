"""Phased elimination as a plain NumPy float64 loop, written from Lattimore & Szepesvari, Algorithm 12.

The design starts from the arms that pivoted QR picks, and makes exact Frank-Wolfe steps; inverses are pseudo-inverses.
"""

import numpy as np
import scipy.linalg


def variances(A, w):
    """a'V(w)^+ a of all arms."""
    return np.einsum("kd,de,ke->k", A, np.linalg.pinv(A.T @ (w[:, None] * A), hermitian=True), A)


def design(A, steps):
    _, R, order = scipy.linalg.qr(A.T, mode="economic", pivoting=True)
    lengths = np.abs(np.diag(R))
    r = int((lengths > 1e-7 * lengths[0]).sum())
    w = np.zeros(len(A))
    if not r:  # arms that are 0: nothing is to be learned
        return w, 0.0, r
    w[order[:r]] = 1 / r
    for _ in range(steps):
        a = variances(A, w)
        g = a.max()
        step = (g / r - 1) / (g - 1) if g > r * (1 + 1e-12) else 0.0
        w = (1 - step) * w + step * (np.arange(len(A)) == a.argmax())
    return w, variances(A, w).max(), r


class PhasedElimination:
    """The state and one round."""

    def __init__(self, arms, noise_scale, delta, steps):
        self.X, self.R, self.delta, self.steps = arms, noise_scale, delta, steps
        self.left, self.phase, self.theta = np.arange(len(arms)), 1, np.zeros(arms.shape[1])
        self.aside = np.array([], int)
        self.plan()

    def plan(self):
        here = np.setdiff1d(self.left, self.aside)
        w, g, _ = design(self.X[here], self.steps)
        K, l, e = len(self.X), self.phase, 2.0**-self.phase
        self.waited = 0
        self.T = np.zeros(K)
        self.T[here] = np.ceil(2 * g * w * self.R**2 / e**2 * np.log(K * l * (l + 1) / self.delta))
        self.remaining, self.rounds = self.T.copy(), []

    def playable(self, mask):
        """The arms that may be played: any that remains, in any order, else the best available one of A_l."""
        wanted = np.flatnonzero((self.remaining > 0) & mask)
        if len(wanted):
            return wanted
        of_phase = mask & np.isin(np.arange(len(self.X)), self.left)
        means = np.where(of_phase if of_phase.any() else mask, self.X @ self.theta, -np.inf)
        return np.flatnonzero(means >= means.max() - 1e-12)

    def update(self, arm, reward, mask):
        self.waited = 0 if ((self.remaining > 0) & mask).any() else self.waited + 1
        if self.remaining[arm] == 0:
            missing = np.flatnonzero(self.remaining)
            aside = np.union1d(self.aside, missing)
            if self.waited >= max(self.T.sum(), 10 * len(self.X)) and len(missing) and len(aside) < len(self.left):
                self.aside = aside
                self.plan()
            return
        self.remaining[arm] -= 1
        self.rounds.append((arm, reward))
        if self.remaining.max() == 0:
            arms, rewards = (np.array(x) for x in zip(*self.rounds, strict=True))
            self.theta = np.linalg.lstsq(self.X[arms], rewards, rcond=1e-9)[0]
            means = self.X @ self.theta
            top = means[np.setdiff1d(self.left, self.aside)].max()
            self.left = np.array([i for i in self.left if top - means[i] <= 2 * 2.0**-self.phase or i in self.aside])
            self.aside = np.array([i for i in self.aside if not mask[i]], int)
            self.phase += 1
            self.plan()
