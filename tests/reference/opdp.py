"""`opdp`: OPDP (after Lee, Ho-Nguyen & Lee 2023, Algorithm 1; reconstructed): online Frank-Wolfe on f_t + l_t g_t."""

import numpy as np

from tests.reference.online_frank_wolfe import OFW


class OPDP:
    """`hard=True` uses g^+ in place of g."""

    def __init__(self, domain, x1, T, G, mu, theta, hard=False):
        self.base, self.mu, self.theta, self.hard, self.l = OFW(domain, x1, T, G), mu, theta, hard, 0.0

    @property
    def x(self):
        return self.base.x

    def step(self, df, g, dg):
        if self.hard:
            g, dg = max(g, 0.0), (g > 0) * np.asarray(dg)
        self.base.step(np.asarray(df) + self.l * np.asarray(dg))
        self.l = max(0.0, self.l + self.mu * (g - self.theta * self.l))


def theory_constants(T, G, D):
    return {"mu": T ** (-5.0 / 6.0) / (G * D), "theta": G * D * T ** (-1.0 / 6.0)}
