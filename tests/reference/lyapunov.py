"""What the methods for time-varying constraints share: Lyapunov functions, surrogate, doubling, steps, estimators."""

import math

import numpy as np

from tests.reference.convex_sets import inner


class Exponential:
    """Phi(x) = exp(lam x) - 1."""

    def __init__(self, lam):
        self.lam = lam

    def value(self, x):
        return math.expm1(self.lam * x)

    def slope(self, x):
        return self.lam * math.exp(self.lam * x)


class Quadratic:
    """Phi(x) = x^2 + linear x."""

    def __init__(self, linear=0.0):
        self.linear = linear

    def value(self, x):
        return x * x + self.linear * x

    def slope(self, x):
        return 2.0 * x + self.linear


def surrogate_gradient(df, g, dg, weight, beta, gamma):
    """(6): gradient of `gamma beta f + weight beta g^+`, the subgradient of g^+ at g = 0 taken as 0."""
    return gamma * beta * np.asarray(df, float) + weight * beta * (g > 0) * np.asarray(dg, float)


def double(level, target):
    """`while level < target: level *= 2`, as the paper writes it."""
    while level < target:
        level *= 2.0
    return level


def double_at_once(level, target):
    """The same from the exponent of the ratio: `2^n >= ratio` with the least n >= 0."""
    mantissa, exponent = math.frexp(target / level)
    return math.ldexp(level, max(0, exponent - 1 if mantissa == 0.5 else exponent))


def line_search(grad, x, v, kappa):
    """The minimiser sigma in [0, 1] of a quadratic with Hessian `2 kappa I` from x towards v."""
    step, descent = v - x, inner(grad, x - v)
    curvature = 2.0 * kappa * inner(step, step)
    if descent <= 0.0 or curvature == 0.0:
        return 0.0
    return min(descent / curvature, 1.0)


def one_point(value, u, delta):
    """`(d / delta) F(y + delta u) u` for the value at the perturbed point (Flaxman et al. 2005)."""
    return u.size / delta * value * u


def two_point(above, below, u, delta):
    """`(d / 2 delta) (F(y + delta u) - F(y - delta u)) u` (Agarwal et al. 2010; Shamir 2017)."""
    return u.size / (2.0 * delta) * (above - below) * u


def on_sphere(rng, shape):
    u = rng.standard_normal(shape)
    return u / np.sqrt(np.sum(u * u))
