"""CLA-OONS (`cla_oons`) in NumPy float64, from the paper: dense matrices, eigendecompositions, the sums of an epoch as
sums over the list of its rounds.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tests.reference.oons import quadratic_on_ball


class Trace(NamedTuple):
    """Rows t = 1..T."""

    play: np.ndarray  # [T, d]  x_t
    grad: np.ndarray  # [T, d]  g_t
    clipped: np.ndarray  # [T, d]  the gradient fed to OONS
    scale: np.ndarray  # [T]  B_t
    bound: np.ndarray  # [T]  D_t, in which x_t was played
    eta: np.ndarray  # [T]
    metric: np.ndarray  # [T, d, d]  A_t
    restarted: np.ndarray  # [T] bool  after round t


def run(
    gradient: Callable[[int, np.ndarray], np.ndarray], horizon: int, dim: int, initial_scale: float = 1.0,
    c_eta: float = 64.0, c_A: float = 4.0, c_corr: float = 32.0, radius: float = np.inf,
) -> Trace:  # fmt: skip
    """The whole trace; `gradient(t, x)` is the gradient of the loss of round t = 1, 2, ... at x."""
    center, hint, bound, scale, z_first = np.zeros(dim), np.zeros(dim), 1.0, initial_scale, initial_scale
    epoch: list[tuple[float, np.ndarray, np.ndarray]] = []  # (eta_s, nabla_s - m_s, clipped_s - m_s)
    norms, rows = [], []
    for t in range(1, horizon + 1):
        z, v = scale, sum(e @ e for _, _, e in epoch)
        eta = 1.0 / (c_eta * bound * z)
        if v > 0.0:
            eta = min(eta, 1.0 / np.sqrt(v))
        a = (c_A * z_first**2 + 4.0 * eta * z**2) * np.eye(dim)
        a = a + sum((s * np.outer(step, step) for s, step, _ in epoch), np.zeros((dim, dim)))
        r = min(bound, radius)
        x = quadratic_on_ball(a, a @ center - hint, r)
        g = np.asarray(gradient(t, x), float)
        new_scale = max(scale, float(np.linalg.norm(g - hint)))
        clipped = hint + scale / new_scale * (g - hint)
        e = clipped - hint
        nabla = clipped + c_corr * eta * (x @ e) * e
        center = quadratic_on_ball(a, a @ center - nabla, r)
        epoch.append((eta, nabla - hint, e))
        norms.append(float(np.linalg.norm(g)))
        load = sum(norm / max(1.0, max(norms[: s + 1])) for s, norm in enumerate(norms))
        restart = bound < np.sqrt(load)
        rows.append((x, g, clipped, new_scale, bound, eta, a, restart))
        hint, scale = g, new_scale
        if restart:
            bound, center, epoch, z_first = 2.0 * np.sqrt(load), np.zeros(dim), [], scale
    return Trace(*(np.array(column) for column in zip(*rows, strict=True)))
