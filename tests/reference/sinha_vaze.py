"""Sinha & Vaze (2024) for hard constraints, with projections: `sinha_vaze` and `strongly_convex_sinha_vaze`."""

import math

import numpy as np

from tests.reference.convex_sets import inner
from tests.reference.lyapunov import Exponential, Quadratic


class SinhaVaze:
    """Adaptive gradient descent on `V b f + Phi'(q) b g^+`."""

    def __init__(self, domain, x1, b, lam):
        self.domain, self.x, self.b, self.phi = domain, np.array(x1, float), b, Exponential(lam)
        self.q, self.energy = 0.0, 0.0

    def step(self, df, g, dg):
        self.q += self.b * max(g, 0.0)
        h = self.b * np.asarray(df) + self.phi.slope(self.q) * self.b * (g > 0) * np.asarray(dg)
        self.energy += inner(h, h)
        if self.energy > 0.0:
            eta = math.sqrt(2.0) * self.domain.diameter / 2.0 / math.sqrt(self.energy)
            self.x = self.domain.project(self.x - eta * h)


class StronglyConvexSinhaVaze:
    """b = 1, V = 8 G^2 ln(e T) / alpha, Phi = x^2, eta_t = 1 / (V b alpha t)."""

    def __init__(self, domain, x1, T, G, alpha):
        self.domain, self.x, self.alpha, self.phi = domain, np.array(x1, float), alpha, Quadratic()
        self.V, self.q, self.t = 8.0 * G**2 * math.log(math.e * T) / alpha, 0.0, 0

    def step(self, df, g, dg):
        self.t += 1
        self.q += max(g, 0.0)
        h = self.V * np.asarray(df) + self.phi.slope(self.q) * (g > 0) * np.asarray(dg)
        self.x = self.domain.project(self.x - h / (self.V * self.alpha * self.t))


def theory_constants(T, G, D):
    return {"b": 1.0 / (2.0 * G * D), "lam": 1.0 / (2.0 * math.sqrt(T))}
