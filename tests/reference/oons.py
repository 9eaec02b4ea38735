"""OONS (`oons`) with known D and G, in NumPy float64, from the paper: dense matrices, eigendecompositions, bisection.

A_t      = (c_A z^2 + 4 eta_t z^2) I + S_{t-1},   z = 2 G,   eta_t = min{1/(c_eta D z), 1/(D sqrt(V_{t-1}))}
x_t      = argmin_{||x|| <= R} <x, m_t> + ||x - x'_t||_{A_t}^2 / 2
nabla_t  = g_t + c_corr eta_t <x_t, e_t> e_t,   e_t = g_t - m_t,   m_{t+1} = g_t
x'_{t+1} = argmin_{||x|| <= R} <x, nabla_t> + ||x - x'_t||_{A_t}^2 / 2
S_t      = S_{t-1} + eta_t (nabla_t - m_t)(nabla_t - m_t)',   V_t = V_{t-1} + ||e_t||^2
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Trace(NamedTuple):
    """Everything of every round, rows t = 1..T."""

    play: np.ndarray  # [T, d]  x_t
    center: np.ndarray  # [T, d]  x'_t
    next_center: np.ndarray  # [T, d]  x'_{t+1}
    hint: np.ndarray  # [T, d]  m_t
    grad: np.ndarray  # [T, d]  g_t
    nabla: np.ndarray  # [T, d]
    eta: np.ndarray  # [T]
    metric: np.ndarray  # [T, d, d]  A_t
    curvature: np.ndarray  # [T, d, d]  S_t
    variation: np.ndarray  # [T]  V_t


def quadratic_on_ball(a: np.ndarray, b: np.ndarray, radius: float) -> np.ndarray:
    """`argmin_{||x|| <= radius} x'a x / 2 - b'x`: eigenvectors, then bisection for the multiplier."""
    eigenvalues, vectors = np.linalg.eigh(a)
    c = vectors.T @ b

    def length(nu: float) -> float:
        return float(np.linalg.norm(c / (eigenvalues + nu)))

    low, high = 0.0, float(np.linalg.norm(c)) / radius
    if length(0.0) <= radius:
        return vectors @ (c / eigenvalues)
    for _ in range(2000):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if length(middle) > radius else (low, middle)
    return vectors @ (c / (eigenvalues + high))


def run(
    gradient: Callable[[int, np.ndarray], np.ndarray], horizon: int, dim: int, radius: float, lipschitz: float,
    diameter: float | None = None, c_eta: float = 64.0, c_A: float = 4.0, c_corr: float = 32.0,
) -> Trace:  # fmt: skip
    """The whole trace; `gradient(t, x)` is the gradient of the loss of round t = 1, 2, ... at x."""
    d_bound, z = 2.0 * radius if diameter is None else diameter, 2.0 * lipschitz
    center, hint, s, v = np.zeros(dim), np.zeros(dim), np.zeros((dim, dim)), 0.0
    rows = []
    for t in range(1, horizon + 1):
        eta = 1.0 / (c_eta * d_bound * z)
        if v > 0.0:
            eta = min(eta, 1.0 / (d_bound * np.sqrt(v)))
        a = (c_A * z**2 + 4.0 * eta * z**2) * np.eye(dim) + s
        x = quadratic_on_ball(a, a @ center - hint, radius)
        g = np.asarray(gradient(t, x), float)
        e = g - hint
        nabla = g + c_corr * eta * (x @ e) * e
        following = quadratic_on_ball(a, a @ center - nabla, radius)
        s = s + eta * np.outer(nabla - hint, nabla - hint)
        v = v + e @ e
        rows.append((x, center, following, hint, g, nabla, eta, a, s, v))
        center, hint = following, g
    return Trace(*(np.array(column) for column in zip(*rows, strict=True)))
