"""Baselines of parameter-free online convex optimisation in NumPy float64, written from the papers' formulas.

Each learner is a generator that yields its play and is sent the gradient there. Sums and maxima are taken anew over the
whole history in every round: slow, and another arithmetic than running sums. (`optax_learner` runs
other people's updates: its tests compare it with a plain optax loop.)
"""

from collections.abc import Callable, Generator
from typing import TypeAlias

import numpy as np

Learner: TypeAlias = Generator[np.ndarray, np.ndarray, None]


def run(learner: Learner, gradient: Callable[[int, np.ndarray], np.ndarray], horizon: int) -> np.ndarray:
    """The plays `[horizon, d]`; `gradient(t, x)` is the gradient of the loss of round t = 1, 2, ... at x."""
    plays = [next(learner)]
    for t in range(1, horizon):
        plays.append(learner.send(np.asarray(gradient(t, plays[-1]), float)))
    return np.array(plays)


def onto_ball(y: np.ndarray, radius: float | None) -> np.ndarray:
    if radius is None or np.linalg.norm(y) <= radius:
        return y
    return y * (radius / np.linalg.norm(y))


def _sq(vectors: list[np.ndarray]) -> float:
    return float(sum(v @ v for v in vectors))


def optimistic_omd(dim: int, radius=1.0, lipschitz=1.0, offset=1.0, step_scale=1.0) -> Learner:
    diameter, center, hint, errors = 2.0 * radius, np.zeros(dim), np.zeros(dim), []
    while True:
        eta = step_scale * diameter / np.sqrt(offset + 4.0 * lipschitz**2 + _sq(errors))
        grad = yield onto_ball(center - eta * hint, radius)
        center = onto_ball(center - eta * grad, radius)
        errors.append(grad - hint)
        hint = grad


def optimistic_ftrl_2022(dim: int, radius=1.0, nu=2.0, step_scale=1.0) -> Learner:
    grads, hint, summands = [np.zeros(dim)], np.zeros(dim), []
    while True:
        eta = step_scale * (2.0 * radius) ** 2 / (nu + sum(summands))
        grad = yield onto_ball(-(eta / 2.0) * (np.sum(grads, axis=0) + hint), radius)
        summands.append(eta * _sq([grad - hint]))
        grads.append(grad)
        hint = grad


def optimistic_ftrl_2023(dim: int, radius=1.0, step_scale=1.0) -> Learner:
    diameter, grads, hint, summands = 2.0 * radius, [np.zeros(dim)], np.zeros(dim), []
    while True:
        total = sum(summands)
        eta = step_scale * diameter**2 / total if total > 0.0 else np.inf
        direction = np.sum(grads, axis=0) + hint
        grad = yield onto_ball(-eta * direction, radius) if total > 0.0 else np.zeros(dim)
        error = np.linalg.norm(grad - hint)
        summands.append(min(eta / 2.0 * error**2, diameter * error) if total > 0.0 else diameter * error)
        grads.append(grad)
        hint = grad


def adagrad_norm(dim: int, radius=1.0, step_scale=1.0) -> Learner:
    x, grads = np.zeros(dim), []
    while True:
        grad = yield x
        grads.append(grad)
        if _sq(grads) > 0.0:
            x = onto_ball(x - step_scale * 2.0 * radius / np.sqrt(2.0 * _sq(grads)) * grad, radius)


def surrogate(grad: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The gradient without its component along the outward normal, where that is negative."""
    if np.array_equal(x, y):
        return grad
    normal = (y - x) / np.linalg.norm(y - x)
    return grad if grad @ normal >= 0.0 else grad - (grad @ normal) * normal


def kt_betting(dim: int, lipschitz=1.0, eps=1.0, radius=None) -> Learner:
    """The wealth as a sum, eps + sum_s <c_s, y_s>."""
    coins, gains, t = [np.zeros(dim)], [], 0
    while True:
        t += 1
        y = np.sum(coins, axis=0) / t * (eps + sum(gains))
        x = onto_ball(y, radius)
        grad = yield x
        coin = -surrogate(grad, y, x) / lipschitz
        gains.append(coin @ y)
        coins.append(coin)


def pfmd_play(theta: np.ndarray, variance: float, lipschitz: float, eps: float) -> np.ndarray:
    length = np.linalg.norm(theta)
    if length == 0.0:
        return np.zeros_like(theta)
    if length <= 6.0 * variance / lipschitz:
        exponent = length**2 / (36.0 * variance)
    else:
        exponent = length / (3.0 * lipschitz) - variance / lipschitz**2
    alpha = eps * lipschitz / (np.sqrt(variance) * np.log(variance / lipschitz**2) ** 2)
    return alpha * (theta / length) * np.expm1(exponent)


def parameter_free_md(dim: int, lipschitz=1.0, eps=1.0, radius=None) -> Learner:
    grads = [np.zeros(dim)]
    while True:
        y = pfmd_play(-np.sum(grads, axis=0), 4.0 * lipschitz**2 + _sq(grads), lipschitz, eps)
        x = onto_ball(y, radius)
        grad = yield x
        grads.append(surrogate(grad, y, x))


def clipped_parameter_free_md(dim: int, initial_hint=1.0, eps=1.0, halved=False, floor="max") -> Learner:
    y, theta, variance, norms, hints = np.zeros(dim), np.zeros(dim), 4.0 * initial_hint**2, [], [initial_hint]
    sum_sq = 0.0
    while True:
        radius = np.sqrt(1.0 + sum(n / h for n, h in zip(norms, hints[1:], strict=True)))
        x = onto_ball(y, radius)
        grad = yield x
        norm = np.linalg.norm(grad)
        clipped = grad if norm <= hints[-1] else grad * (hints[-1] / norm)
        norms.append(norm)
        hints.append(max(hints[-1], norm))
        if np.array_equal(x, y):
            told = 0.5 * clipped if halved else clipped
        else:
            told = 0.5 * (clipped + np.linalg.norm(clipped) * (y - x) / np.linalg.norm(y - x))
        theta = theta - told
        if floor == "max":
            variance = max(variance + told @ told, 4.0 * hints[-1] ** 2)
        else:
            sum_sq += told @ told
            variance = 4.0 * hints[-1] ** 2 + sum_sq
        y = pfmd_play(theta, variance, hints[-1], eps)


def scale_free_ftrl(dim: int, step_scale=1.0, radius=None) -> Learner:
    grads, x = [], np.zeros(dim)
    while True:
        grad = yield onto_ball(x, radius)
        grads.append(grad)
        if _sq(grads) > 0.0:
            x = -step_scale * np.sum(grads, axis=0) / np.sqrt(_sq(grads))


def dog(dim: int, r_eps=1e-3, radius=None) -> Learner:
    plays, grads = [np.zeros(dim)], []
    while True:
        grad = yield plays[-1]
        grads.append(grad)
        distance = max([r_eps, *(np.linalg.norm(x - plays[0]) for x in plays)])
        step = distance / np.sqrt(_sq(grads)) if _sq(grads) > 0.0 else 0.0
        plays.append(onto_ball(plays[-1] - step * grad, radius))


def dowg(dim: int, r_eps=1e-3, radius=None) -> Learner:
    plays, summands = [np.zeros(dim)], []
    while True:
        grad = yield plays[-1]
        distance = max([r_eps, *(np.linalg.norm(x - plays[0]) for x in plays)])
        summands.append(distance**2 * (grad @ grad))
        step = distance**2 / np.sqrt(sum(summands)) if sum(summands) > 0.0 else 0.0
        plays.append(onto_ball(plays[-1] - step * grad, radius))
