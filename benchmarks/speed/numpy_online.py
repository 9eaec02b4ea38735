"""Learners of online convex optimisation in fast plain NumPy: for one seed, and for many seeds in one array.

A learner is a generator that yields its plays and receives the gradients there (CA-OONS yields all points at which it
needs gradients, the play last). Each learner is written once, in terms of the few operations that differ between `One`
and `Many`: for one seed, scalars are Python floats and vectors are `[d]`; for many seeds, scalars are columns `[S, 1]`
and vectors are `[S, d]`. The problem is that of `cases.build`: pseudo-Huber losses around noisy targets with G = 1,
D = 2.
"""

import itertools
import math
from collections.abc import Generator
from typing import Any

import numpy as np

CENTER, NOISE, RADIUS, DIAMETER = 0.5, 0.9, 1.0, 2.0


class One:
    """Arithmetic on one seed."""

    sqrt, log, expm1, largest, least = math.sqrt, math.log, math.expm1, max, min

    def __init__(self, dim: int):
        self.zero, self.nothing, self.eye = np.zeros(dim), 0.0, np.eye(dim)
        self.radius, self.diameter = RADIUS, DIAMETER

    @staticmethod
    def dot(a: Any, b: Any) -> Any:
        return float(a @ b)

    @staticmethod
    def where(condition: Any, a: Any, b: Any) -> Any:
        return a if condition else b

    @staticmethod
    def matrix(scalar: Any) -> Any:
        return scalar

    @staticmethod
    def outer(a: Any) -> Any:
        return np.outer(a, a)

    @staticmethod
    def proximal(metric: Any, center: Any, slope: Any, radius: Any) -> Any:
        x = center - np.linalg.solve(metric, slope)
        return x if x @ x <= radius * radius else on_sphere(metric, metric @ center - slope, radius)


class Many:
    """Arithmetic on S seeds, or on S base learners with different radii and diameters."""

    sqrt, log, expm1, largest, least = np.sqrt, np.log, np.expm1, np.maximum, np.minimum
    where = staticmethod(np.where)

    def __init__(self, dim: int, seeds: int, radius: Any = RADIUS, diameter: Any = DIAMETER):
        self.zero, self.nothing, self.eye = np.zeros((seeds, dim)), np.zeros((seeds, 1)), np.eye(dim)
        self.radius, self.diameter = radius + self.nothing, diameter + self.nothing

    @staticmethod
    def dot(a: Any, b: Any) -> Any:
        return np.einsum("sd,sd->s", a, b)[:, None]

    @staticmethod
    def matrix(scalar: Any) -> Any:
        return scalar[:, :, None]

    @staticmethod
    def outer(a: Any) -> Any:
        return a[:, :, None] * a[:, None, :]

    @staticmethod
    def proximal(metric: Any, center: Any, slope: Any, radius: Any) -> Any:
        x = center - np.linalg.solve(metric, slope[..., None])[..., 0]
        out = np.flatnonzero(np.einsum("sd,sd->s", x, x) > radius[:, 0] ** 2)
        if out.size:
            pull = np.matmul(metric[out], center[out][..., None])[..., 0] - slope[out]
            x[out] = on_sphere(metric[out], pull, radius[out])
        return x


def on_sphere(metric: Any, pull: Any, radius: Any) -> Any:
    """Return the minimiser of x'Ax/2 - b'x on the sphere, by Newton's method on the secular equation."""
    values, frame = np.linalg.eigh(metric)
    c, nu = np.matmul(np.swapaxes(frame, -1, -2), pull[..., None])[..., 0], 0.0
    for _ in range(24):
        x = c / (values + nu)
        norm_sq = (x * x).sum(axis=-1, keepdims=True)
        ratio = np.sqrt(norm_sq) / radius
        if (ratio <= 1.0 + 1e-12).all():
            break
        nu = nu + (ratio - 1.0) * norm_sq / (x * x / (values + nu)).sum(axis=-1, keepdims=True)
    return np.matmul(frame, x[..., None])[..., 0]


