"""Algorithm 1 of Wang, Wan & Zhang (AAAI 2025), `ofw_tvc`, as a plain NumPy loop, unscaled, with the `while` of line 5.

Also the pieces its analysis is checked with: plain online Frank-Wolfe (Hazan & Kale), linear oracles by SVD, and the
projection by which Lemma 4 is tested on a Euclidean ball.
"""

import numpy as np


def lmo_ball(c, radius=1.0):
    length = np.linalg.norm(c)
    return -radius * c / length if length > 0 else np.zeros_like(c)


def lmo_nuclear(c, radius=1.0):
    if not c.any():
        return np.zeros_like(c)
    u, _, vt = np.linalg.svd(c)
    return -radius * u[:, :1] @ vt[:1]


def project_ball(y, radius=1.0):
    return y * min(1.0, radius / max(np.linalg.norm(y), 1e-300))


class OFWTVC:
    """One run; `step(df, g, dg)` returns the quantities of the round, `x` is the next decision."""

    def __init__(self, x1, lmo, diameter, T, G, beta, gamma, lam, g_init, eta_scale=1.0, clip=True):
        self.lmo, self.D, self.T, self.G = lmo, diameter, T, G
        self.beta, self.gamma, self.lam, self.eta_scale, self.clip = beta, gamma, lam, eta_scale, clip
        self.x, self.anchor, self.gsum = np.array(x1, float), np.array(x1, float), np.zeros_like(x1, float)
        self.Q, self.level, self.s, self.t = 0.0, g_init, 1, 0

    def step(self, df, g, dg):
        self.t += 1
        self.Q += max(g, 0.0)
        w = self.lam * np.exp(self.lam * self.beta * self.Q)
        h = self.gamma * self.beta * np.asarray(df) + w * self.beta * (g > 0) * np.asarray(dg)
        target, restart = self.beta * self.G * (self.gamma + w), False
        while self.level < target:
            self.level, restart = self.level * 2.0, True
        if restart:
            self.s, self.anchor, self.gsum = self.t, self.x.copy(), np.zeros_like(self.gsum)
        self.gsum = self.gsum + h
        eta = self.eta_scale * self.D / (2.0 * self.level * self.T**0.75)
        sigma = 2.0 / np.sqrt(self.t - self.s + 1)
        if self.clip:
            sigma = min(1.0, sigma)
        v = self.lmo(eta * self.gsum + 2.0 * (self.x - self.anchor))
        self.x = self.x + sigma * (v - self.x)
        return {
            "x": self.x,
            "anchor": self.anchor,
            "Q": self.Q,
            "w": w,
            "level": self.level,
            "s": self.s,
            "restart": restart,
        }

    def run(self, dfs, gs, dgs):
        rows = [self.step(*row) for row in zip(dfs, gs, dgs, strict=True)]
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def online_frank_wolfe(x1, lmo, diameter, T, G, dfs):
    """Hazan & Kale 2012: iterates x_2, x_3, ... for given gradients."""
    x, gsum, xs = np.array(x1, float), np.zeros_like(x1, float), []
    for t, df in enumerate(dfs, start=1):
        gsum = gsum + df
        v = lmo(diameter / (2.0 * G * T**0.75) * gsum + 2.0 * (x - np.array(x1)))
        x = x + min(1.0, 2.0 / np.sqrt(t)) * (v - x)
        xs.append(x)
    return np.array(xs)


def surrogate_gap_on_ball(x, anchor, eta, gsum, radius=1.0):
    """F(x) - min F of F(y) = eta <gsum, y> + ||y - anchor||^2 = ||y - centre||^2 + const; minimised by projecting."""
    centre = anchor - 0.5 * eta * gsum
    return np.sum((x - centre) ** 2) - np.sum((project_ball(centre, radius) - centre) ** 2)


def best_feasible_on_ball(c, a, b, radius):
    """`min <c, x>` over ||x|| <= radius, <a, x> <= b, by the geometry of the cap (0 <= b)."""
    x = lmo_ball(c, radius)
    if a @ x <= b:
        return c @ x
    across = c - (a @ c) / (a @ a) * a
    x = b * a / (a @ a) - np.sqrt(radius**2 - b**2 / (a @ a)) * across / np.linalg.norm(across)
    return c @ x
