"""MsMwC (`msmwc`) and MsMwC-Master (`msmwc_master`) in NumPy float64, from the papers: both steps of every learner,
weights as they are printed (w'_t, p'_t, K weights on N experts), multipliers by Brent's method.

w_t      = argmin <w, h_t> + D_phi(w, w'_t),   phi(w) = sum_j w_j ln(w_j) / beta_j
w'_{t+1} = argmin <w, l_t + a_t> + D_phi(w, w'_t),   a_{t,j} = c beta_j (l_t^j - h_t^j)^2
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp


def entropic(log_q: np.ndarray, loss: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """ln argmin_p <p, loss> + D_phi(p, q): p_k = q_k exp(-beta_k (loss_k + nu)); ln q_k = -inf stays out."""
    inside = np.isfinite(log_q)
    lq, l, b = log_q[inside], loss[inside], beta[inside]

    def total(nu: float) -> float:
        return logsumexp(lq - b * (l + nu))

    margin = 1e-12 / b.min() + 1e-9 * np.abs(l).max()  # the weights of q sum to one up to rounding
    low, high = -l.max() - margin, -l.min() + margin
    nu = brentq(total, low, high, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=1000)
    v = lq - b * (l + nu)
    out = np.full(len(log_q), -np.inf)
    out[inside] = v - logsumexp(v)
    return out


def run_msmwc(losses: np.ndarray, beta: np.ndarray, c: float = 32.0) -> np.ndarray:
    """`[T, N]` the weights played on losses `[T, N]`; the hint is the last loss, 0 in round 1."""
    n = losses.shape[1]
    log_w, hint, played = np.full(n, -math.log(n)), np.zeros(n), []
    for loss in losses:
        played.append(np.exp(entropic(log_w, hint, beta)))
        log_w = entropic(log_w, loss + c * beta * (loss - hint) ** 2, beta)
        hint = loss
    return np.array(played)


def expert_set(lipschitz: float, first: int, last: int, horizon: float) -> list[int]:
    """S by enumeration over all k and j; where it is empty, the lower end of the interval."""
    found = [
        k
        for k in range(-200, 200)
        if any(
            math.log2(lipschitz) + j <= k - 2 <= math.log2(lipschitz) + j + 0.5 * math.log2(horizon)
            for j in range(first, last + 1)
        )
    ]
    return found or [math.ceil(math.log2(lipschitz) + first) + 2]


class Round(NamedTuple):
    """What the master plays."""

    weights: np.ndarray  # [N]
    middle: np.ndarray  # [K, N]
    p: np.ndarray  # [K]


class Master:
    """The three arrays of the printed algorithm and its two half rounds."""

    def __init__(self, n: int, lipschitz: float, horizon: float, c: float = 32.0, first: int = 1):
        self.k = np.array(expert_set(lipschitz, first, first + n - 1, horizon))
        self.beta, self.c = 1.0 / (c * 2.0**self.k), c
        scale = lipschitz * 2.0 ** np.arange(first, first + n)
        self.known = scale <= 2.0 ** (self.k[:, None] - 2.0)  # [K, N]  Z(k)
        with np.errstate(divide="ignore"):
            self.log_w = np.log(self.known / self.known.sum(axis=1, keepdims=True))
        self.log_p = 2.0 * np.log(self.beta) - logsumexp(2.0 * np.log(self.beta))
        self.prior = np.exp(self.log_p)

    def _middle_step(self, loss: np.ndarray) -> np.ndarray:
        rows = [
            entropic(lw, loss[k] if loss.ndim == 2 else loss, np.full(len(lw), 2.0 * b))
            for k, (lw, b) in enumerate(zip(self.log_w, self.beta, strict=True))
        ]
        return np.array(rows)

    def play(self, hint: np.ndarray) -> Round:
        self.hint = hint
        self.middle = np.exp(self._middle_step(hint))
        self.expected = self.middle @ hint
        p = np.exp(entropic(self.log_p, self.expected, self.beta))
        return Round(p @ self.middle, self.middle, p)

    def update(self, loss: np.ndarray) -> None:
        lost = self.middle @ loss
        correction = self.c * self.beta * (lost - self.expected) ** 2
        self.log_p = entropic(self.log_p, lost + correction, self.beta)
        a = self.c * 2.0 * self.beta[:, None] * (loss - self.hint) ** 2
        self.log_w = self._middle_step(loss + a)


def run_master(losses: np.ndarray, lipschitz: float, horizon: float, c: float = 32.0) -> list[Round]:
    """Hints are the last losses."""
    master, hint, played = Master(losses.shape[1], lipschitz, horizon, c), np.zeros(losses.shape[1]), []
    for loss in losses:
        played.append(master.play(hint))
        master.update(loss)
        hint = loss
    return played
