"""GLB-OMD (`glb_omd`) as a plain float64 loop: dense H, linear solves, projection by bisection on the multiplier."""

import dataclasses
from collections.abc import Callable

import numpy as np


@dataclasses.dataclass(frozen=True)
class Family:
    """One exponential family: m, mu, mu', g, R and C_mu on [-S, S]."""

    m: Callable
    mu: Callable
    slope: Callable
    g: float
    R: float
    largest: Callable  # S -> C_mu


FAMILIES = {
    "gaussian": Family(lambda z: z**2 / 2, lambda z: z, lambda z: 1.0, 1.0, 0.0, lambda S: 1.0),
    "bernoulli": Family(
        lambda z: np.logaddexp(0.0, z),
        lambda z: 1.0 / (1.0 + np.exp(-z)),
        lambda z: 1.0 / (2.0 + 2.0 * np.cosh(z)),
        1.0,
        1.0,
        lambda S: 0.25,
    ),
    "poisson": Family(np.exp, np.exp, np.exp, 1.0, 1.0, np.exp),
}


def gaussian(variance: float) -> Family:
    return dataclasses.replace(FAMILIES["gaussian"], g=variance)


def project(A, zeta, S):
    """argmin_{|th| <= S} |th - zeta|_A, by 200 bisections of the multiplier in the eigenbasis of A."""
    if np.linalg.norm(zeta) <= S:
        return zeta
    lam, U = np.linalg.eigh(A)
    b = lam * (U.T @ zeta)
    low, high = 0.0, lam[-1] * (np.linalg.norm(zeta) / S - 1.0)
    for _ in range(200):
        nu = 0.5 * (low + high)
        low, high = (nu, high) if np.linalg.norm(b / (lam + nu)) > S else (low, nu)
    th = U @ (b / (lam + high))
    return th * (S / np.linalg.norm(th))


class GLBOMD:
    """The state and one round; `t` is the index of the round about to be played, from 1."""

    def __init__(self, family, d, S, lam=None, delta=0.05, eta=None, radius="theory"):
        self.f, self.d, self.S, self.delta, self.radius = family, d, S, delta, radius
        self.lam = float(d) if lam is None else lam
        self.eta = 1.0 + family.R * S if eta is None else eta
        self.theta, self.H, self.t = np.zeros(d), self.lam * np.eye(d), 1
        self.A = self.E = self.Q = 0.0

    @property
    def matrix(self):
        return self.H

    def beta(self):
        base = 4.0 * self.lam * self.S**2 + 2.0 * self.eta * np.log(1.0 / self.delta)
        if self.radius == "data":
            return np.sqrt(max(0.0, base + 2.0 * self.eta * (self.A + self.E) - self.Q))
        log_term = np.log(2.0 + 2.0 * self.f.largest(self.S) * self.t / (self.lam * self.f.g))
        return np.sqrt(base + 6.0 * self.d * self.eta**2 * log_term)

    def scores(self, X):
        widths = np.sqrt(np.einsum("kd,kd->k", X, np.linalg.solve(self.H, X.T).T))
        return X @ self.theta + self.beta() * widths

    def update(self, x, r):
        f, g = self.f, self.f.g
        z = x @ self.theta
        Htil = self.H + self.eta * f.slope(z) / g * np.outer(x, x)
        grad = (f.mu(z) - r) / g * x
        new = project(Htil, self.theta - self.eta * np.linalg.solve(Htil, grad), self.S)
        z_new, move = x @ new, new - self.theta
        self.A += (f.m(z) - r * z) / g - (f.m(z_new) - r * z_new) / g
        error = abs(f.mu(z_new) - f.mu(z) - f.slope(z) * (z_new - z)) / g
        self.E += error * (abs(z_new) + self.S * np.linalg.norm(x))
        self.Q += move @ self.H @ move
        self.H = self.H + f.slope(z_new) / g * np.outer(x, x)
        self.theta, self.t = new, self.t + 1


def time_varying(seed, d, K, T, S):
    """theta*, arms [T, K, d] uniform in the unit ball, and the generator, ready for the rewards."""
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(d)
    theta = S * v / np.linalg.norm(v)
    u = rng.standard_normal((T, K, d))
    X = u / np.linalg.norm(u, axis=-1, keepdims=True) * rng.random((T, K, 1)) ** (1.0 / d)
    return theta, X, rng


def rewards(name, rng, Z, g=1.0):
    """A table of rewards with natural parameters Z."""
    if name == "bernoulli":
        return (rng.random(Z.shape) < FAMILIES[name].mu(Z)).astype(float)
    return rng.poisson(np.exp(Z)).astype(float) if name == "poisson" else Z + np.sqrt(g) * rng.standard_normal(Z.shape)


def force(learner, xs, rs):
    """The recorded actions and rewards, whatever the learner would have played: theta, H and beta after each round."""
    trace = {"theta": [], "H": [], "beta": []}
    for x, r in zip(xs, rs, strict=True):
        learner.update(x, r)
        trace["theta"].append(learner.theta)
        trace["H"].append(learner.H)
        trace["beta"].append(learner.beta())
    return {name: np.array(values) for name, values in trace.items()}