def onto_ball(m: Any, x: Any) -> Any:
    return x * m.least(1.0, m.radius / m.largest(m.sqrt(m.dot(x, x)), 1e-300))


Learner = Generator[np.ndarray, np.ndarray, None]


def ogd(m: Any) -> Learner:
    x = m.zero
    for t in itertools.count(1):
        grad = yield x
        x = onto_ball(m, x - (m.diameter / math.sqrt(t)) * grad)


def adagrad_norm(m: Any) -> Learner:
    x, energy = m.zero, m.nothing
    while True:
        grad = yield x
        energy = energy + m.dot(grad, grad)
        x = onto_ball(m, x - m.diameter / m.sqrt(2.0 * energy) * grad)


def kt_betting(m: Any) -> Learner:
    coins, wealth = m.zero, 1.0 + m.nothing
    for t in itertools.count(1):
        x = coins * (wealth / t)
        grad = yield x
        wealth, coins = wealth - m.dot(grad, x), coins - grad


def _exponential_play(m: Any, theta: Any, variance: Any) -> Any:
    """Return the play of parameter-free mirror descent, with theta in units of G and V in units of G^2."""
    length = m.sqrt(m.dot(theta, theta))
    near, far = length * length / (36.0 * variance), length / 3.0 - variance
    exponent = m.where(length <= 6.0 * variance, near, far)
    size = m.expm1(m.least(exponent, 300.0)) / (m.sqrt(variance) * m.log(variance) ** 2)
    return theta * (size / m.largest(length, 1e-300))


def parameter_free_md(m: Any) -> Learner:
    x, theta, variance = m.zero, m.zero, 4.0 + m.nothing
    while True:
        grad = yield x
        theta, variance = theta - grad, variance + m.dot(grad, grad)
        x = _exponential_play(m, theta, variance)


def clipped_parameter_free_md(m: Any) -> Learner:
    y, theta, variance, hint, radius_sq = m.zero, m.zero, 4.0 + m.nothing, 1.0 + m.nothing, 1.0 + m.nothing
    while True:
        length = m.sqrt(m.dot(y, y))
        shrinkage = m.sqrt(radius_sq) / m.largest(length, 1e-300)
        grad = yield y * m.least(shrinkage, 1.0)
        size = m.sqrt(m.dot(grad, grad))
        clipped = m.least(size, hint)
        hint, fed = m.largest(hint, size), grad * (clipped / m.largest(size, 1e-300))
        outside = shrinkage < 1.0
        if np.any(outside):
            fed = m.where(outside, 0.5 * (fed + y * (clipped / m.largest(length, 1e-300))), fed)
        theta, radius_sq = theta - fed, radius_sq + size / hint
        variance = m.largest(variance + m.dot(fed, fed), 4.0 * hint * hint)
        y = _exponential_play(m, theta / hint, variance / (hint * hint))


def scale_free_ftrl(m: Any) -> Learner:
    x, total, energy = m.zero, m.zero, m.nothing
    while True:
        grad = yield x
        total, energy = total + grad, energy + m.dot(grad, grad)
        x = total * (-1.0 / m.sqrt(energy))


def dog(m: Any) -> Learner:
    x, distance, energy = m.zero, 1e-3 + m.nothing, m.nothing
    while True:
        grad = yield x
        energy = energy + m.dot(grad, grad)
        distance = m.largest(distance, m.sqrt(m.dot(x, x)))
        x = x - (distance / m.sqrt(energy)) * grad


def dowg(m: Any) -> Learner:
    x, distance_sq, energy = m.zero, 1e-6 + m.nothing, m.nothing
    while True:
        grad = yield x
        distance_sq = m.largest(distance_sq, m.dot(x, x))
        energy = energy + distance_sq * m.dot(grad, grad)
        x = x - (distance_sq / m.sqrt(energy)) * grad


def optimistic_omd(m: Any) -> Learner:
    center, hint, total = m.zero, m.zero, 5.0 + m.nothing
    while True:
        eta = m.diameter / m.sqrt(total)
        grad = yield onto_ball(m, center - eta * hint)
        center, error, hint = onto_ball(m, center - eta * grad), grad - hint, grad
        total = total + m.dot(error, error)


