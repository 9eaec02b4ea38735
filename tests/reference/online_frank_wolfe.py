"""Online Frank-Wolfe (Hazan & Kale 2012; Hazan 2016), `ofw`, and its form without a known gradient bound (`pf_ofw`)."""

import math

import numpy as np

from tests.reference.convex_sets import norm
from tests.reference.lyapunov import double


class OFW:
    """eta = D / (2 G T^{3/4}); ignores constraints."""

    def __init__(self, domain, x1, T, G):
        self.domain, self.x1, self.eta = domain, np.array(x1, float), domain.diameter / (2.0 * G * T**0.75)
        self.x, self.gsum, self.t = self.x1, np.zeros_like(self.x1), 0

    def step(self, h):
        self.t += 1
        self.gsum = self.gsum + h
        v = self.domain.lmo(self.eta * self.gsum + 2.0 * (self.x - self.x1))
        self.x = self.x + min(1.0, 2.0 / math.sqrt(self.t)) * (v - self.x)


class PFOFW:
    """The parameter-free form inside OFW-TVC: the level doubles up to the gradient norm, or any running upper bound."""

    def __init__(self, domain, x1, T, g_init=1.0):
        self.domain, self.T, self.level = domain, T, g_init
        self.x = self.anchor = np.array(x1, float)
        self.gsum, self.t, self.s, self.sigma = np.zeros_like(self.x), 0, 1, 0.0

    def step(self, h, bound=None):
        self.t += 1
        level = double(self.level, norm(h) if bound is None else bound)
        if level > self.level:
            self.level, self.s, self.anchor, self.gsum = level, self.t, self.x, np.zeros_like(self.gsum)
        self.gsum = self.gsum + h  # this round's gradient opens the new epoch
        eta = self.domain.diameter / (2.0 * self.level * self.T**0.75)
        v = self.domain.lmo(eta * self.gsum + 2.0 * (self.x - self.anchor))
        self.sigma = min(1.0, 2.0 / math.sqrt(self.t - self.s + 1))
        self.x = self.x + self.sigma * (v - self.x)
