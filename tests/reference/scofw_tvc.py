"""Algorithm 2 of Wang, Wan & Zhang (AAAI 2025), `scofw_tvc`, unscaled, and `scofw` (Wan & Zhang 2021), unconstrained.

F_t(x) = sum_{r <= t} <h_r, x> + C1 ||x - x_r||^2,   C1 = gamma beta alpha / 2                        (14)
"""

import numpy as np

from tests.reference.lyapunov import Quadratic, line_search, surrogate_gradient


class SCOFW:
    """Follows the sum of the strongly convex surrogates with curvature `C1` each, by one line-searched step a round."""

    def __init__(self, domain, x1, C1):
        self.domain, self.C1, self.x = domain, C1, np.array(x1, float)
        self.gsum, self.xsum, self.t, self.sigma = np.zeros_like(self.x), np.zeros_like(self.x), 0, 0.0

    def step(self, h):
        self.t += 1
        self.gsum, self.xsum = self.gsum + h, self.xsum + self.x
        grad = self.gsum + 2.0 * self.C1 * (self.t * self.x - self.xsum)
        v = self.domain.lmo(grad)
        self.sigma = line_search(grad, self.x, v, self.C1 * self.t)
        self.x = self.x + self.sigma * (v - self.x)


class SCOFWTVC:
    def __init__(self, domain, x1, alpha, beta, gamma):
        self.beta, self.gamma, self.phi = beta, gamma, Quadratic(1.0)
        self.base, self.Q, self.w = SCOFW(domain, x1, gamma * beta * alpha / 2.0), 0.0, 0.0

    @property
    def x(self):
        return self.base.x

    @property
    def sigma(self):
        return self.base.sigma

    def step(self, df, g, dg):
        self.Q += max(g, 0.0)
        self.w = self.phi.slope(self.beta * self.Q)
        self.base.step(surrogate_gradient(df, g, dg, self.w, self.beta, self.gamma))


def proof_constants(T, G, D, alpha):
    """gamma of Theorem 2 and the beta that its proof needs, (40)."""
    gamma = G / (G + alpha * D)
    return {"gamma": gamma, "beta": gamma * alpha / (500.0 * G**2 * T ** (2.0 / 3.0))}


def statement_constants(T, G, D, alpha):
    """gamma and beta as Theorem 2 states them; (39) fails for every alpha."""
    return {"gamma": G / (G + alpha * D), "beta": 1.0 / (G * D * T ** (2.0 / 3.0))}