def optimistic_ftrl_2022(m: Any) -> Learner:
    total, hint, spent = m.zero, m.zero, 2.0 * m.diameter
    while True:
        eta = m.diameter * m.diameter / spent
        grad = yield onto_ball(m, (total + hint) * (-0.5 * eta))
        error, total, hint = grad - hint, total + grad, grad
        spent = spent + eta * m.dot(error, error)


def optimistic_ftrl_2023(m: Any) -> Learner:
    hint = yield m.zero
    total, spent = hint, m.diameter * m.sqrt(m.dot(hint, hint))
    while True:
        eta = m.diameter * m.diameter / spent
        grad = yield onto_ball(m, (total + hint) * -eta)
        error, total, hint = grad - hint, total + grad, grad
        error_sq = m.dot(error, error)
        spent = spent + m.least(0.5 * eta * error_sq, m.diameter * m.sqrt(error_sq))


def oons(m: Any) -> Learner:
    center, hint, curvature, variation = m.zero, m.zero, 0.0 * m.outer(m.zero), m.nothing
    while True:
        eta = 1.0 / (m.diameter * m.largest(128.0, m.sqrt(variation)))
        metric = curvature + m.matrix(16.0 + 16.0 * eta) * m.eye
        x = m.proximal(metric, center, hint, m.radius)
        grad = yield x
        error = grad - hint
        step = error * (1.0 + 32.0 * eta * m.dot(x, error))
        center = m.proximal(metric, center, hint + step, m.radius)
        curvature = curvature + m.matrix(eta) * m.outer(step)
        variation, hint = variation + m.dot(error, error), grad


def cla_oons(m: Any) -> Learner:
    center, hint, curvature, variation = m.zero, m.zero, 0.0 * m.outer(m.zero), m.nothing
    scale = first = bound = 1.0 + m.nothing
    largest = load = m.nothing
    while True:
        eta = 1.0 / m.largest(64.0 * bound * scale, m.sqrt(variation))
        metric = curvature + m.matrix(4.0 * first * first + 4.0 * eta * scale * scale) * m.eye
        x = m.proximal(metric, center, hint, bound)
        grad = yield x
        error, norm = grad - hint, m.sqrt(m.dot(grad, grad))
        new_scale = m.largest(scale, m.sqrt(m.dot(error, error)))
        error, scale = error * (scale / new_scale), new_scale
        step = error * (1.0 + 32.0 * eta * m.dot(x, error))
        center = m.proximal(metric, center, hint + step, bound)
        curvature = curvature + m.matrix(eta) * m.outer(step)
        variation, hint = variation + m.dot(error, error), grad
        largest = m.largest(largest, norm)
        load = load + norm / m.largest(1.0, largest)
        restart = bound * bound < load
        if np.any(restart):
            center, variation = m.where(restart, m.zero, center), m.where(restart, m.nothing, variation)
            curvature = m.where(m.matrix(restart), 0.0 * curvature, curvature)
            first, bound = m.where(restart, scale, first), m.where(restart, 2.0 * m.sqrt(load), bound)


