"""The one-pass methods beside GLB-OMD (`gloc`, `ecolog`, `oful_mlogb`), and GLB-OMD on a ball with a centre.

Plain float64 loops: dense matrices, linear solves, sums kept as the papers write them, root searches by `brentq`.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from tests.reference.glb_omd import FAMILIES, GLBOMD, Family


def exponential(margin):
    """The family on z <= -margin: R = 2 / margin, C_mu = 1 / margin^2."""
    bound = 1.0 / margin**2
    return Family(lambda z: -np.log(-z), lambda z: -1.0 / z, lambda z: 1.0 / z**2, 1.0, 2.0 / margin, lambda S: bound)


def project(A, zeta, S):
    """argmin_{|th| <= S} |th - zeta|_A: the multiplier in the eigenbasis of A by `brentq`."""
    if np.linalg.norm(zeta) <= S:
        return zeta
    lam, U = np.linalg.eigh(A)
    b = lam * (U.T @ zeta)
    top = lam[-1] * (np.linalg.norm(zeta) / S - 1.0)
    nu = brentq(lambda nu: 1.0 / np.linalg.norm(b / (lam + nu)) - 1.0 / S, 0.0, 1.01 * top, xtol=1e-300, rtol=1e-15)
    return U @ (b / (lam + nu))


class GLOC:
    """`residual_sq` is formed as sum z^2 - theta' V theta, from the sums themselves."""

    def __init__(self, family, d, S, R, lam=None, delta=0.05):
        self.f, self.d, self.S, self.R, self.delta = family, d, S, R, delta
        self.lam = float(d) if lam is None else lam
        grid = np.array([-S, S])
        self.k = min(family.slope(z) for z in grid)
        self.V, self.b, self.zz = self.lam * np.eye(d), np.zeros(d), 0.0
        self.w, self.B = np.zeros(d), 2.0 * self.k * S**2 * self.lam

    @property
    def theta(self):
        return np.linalg.solve(self.V, self.b)

    def beta(self):
        k, R, B, delta = self.k, self.R, self.B, self.delta
        inside = np.sqrt(1.0 + 2.0 * B / k + 4.0 * R**4 / (k**4 * delta**2))
        alpha = 1.0 + 4.0 * B / k + 8.0 * R**2 / k**2 * np.log(2.0 / delta * inside)
        return np.sqrt(max(0.0, self.lam * self.S**2 + alpha - (self.zz - self.theta @ self.b)))

    def scores(self, X):
        return X @ self.theta + self.beta() * np.sqrt(np.einsum("kd,dk->k", X, np.linalg.solve(self.V, X.T)))

    def update(self, x, r):
        z = x @ self.w
        g = self.f.mu(z) - r
        self.V = self.V + np.outer(x, x)
        self.B += g**2 / (2.0 * self.k) * (x @ np.linalg.solve(self.V, x))
        self.b, self.zz = self.b + z * x, self.zz + z**2
        self.w = project(self.V, self.w - g / self.k * np.linalg.solve(self.V, x), self.S)

    @property
    def matrix(self):
        return self.V


class ECOLog:
    """The implicit step by the scalar equation a = n mu(x'th(a)) - s; th(a) minimises with the linear loss a x'th."""

    def __init__(self, d, S, lam=None, delta=0.05, radius="ville", D=None):
        self.d, self.S, self.delta, self.radius = d, S, delta, radius
        self.lam = float(d) if lam is None else lam
        self.D = (S if radius == "code" else 2.0 * S) if D is None else D
        self.theta, self.W, self.cum, self.t = np.zeros(d), self.lam * np.eye(d), 0.0, 1

    def beta(self):
        D, lam = self.D, self.lam
        if self.radius == "ville":
            return np.sqrt(4.0 * lam * self.S**2 + (2.0 + D) * (np.log(1.0 / self.delta) + self.cum))
        nu = 0.5 + 2.0 * np.log(2.0 * np.sqrt(1.0 + self.t / (4.0 * lam)) / self.delta)
        inner = (2.0 + D) * nu / 4.0 + D**2 / (2.0 + D) + self.cum
        return np.sqrt(4.0 * lam * self.S**2 + 2.0 * (2.0 + D) * inner + 4.0 * np.log(1.0 + self.t))

    def scores(self, X):
        return X @ self.theta + self.beta() * self.widths(X)

    def widths(self, X):
        return np.sqrt(np.einsum("kd,dk->k", X, np.linalg.solve(self.W, X.T)))

    def implicit(self, x, n, s):
        if not np.any(x):
            return self.theta
        direction = np.linalg.solve(self.W, x) * (2.0 + self.D) / 2.0

        def at(a):
            return project(self.W, self.theta - a * direction, self.S)

        return at(brentq(lambda a: a + s - n * expit(x @ at(a)), -s - 1e-9, n - s + 1e-9, xtol=1e-15, rtol=1e-15))

    def update(self, x, r):
        new, bar = self.implicit(x, 1.0, r), self.implicit(x, 2.0, 1.0)

        def loss(th):
            return np.logaddexp(0.0, x @ th) - r * (x @ th)

        self.cum += loss(bar) - loss(new)
        self.W = self.W + FAMILIES["bernoulli"].slope(x @ new) * np.outer(x, x)
        self.theta, self.t = new, self.t + 1

    @property
    def matrix(self):
        return self.W


