"""Algorithm 3 of Wang, Wan & Zhang (AAAI 2025), `bfw_tvc`: bandit feedback, convex losses, blocks, unscaled.

`weight="Qprev"` weighs round t by Phi'(beta Q_{t-1}), which does not depend on the round's own perturbation; "Q" is
the paper's. A two-point round is fed by `step(f, g, below=(f, g))`, values at the mirrored point y - delta u.
"""

import numpy as np

from tests.reference.convex_sets import Shrunk, inner
from tests.reference.lyapunov import Exponential, double, line_search, one_point, two_point


class BFWTVC:
    def __init__(
        self, domain, y1, T, K, G, M, c, beta, gamma, lam, eps, delta=None, g_init=1.0, eta_scale=1.0, weight="Q"
    ):
        self.T, self.K, self.G, self.M, self.c, self.D = T, K, G, M, c, domain.diameter
        self.beta, self.gamma, self.phi, self.eps = beta, gamma, Exponential(lam), eps
        self.level, self.eta_scale, self.weight = g_init, eta_scale, weight
        self.delta = c * T**-0.25 if delta is None else delta
        self.domain = Shrunk(domain, 1.0 - self.delta / domain.inner)
        self.y = self.anchor = np.array(y1, float)
        self.gsum, self.acc = np.zeros_like(self.y), np.zeros_like(self.y)
        self.Q, self.t, self.m, self.b, self.calls, self.u = 0.0, 0, 1, 1, 0, None

    def play(self, u):
        self.u = np.asarray(u, float)
        return self.y + self.delta * self.u

    def surrogate(self, f, g, queue):
        return self.gamma * self.beta * f + self.phi.slope(self.beta * queue) * self.beta * max(g, 0.0)

    def step(self, f, g, below=None):
        self.t += 1
        before, self.Q = self.Q, self.Q + max(g, 0.0)
        queue = before if self.weight == "Qprev" else self.Q
        here = self.surrogate(f, g, queue)
        if below is None:
            self.acc = self.acc + one_point(here, self.u, self.delta)
        else:
            self.acc = self.acc + two_point(here, self.surrogate(*below, queue), self.u, self.delta)
        if self.t % self.K == 0:
            self.end_block()

    def end_block(self):
        level = double(self.level, self.beta * self.G * (self.gamma + self.phi.slope(self.beta * self.Q)))
        if level > self.level:
            self.level, self.b, self.anchor, self.gsum = level, self.m, self.y, np.zeros_like(self.gsum)
        self.gsum, self.acc = self.gsum + self.acc, np.zeros_like(self.acc)
        eta = self.eta_scale * self.c * self.D / (self.y.size * self.M * self.level * self.T**0.75)
        self.y, self.inner_steps = frank_wolfe(self.domain, eta * self.gsum, self.anchor, self.y, self.eps)
        self.calls += self.inner_steps
        self.m += 1


def frank_wolfe(domain, linear, centre, y, eps):
    """(24)-(26): minimises `<linear, y> + ||y - centre||^2`; the gap is taken before the step that ends it."""
    steps, gap = 0, np.inf
    while gap > eps:
        grad = linear + 2.0 * (y - centre)
        v = domain.lmo(grad)
        gap = inner(grad, y - v)
        y = y + line_search(grad, y, v, 1.0) * (v - y)
        steps += 1
    return y, steps


def theory_constants(T, G, M, D, r, c, dim):
    """Theorem 3: lam, gamma, beta = 1 / C2, block, eps, delta."""
    C2 = 16.0 * G * (c * D / r + 3.0 * c + 1.0 + 2.0 * c * D / (dim * M) + dim * M * D / c)
    return {
        "lam": 0.5 * T**-0.75,
        "gamma": 1.0,
        "beta": 1.0 / C2,
        "K": round(T**0.5),
        "eps": 4.0 * D**2 * T**-0.5,
    }
