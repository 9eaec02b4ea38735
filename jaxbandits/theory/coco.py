"""Bounds of Theorems 1 and 2 with all their constants (Wang, Wan & Zhang, AAAI 2025)."""

import math
from typing import NamedTuple


class Bounds(NamedTuple):
    """Bounds on the regret against any feasible point and on the violation, scaled as the learner scales it."""

    regret: float
    violation: float


def theorem_1(G: float, D: float, T: float) -> Bounds:
    """Return the bounds of OFW-TVC after T rounds, with the constants of the proof.

    G is the Lipschitz constant, D the diameter.
    """
    return Bounds(64.0 * G * D * (T**0.75 + 1.0), 128.0 * G * D * T**0.75 * math.log(2.0 + 4.0 * T))


def theorem_2(G: float, D: float, T: float, alpha: float) -> Bounds:
    """Return the bounds of SCOFW-TVC for alpha-strongly convex losses; the inequality of (41) on violation."""
    gamma, beta = constants(G, D, T, alpha)
    regret = 224.0 * G * G * T ** (2.0 / 3.0) / (gamma * gamma * alpha) + G * D * (gamma + 1.0) / gamma
    return Bounds(regret, math.sqrt((2.0 + gamma) / beta**2 + 2.0 * gamma * G * D * T / beta))


def theorem_2_last_form(G: float, D: float, T: float, alpha: float) -> float:
    """Return the last form of (41) as printed. It does not equal the inequality, whose beta is that of (40)."""
    gamma, _ = constants(G, D, T, alpha)
    first = 500.0 * G * G * (2.0 + gamma) * T ** (4.0 / 3.0) / (gamma * alpha)
    return math.sqrt(first + gamma * gamma * alpha * D * T ** (5.0 / 3.0) / (250.0 * G))


def constants(G: float, D: float, T: float, alpha: float) -> tuple[float, float]:
    """Return `(gamma, beta)` of (40)."""
    gamma = G / (G + alpha * D)
    return gamma, gamma * alpha / (500.0 * G * G * T ** (2.0 / 3.0))