def ca_oons(dim: int, n_base: int, seeds: int | None = None) -> Learner:
    """Make CA-OONS on sums of losses, all base learners (of all seeds) as one batch of OONS; G = 1, T = 2^N."""
    batch = () if seeds is None else (seeds,)
    bound = np.tile(2.0 ** np.arange(1, n_base + 1), 1 if seeds is None else seeds)[:, None]
    base = oons(Many(dim, len(bound), bound, bound))
    rate = 1.0 / (32.0 * 2.0 ** np.arange(3, n_base + n_base // 2 + 3))
    log_prior = 2.0 * np.log(rate) - np.log((rate**2).sum())
    unknown = np.arange(n_base)[:, None] > np.arange(len(rate))
    loss_sum, square_sum, cost, nu = np.zeros((*batch, n_base)), 0.0, np.zeros((*batch, len(rate))), 0.0
    hint, points = np.zeros((*batch, n_base)), next(base).reshape(*batch, n_base, dim)
    while True:
        exponent = -2.0 * rate * ((loss_sum + hint)[..., None] + 64.0 * rate * np.expand_dims(square_sum, -1))
        exponent[..., unknown] = -np.inf
        middle = np.exp(exponent - exponent.max(axis=-2, keepdims=True))
        middle /= middle.sum(axis=-2, keepdims=True)
        expected = (middle * hint[..., None]).sum(axis=-2)
        for _ in range(64):
            log_p = log_prior - rate * (cost + expected + nu)
            p = np.exp(log_p)
            total = p.sum(axis=-1, keepdims=True)
            if (np.abs(total - 1.0) <= 1e-12).all():
                break
            nu = nu + np.log(total) * total / (p * rate).sum(axis=-1, keepdims=True)
        weights = (middle * p[..., None, :]).sum(axis=-1)
        play = (weights[..., None] * points).sum(axis=-2, keepdims=True)
        grads = yield np.concatenate([points, play], axis=-2)
        played = grads[..., -1:, :]
        loss = (points * played).sum(axis=-1)
        error = loss - hint
        lost, deviation = ((middle * v[..., None]).sum(axis=-2) for v in (loss, error))
        loss_sum, square_sum = loss_sum + loss, square_sum + error * error
        cost = cost + lost + 32.0 * rate * deviation * deviation
        points = base.send(grads[..., :-1, :].reshape(-1, dim)).reshape(*batch, n_base, dim)
        hint = (points * played).sum(axis=-1)


LEARNERS = {
    learner.__name__: learner
    for learner in (
        oons, cla_oons, ogd, adagrad_norm, kt_betting, parameter_free_md, clipped_parameter_free_md, scale_free_ftrl,
        dog, dowg, optimistic_omd, optimistic_ftrl_2022, optimistic_ftrl_2023,
    )
}  # fmt: skip
N_BASE = 14  # of CA-OONS: T = 2^14


def make(algorithm: str, dim: int, seeds: int | None = None) -> Learner:
    """Make a learner for one seed (None) or for many seeds."""
    if algorithm == "ca_oons":
        return ca_oons(dim, N_BASE, seeds)
    return LEARNERS[algorithm](One(dim) if seeds is None else Many(dim, seeds))


def online_one(algorithm: str, dim: int, rounds: int, rng: np.random.Generator) -> float:
    """Run one seed, with all targets drawn before the loop; return the regret."""
    targets, best = draw_targets(dim, rounds, rng)
    learner, loss = make(algorithm, dim), 0.0
    query = next(learner)
    for target in targets:
        play = query if query.ndim == 1 else query[-1]
        error = play - target
        loss += math.sqrt(1.0 + error @ error) - 1.0
        query = learner.send(_gradient(query, target))
    return loss - float((np.sqrt(1.0 + ((best - targets) ** 2).sum(axis=1)) - 1.0).sum())


def online_many(algorithm: str, dim: int, rounds: int, rng: np.random.Generator, seeds: int) -> float:
    """Run all seeds in one array; return the mean regret."""
    learner, regret = make(algorithm, dim, seeds), np.zeros(seeds)
    query = next(learner)
    for _ in range(rounds):
        target, best = draw_targets(dim, seeds, rng)
        play = query if query.ndim == 2 else query[:, -1]
        for x, sign in ((play, 1.0), (best, -1.0)):
            error = x - target
            regret += sign * np.sqrt(1.0 + np.einsum("sd,sd->s", error, error))
        query = learner.send(_gradient(query, target if query.ndim == 2 else target[:, None]))
    return float(regret.mean())


def draw_targets(dim: int, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw targets `[count, d]` on spheres around the comparator; return the targets and the comparator."""
    noise = rng.standard_normal((count, dim))
    best = CENTER * np.eye(dim)[0]
    return best + (NOISE / np.sqrt(np.einsum("sd,sd->s", noise, noise)))[:, None] * noise, best


def _gradient(x: np.ndarray, target: np.ndarray) -> np.ndarray:
    error = x - target
    return error / np.sqrt(1.0 + (error * error).sum(axis=-1, keepdims=True))
