"""LOO-BOGD (Garber & Kretzu, COLT 2022, Algorithm 4) without the lag of one block."""

import numpy as np

from tests.reference.infeasible_projection import close_infeasible_projection


class LOOBOGD:
    def __init__(self, domain, x1, eta, eps, K):
        self.domain, self.eta, self.eps, self.K = domain, eta, eps, K
        self.x = self.y = np.array(x1, float)
        self.acc, self.t, self.calls = np.zeros_like(self.x), 0, 0

    def step(self, df):
        self.t += 1
        self.acc = self.acc + df
        if self.t % self.K == 0:
            self.move()

    def move(self):
        target = self.y - self.eta * self.acc
        self.x, self.y, calls = close_infeasible_projection(self.domain, self.x, target, self.eps)
        self.calls += sum(calls)
        self.acc = np.zeros_like(self.acc)


def theory_constants(T, G, R):
    return {"eta": R / G * T**-0.75, "eps": 60.0 * R**2 * T**-0.5, "K": round(5.0 * T**0.5)}
