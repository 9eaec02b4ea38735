"""CA-OONS (`ca_oons`) and its epochs (`anytime_ca_oons`) in NumPy float64, from the paper: a loop over base learners
with dense matrices and eigendecompositions, the meta algorithm of tests/reference/msmwc.py.

x_t^j: OONS on ||x|| <= min(D_j, R), D_j = 2^j, eta = min{1/(c_eta D_j 2G), 1/(D_j sqrt(V))}
x_t = sum_j w_{t,j} x_t^j
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tests.reference.msmwc import Master
from tests.reference.oons import quadratic_on_ball

Value = Callable[[int, np.ndarray], float]
Grad = Callable[[int, np.ndarray], np.ndarray]


class Trace(NamedTuple):
    """Rows t = 1..T."""

    play: np.ndarray  # [T, d]
    points: np.ndarray  # [T, N, d]
    weights: np.ndarray  # [T, N]
    loss: np.ndarray  # [T, N]  l_t
    hint: np.ndarray  # [T, N]  h_t


class _Base:
    """One OONS with given D, X = {||x|| <= radius}."""

    def __init__(self, dim: int, bound: float, radius: float, g: float, c_eta: float, c_A: float, c_corr: float):
        self.center, self.hint = np.zeros(dim), np.zeros(dim)
        self.s, self.v = np.zeros((dim, dim)), 0.0
        self.bound, self.radius, self.z = bound, radius, 2.0 * g
        self.c_eta, self.c_A, self.c_corr = c_eta, c_A, c_corr

    def play(self) -> np.ndarray:
        self.eta = 1.0 / (self.c_eta * self.bound * self.z)
        if self.v > 0.0:
            self.eta = min(self.eta, 1.0 / (self.bound * math.sqrt(self.v)))
        self.a = (self.c_A + 4.0 * self.eta) * self.z**2 * np.eye(len(self.center)) + self.s
        self.x = quadratic_on_ball(self.a, self.a @ self.center - self.hint, self.radius)
        return self.x

    def update(self, g: np.ndarray) -> None:
        e = g - self.hint
        nabla = g + self.c_corr * self.eta * (self.x @ e) * e
        self.center = quadratic_on_ball(self.a, self.a @ self.center - nabla, self.radius)
        self.s = self.s + self.eta * np.outer(nabla - self.hint, nabla - self.hint)
        self.v += e @ e
        self.hint = g


def run(
    value: Value, grad: Grad, rounds: int, dim: int, n_base: int, lipschitz: float, horizon: float,
    meta_loss: str = "played", base_grad: str = "own", radius: float = math.inf, n_small: int = 0, begin: int = 1,
    c_eta: float = 64.0, c_A: float = 4.0, c_corr: float = 32.0, c_meta: float = 32.0,
) -> Trace:  # fmt: skip
    """Rounds begin, ..., begin + rounds - 1 from a fresh state; `value(t, x)`, `grad(t, x)` are the loss of round t."""
    exponents = range(1 - n_small, n_base + 1)
    base = [_Base(dim, 2.0**j, min(2.0**j, radius), lipschitz, c_eta, c_A, c_corr) for j in exponents]
    master = Master(len(base), lipschitz, horizon, c_meta, first=1 - n_small)
    rows, last, n = [], None, len(base)
    for t in range(begin, begin + rounds):
        x = np.array([b.play() for b in base])
        if last is None:
            hint = np.zeros(n)
        elif meta_loss == "value":
            hint = np.array([value(t - 1, q) - value(t - 1, np.zeros(dim)) for q in x])
        else:
            hint = np.array([g @ q for g, q in zip(last, x, strict=True)])
        w = master.play(hint).weights
        play = w @ x
        own, played = np.array([grad(t, q) for q in x]), np.tile(grad(t, play), (n, 1))
        if meta_loss == "value":
            loss = np.array([value(t, q) - value(t, np.zeros(dim)) for q in x])
            last = own
        else:
            last = played if meta_loss == "played" else own
            loss = (last * x).sum(axis=1)
        master.update(loss)
        for b, g in zip(base, own if base_grad == "own" else played, strict=True):
            b.update(g)
        rows.append((play, x, w, loss, hint))
    return Trace(*(np.array(column) for column in zip(*rows, strict=True)))


def run_anytime(value: Value, grad: Grad, rounds: int, dim: int, lipschitz: float, meta_loss: str) -> np.ndarray:
    """`[T, d]` the plays: epoch k of length 2^(k-1) with N_k = max(1, ceil(log2 2^(k-1))), each from scratch."""
    plays, begin, k = [], 1, 1
    while begin <= rounds:
        length = 2 ** (k - 1)
        n = max(1, math.ceil(math.log2(length)))
        now = min(length, rounds - begin + 1)
        plays.append(run(value, grad, now, dim, n, lipschitz, float(length), meta_loss, begin=begin).play)
        begin, k = begin + length, k + 1
    return np.concatenate(plays)
