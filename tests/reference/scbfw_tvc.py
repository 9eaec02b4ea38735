"""Algorithm 4 of Wang, Wan & Zhang (AAAI 2025), `scbfw_tvc`: bandit feedback, strongly convex losses, unscaled.

`recenter=False` is (27) as printed, which regularises towards 0; True adds the linear term `- lam_s K y_m` that the
quadratic `(lam_s K / 2) ||y - y_m||^2` has.
"""

import math

import numpy as np

from tests.reference.convex_sets import Shrunk
from tests.reference.lyapunov import Quadratic, line_search, one_point, two_point


class SCBFWTVC:
    def __init__(self, domain, y1, T, K, L, alpha, beta, gamma, c=1.0, delta=None, recenter=True, weight="Q"):
        self.K, self.L, self.beta, self.gamma, self.recenter, self.weight = K, L, beta, gamma, recenter, weight
        self.lam_s, self.phi = gamma * beta * alpha, Quadratic()
        self.delta = c * T ** (-1.0 / 3.0) if delta is None else delta
        self.domain = Shrunk(domain, 1.0 - self.delta / domain.inner)
        self.y = np.array(y1, float)
        self.lin, self.acc = np.zeros_like(self.y), np.zeros_like(self.y)
        self.Q, self.t, self.m, self.calls, self.u = 0.0, 0, 1, 0, None

    def play(self, u):
        self.u = np.asarray(u, float)
        return self.y + self.delta * self.u

    def surrogate(self, f, g, queue):
        return self.gamma * self.beta * f + self.phi.slope(self.beta * queue) * self.beta * max(g, 0.0)

    def step(self, f, g, below=None):
        before, self.Q = self.Q, self.Q + max(g, 0.0)
        queue = before if self.weight == "Qprev" else self.Q
        here = self.surrogate(f, g, queue)
        if below is None:
            self.observe(one_point(here, self.u, self.delta))
        else:
            self.observe(two_point(here, self.surrogate(*below, queue), self.u, self.delta))

    def observe(self, estimate):
        """One round's gradient, estimated or (to study (27)) exact."""
        self.t += 1
        self.acc = self.acc + estimate
        if self.t % self.K == 0:
            self.end_block()

    def end_block(self):
        self.lin, self.acc = self.lin + self.acc, np.zeros_like(self.acc)
        if self.recenter:
            self.lin = self.lin - self.lam_s * self.K * self.y
        kappa = 0.5 * self.lam_s * self.m * self.K
        for _ in range(self.L):
            grad = self.lin + 2.0 * kappa * self.y
            v = self.domain.lmo(grad)
            self.y = self.y + line_search(grad, self.y, v, kappa) * (v - self.y)
        self.calls += self.L
        self.m += 1


def proof_constants(T, G, D, r, c, alpha):
    """beta and gamma as the proof of Theorem 4 has them."""
    C3 = 8.0 + 3.0 * c + c * D / r + 12.0 * D
    return {"beta": 1.0, "gamma": 16.0 * (8.0 * math.log(T ** (1.0 / 3.0)) + C3) * G**2 * T ** (2.0 / 3.0) / alpha}
