"""Bounds of Theorems 1 to 4 for the constrained learners, with all constants (Wang, Wan & Zhang, AAAI 2025)."""

import math
from typing import NamedTuple


class Bounds(NamedTuple):
    """Bounds on the regret against any feasible point, and on the violation with the learner's `constraint_scale`."""

    regret: float
    violation: float


def theorem_1(G: float, D: float, T: float) -> Bounds:
    """Return the bounds of OFW-TVC after T rounds, with the constants of the proof.

    G is the Lipschitz constant, and D is the diameter of the domain.
    """
    return Bounds(64.0 * G * D * (T**0.75 + 1.0), 128.0 * G * D * T**0.75 * math.log(2.0 + 4.0 * T))


def theorem_2(G: float, D: float, T: float, alpha: float) -> Bounds:
    """Return the bounds of SCOFW-TVC for alpha-strongly convex losses; the second is the inequality in (41).

    G, D and T are as in `theorem_1`.
    """
    gamma, beta = constants(G, D, T, alpha)
    regret = 224.0 * G * G * T ** (2.0 / 3.0) / (gamma * gamma * alpha) + G * D * (gamma + 1.0) / gamma
    return Bounds(regret, math.sqrt((2.0 + gamma) / beta**2 + 2.0 * gamma * G * D * T / beta))


def theorem_2_last_form(G: float, D: float, T: float, alpha: float) -> float:
    """Return the last expression of (41) as printed; for the beta of (40), it differs from the bound of `theorem_2`."""
    gamma, _ = constants(G, D, T, alpha)
    first = 500.0 * G * G * (2.0 + gamma) * T ** (4.0 / 3.0) / (gamma * alpha)
    return math.sqrt(first + gamma * gamma * alpha * D * T ** (5.0 / 3.0) / (250.0 * G))


def constants(G: float, D: float, T: float, alpha: float) -> tuple[float, float]:
    """Return the constants `(gamma, beta)` of equation (40); G, D and T are as in `theorem_1`."""
    gamma = G / (G + alpha * D)
    return gamma, gamma * alpha / (500.0 * G * G * T ** (2.0 / 3.0))


def theorem_3(G: float, D: float, T: float, *, dim: int, M: float, r: float, c: float) -> Bounds:
    """Return the bounds of BFW-TVC on the expected regret and on the violation, with the constants of the proof.

    G, D and T are as in `theorem_1`; d M / delta bounds the gradient estimates for delta = c T^(-1/4), and r is the
    radius of the ball in K. C_2 in the statement is C_3 in the proof. Equation (54) omits a factor 2 D of T sqrt(eps),
    which is restored here; the term 1 of the statement's C_2 therefore becomes max(1, D / 4).
    """
    first, second = _constants_3(G, D, dim=dim, M=M, r=r, c=c)
    power = T**0.75
    logarithm = math.log(2.0 + 2.0 * (1.0 + second) * power + 2.0 * G * D * T / first)
    return Bounds(first * power * (1.0 + second), 2.0 * first * power * logarithm)


def _constants_3(G: float, D: float, *, dim: int, M: float, r: float, c: float) -> tuple[float, float]:
    """Return the constants C_3 = 1 / beta and C_2 in the proof of Theorem 3."""
    noise = dim * M * D / c
    inner = c * D / r + 3.0 * c + max(1.0, D / 4.0) + 2.0 * c * D / (dim * M) + noise
    return 16.0 * G * inner, D + noise


def theorem_4(G: float, D: float, T: float, alpha: float, *, dim: int, M: float, r: float, c: float) -> Bounds:
    """Return the bounds of SCBFW-TVC with the constants of the proof, beta = 1 and the gamma of the proof.

    The first bound is on the expected regret, and delta = c T^(-1/3). G, D and T are as in `theorem_1`; M, r and c are
    as in `theorem_3`.
    """
    log_t = math.log(T) / 3.0
    third = 8.0 + 3.0 * c + c * D / r + 12.0 * D  # C_3
    weight = 8.0 * log_t + third
    gamma = 16.0 * weight * G * G * T ** (2.0 / 3.0) / alpha
    squares = 8.0 * (dim * M) ** 2 / (c * gamma) ** 2 / alpha + 3.0 * alpha * D * D
    regret = ((1.0 + log_t) * squares + 2.0 * weight * G * G / alpha) * T ** (2.0 / 3.0)
    fourth = 8.0 * (dim * M) ** 2 * (1.0 + log_t) / (16.0 * weight * (c * G) ** 2)  # C_4
    fifth = 48.0 * weight * (G * D) ** 2 * (1.0 + log_t) + 32.0 * (weight * G * G / alpha) ** 2  # C_5
    last = 32.0 * weight * G * G * D * T ** (5.0 / 3.0) / alpha
    return Bounds(regret, math.sqrt(2.0 * fourth + 2.0 * fifth * T ** (4.0 / 3.0) + last))
