"""Linear learners as plain NumPy float64 sums over all rounds, written from the papers: LinTS, D-LinUCB, SW-LinUCB."""

import numpy as np


class Linear:
    """The rounds so far."""

    def __init__(self, dim, **constants):
        self.d, self.X, self.r = dim, np.zeros((0, dim)), np.zeros(0)
        self.__dict__.update(constants)

    def update(self, x, reward):
        self.X, self.r = np.vstack([self.X, x]), np.append(self.r, reward)

    def values(self, arms):
        theta, M, beta = self.model()
        return arms @ theta + beta * np.sqrt(np.einsum("ki,ij,kj->k", arms, M, arms))


class LinTS(Linear):
    """Reference of lin_ts: mean and covariance of the draws."""

    def law(self):
        V = self.ridge * np.eye(self.d) + self.X.T @ self.X
        return np.linalg.solve(V, self.X.T @ self.r), self.width**2 * np.linalg.inv(V)


class DLinUCB(Linear):
    """Reference of d_lin_ucb: Russac et al. state the matrices as weighted sums with a regularisation that stays."""

    def model(self):
        t, g, lam, d = len(self.r), self.discount, self.ridge, self.d
        weights = g ** np.arange(t)[::-1]
        V = (self.X * weights[:, None]).T @ self.X + lam * np.eye(d)
        W = (self.X * weights[:, None] ** 2).T @ self.X + lam * np.eye(d)
        inv = np.linalg.inv(V)
        n = np.sum(weights**2)
        beta = np.sqrt(lam) * self.S + self.R * np.sqrt(
            2 * np.log(1 / self.delta) + d * np.log(1 + self.L**2 * n / (lam * d))
        )
        return inv @ (self.X * weights[:, None]).T @ self.r, inv @ W @ inv, beta


class DLinUCBOfCode(DLinUCB):
    """As the authors' code updates W: from gamma^2 times the new V, in which the round is already."""

    def model(self):
        theta, _, beta = super().model()
        t, g, lam, eye = len(self.r), self.discount, self.ridge, np.eye(self.d)
        weights = g ** np.arange(t)[::-1]
        V = (self.X * weights[:, None]).T @ self.X + lam * eye
        last = np.outer(self.X[-1], self.X[-1]) + (1 - g**2) * lam * eye if t else (1 - g**2) * lam * eye
        inv = np.linalg.inv(V)
        return theta, inv @ (g**2 * V + last) @ inv, beta


class SWLinUCB(Linear):
    """Reference of sw_lin_ucb."""

    def model(self):
        X, r = self.X[-self.window :], self.r[-self.window :]
        inv = np.linalg.inv(self.ridge * np.eye(self.d) + X.T @ X)
        log_term = np.log((1 + self.window * self.L**2 / self.ridge) / self.delta)
        return inv @ X.T @ r, inv, np.sqrt(self.ridge) * self.S + self.R * np.sqrt(self.d * log_term)