class PublicECOLog(ECOLog):
    """The copy in nirjhar-das/GLBandit_Limited_Adaptivity: weight 1/2, theta_bar around theta_{t+1}, mean reward."""

    def __init__(self, d, S, lam=None, delta=0.05):
        super().__init__(d, S, lam, delta, D=0.0)  # 1 / (2 + 0)
        self.sum = 0.0

    def beta(self):
        lam = self.lam
        log = 2.0 * np.log(2.0 * np.sqrt(1.0 + self.t / (4.0 * lam)) / self.delta)
        gamma = np.sqrt(lam) / 2.0 + log / np.sqrt(lam)
        return np.sqrt(max(0.0, 2.0 * lam * self.S**2 + (1.0 + self.S) ** 2 * gamma + self.sum))

    def scores(self, X):
        return expit(X @ self.theta) + self.beta() * self.widths(X)

    def update(self, x, r):
        self.theta = self.implicit(x, 1.0, r)
        bar, z = self.implicit(x, 2.0, 1.0), x @ self.theta
        loss = np.logaddexp(0.0, x @ bar) - r * (x @ bar) - np.logaddexp(0.0, z) + r * z
        move = self.theta - bar
        self.sum += 2.0 * (1.0 + self.S) * loss - 0.5 * np.sqrt(move @ self.W @ move)
        self.W = self.W + FAMILIES["bernoulli"].slope(z) * np.outer(x, x)
        self.t += 1


class OFULMLogB(GLBOMD):
    """GLB-OMD's step with another step size, and a bonus in reward space."""

    def __init__(self, d, S, lam=None, delta=0.05):
        super().__init__(FAMILIES["bernoulli"], d, S, lam, delta, eta=np.log(2.0) / 2.0 + S + 1.0)

    def beta(self):
        return 2.0 * np.sqrt(self.lam) * self.S + np.sqrt(self.d) * np.log((1.0 + self.t) / self.delta)

    def scores(self, X):
        z, width = X @ self.theta, self.beta() * np.sqrt(np.einsum("kd,dk->k", X, np.linalg.solve(self.H, X.T)))
        return expit(z) + expit(z) * expit(-z) * width + 3.0 * width**2

    @property
    def matrix(self):
        return self.H


class CentredGLBOMD:
    """GLB-OMD with the data radius on {|th - c| <= S}: the shift u = th - c is what is learned."""

    def __init__(self, family, c, S, lam, delta=0.05):
        self.f, self.c, self.S, self.lam, self.delta = family, np.asarray(c, float), S, lam, delta
        self.eta = 1.0 + family.R * S
        self.u, self.H = np.zeros_like(self.c), lam * np.eye(len(self.c))
        self.A = self.E = self.Q = 0.0

    @property
    def theta(self):
        return self.u + self.c

    @property
    def matrix(self):
        return self.H

    def beta(self):
        base = 4.0 * self.lam * self.S**2 + 2.0 * self.eta * (np.log(1.0 / self.delta) + self.A + self.E)
        return np.sqrt(max(0.0, base - self.Q))

    def scores(self, X):
        return X @ self.theta + self.beta() * np.sqrt(np.einsum("kd,dk->k", X, np.linalg.solve(self.H, X.T)))

    def update(self, x, r):
        f, offset = self.f, x @ self.c
        z = x @ self.u + offset
        A = self.H + self.eta * f.slope(z) / f.g * np.outer(x, x)
        new = project(A, self.u - self.eta * np.linalg.solve(A, (f.mu(z) - r) / f.g * x), self.S)
        z_new = x @ new + offset
        self.A += (f.m(z) - r * z - f.m(z_new) + r * z_new) / f.g
        error = abs(f.mu(z_new) - f.mu(z) - f.slope(z) * (z_new - z)) / f.g
        self.E += error * (abs(x @ new) + self.S * np.linalg.norm(x))
        self.Q += (new - self.u) @ self.H @ (new - self.u)
        self.H = self.H + f.slope(z_new) / f.g * np.outer(x, x)
        self.u = new
