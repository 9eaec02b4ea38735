"""`lpm` and `lbpm`: LPM and LBPM (after Garber & Kretzu 2024, Algorithms 4 and 5; reconstructed).

L_t(x, l) = f_t(x) + l g_t^+(x) - (theta / 2) l^2
"""

import numpy as np

from tests.reference.convex_sets import Shrunk
from tests.reference.loo_bogd import LOOBOGD
from tests.reference.loo_bogd import theory_constants as loo_bogd_constants
from tests.reference.lyapunov import one_point


class LPM:
    """LOO-BOGD on the Lagrangian, the multiplier rising with the violation of each block."""

    def __init__(self, domain, x1, eta, eps, K, theta, eta_l):
        self.base, self.theta, self.eta_l = LOOBOGD(domain, x1, eta, eps, K), theta, eta_l
        self.l, self.violation = 0.0, 0.0

    @property
    def x(self):
        return self.base.x

    @property
    def calls(self):
        return self.base.calls

    def step(self, df, g, dg):
        self._observe(np.asarray(df) + self.l * (g > 0) * np.asarray(dg), g)

    def _observe(self, grad, g):
        self.violation += max(g, 0.0)
        self.base.step(grad)
        if self.base.t % self.base.K == 0:
            self.l = max(0.0, self.l + self.eta_l * (self.violation - self.base.K * self.theta * self.l))
            self.violation = 0.0


class LBPM(LPM):
    """LPM on the shrunk set with the one-point estimator; eps = delta^2 / 3."""

    def __init__(self, domain, y1, eta, K, theta, eta_l, delta):
        shrunk = Shrunk(domain, 1.0 - delta / domain.inner)
        super().__init__(shrunk, y1, eta, delta**2 / 3.0, K, theta, eta_l)
        self.delta, self.u = delta, None

    def play(self, u):
        self.u = np.asarray(u, float)
        return self.x + self.delta * self.u

    def step(self, f, g):
        self._observe(one_point(f + self.l * max(g, 0.0), self.u, self.delta), g)


def theory_constants(T, G, R):
    base = loo_bogd_constants(T, G, R)
    eta_l = T**-0.75 / (G * R)
    return base | {"eta_l": eta_l, "theta": min(20.0 * R * G * T**-0.25, 1.0 / (eta_l * base["K"]))}
