"""Reward models as plain NumPy float64 loops, written from the papers: every round is kept and solved for anew.

`predict(arms)` and `width(arms)` are compared before each round; arms are rows of features `[K, d]`, of models with a
context the block vectors of the arms, so that one regression serves ridge per arm, shared and hybrid.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from tests.reference.glm_one_pass import project


def blocks(x, n_arms, z=None):
    """Return the rows (z_k, 0, ..., x, ..., 0) of the arms for a context x and features z `[K, k]`."""
    own = np.kron(np.eye(n_arms), x)
    return own if z is None else np.hstack([z, own])


class Ridge:
    """theta = argmin sum (x'theta - y)^2 + lambda ||theta - theta_0||^2, N(theta, R^2 V^{-1})."""

    def __init__(self, dim, ridge, R, start=None):
        self.X, self.y, self.ridge, self.R = np.zeros((0, dim)), np.zeros(0), ridge, R
        self.start = np.zeros(dim) if start is None else start

    def update(self, x, y):
        self.X, self.y = np.vstack([self.X, x]), np.append(self.y, y)

    @property
    def precision(self):
        return self.ridge * np.eye(self.X.shape[1]) + self.X.T @ self.X

    @property
    def theta(self):
        return np.linalg.solve(self.precision, self.X.T @ self.y + self.ridge * self.start)

    def predict(self, arms):
        return arms @ self.theta

    def covariance(self, arms):
        return self.R**2 * arms @ np.linalg.solve(self.precision, arms.T)

    def width(self, arms):
        return np.sqrt(np.diag(self.covariance(arms)))

    def information(self):
        return 0.5 * (np.linalg.slogdet(self.precision)[1] - len(self.precision) * np.log(self.ridge))


class NormalInverseGamma(Ridge):
    """a = a_0 + n / 2, b = b_0 + (y'y - mu'Lambda mu) / 2; the mean of an arm has Student's law with 2a degrees."""

    def __init__(self, dim, ridge, shape, scale):
        super().__init__(dim, ridge, None)
        self.shape, self.scale = shape, scale

    @property
    def a(self):
        return self.shape + len(self.y) / 2

    @property
    def b(self):
        return self.scale + 0.5 * (self.y @ self.y - self.theta @ self.precision @ self.theta)

    def width(self, arms):
        return np.sqrt(self.b / self.a * np.einsum("kd,dk->k", arms, np.linalg.solve(self.precision, arms.T)))


class LogisticRegression:
    """The implicit step as the root of a scalar equation; W is the Hessian at the estimates."""

    def __init__(self, dim, ridge, S):
        self.theta, self.W, self.S = np.zeros(dim), ridge * np.eye(dim), S

    def update(self, x, y):
        direction = np.linalg.solve(self.W, x) * (2 + 2 * self.S) / 2

        def at(a):
            return project(self.W, self.theta - a * direction, self.S)

        # The step minimises a x'theta plus the quadratic term, with the slope a of the loss at its end.
        root = brentq(lambda a: a + y - expit(x @ at(a)), -y - 1e-9, 1 - y + 1e-9, xtol=1e-15, rtol=1e-15)
        self.theta = at(root)
        p = expit(x @ self.theta)
        self.W = self.W + p * (1 - p) * np.outer(x, x)

    def predict(self, arms):
        return expit(arms @ self.theta)

    def width(self, arms):
        p = self.predict(arms)
        return p * (1 - p) * np.sqrt(np.einsum("kd,dk->k", arms, np.linalg.solve(self.W, arms.T)))


def squared_exponential(x, y, length):
    return np.exp(-((x[:, None] - y) ** 2).sum(-1) / (2 * length**2))


def matern52(x, y, length):
    s = np.sqrt(5 * ((x[:, None] - y) ** 2).sum(-1)) / length
    return (1 + s + s**2 / 3) * np.exp(-s)


def matern32(x, y, length):
    s = np.sqrt(3 * ((x[:, None] - y) ** 2).sum(-1)) / length
    return (1 + s) * np.exp(-s)


class GaussianProcess:
    """Posterior of a Gaussian process on K points from all observations, by one solve."""

    def __init__(self, gram, R):
        self.C, self.R, self.arms, self.y = gram, R, [], []

    def update(self, arm, y):
        self.arms.append(arm)
        self.y.append(y)

    def posterior(self):
        cross = self.C[:, self.arms]
        seen = self.C[np.ix_(self.arms, self.arms)] + self.R**2 * np.eye(len(self.y))
        return cross @ np.linalg.solve(seen, self.y), self.C - cross @ np.linalg.solve(seen, cross.T)

    def information(self):
        seen = np.eye(len(self.y)) + self.C[np.ix_(self.arms, self.arms)] / self.R**2
        return 0.5 * np.linalg.slogdet(seen)[1]


class Network:
    """Perceptron with ReLU layers; gradients by the chain rule, steps by heavy-ball momentum."""

    def __init__(self, layers, rate, momentum, decay=0.0):
        self.layers = [(np.array(w), np.array(b)) for w, b in layers]
        self.speed = [(np.zeros_like(w), np.zeros_like(b)) for w, b in self.layers]
        self.rate, self.momentum, self.decay, self.rows = rate, momentum, decay, []

    def layers_up_to_the_last(self, x):
        passed = [x]
        for w, b in self.layers[:-1]:
            passed.append(np.maximum(passed[-1] @ w + b, 0))
        return passed

    def apply(self, x):
        w, b = self.layers[-1]
        return self.layers_up_to_the_last(x)[-1] @ w + b

    def step(self, rows):
        """Descend the mean of (f(x)_k - y)^2 over rows (x, k, y), plus decay ||weights||^2 / 2."""
        gradient = [(self.decay * w, self.decay * b) for w, b in self.layers]
        for x, k, y in rows:
            passed = self.layers_up_to_the_last(x)
            back = np.zeros(self.layers[-1][1].shape)
            back[k] = 2 * (self.apply(x)[k] - y) / len(rows)
            for n in reversed(range(len(self.layers))):
                gw, gb = gradient[n]
                gradient[n] = (gw + np.outer(passed[n], back), gb + back)
                back = (self.layers[n][0] @ back) * (passed[n] > 0)
        self.speed = [
            (self.momentum * vw + gw, self.momentum * vb + gb)
            for (vw, vb), (gw, gb) in zip(self.speed, gradient, strict=True)
        ]
        self.layers = [
            (w - self.rate * vw, b - self.rate * vb) for (w, b), (vw, vb) in zip(self.layers, self.speed, strict=True)
        ]

    def update(self, t, x, k, y, capacity=None, every=1, n_steps=1, batch=1):
        """One pass without a capacity; else trainings on consecutive rows that begin at evenly spread places."""
        if capacity is None:
            self.step([(x, k, y)])
            return False
        if len(self.rows) < capacity:
            self.rows.append((x, k, y))
        else:
            self.rows[t % capacity] = (x, k, y)
        if (t + 1) % every:
            return False
        for i in range(n_steps):
            word = ((t * n_steps + i + 1) * 0x9E3779B9) % 2**32
            start = max(len(self.rows) - batch + 1, 1) * word // 2**32
            self.step(self.rows[start : start + batch])
        return True
