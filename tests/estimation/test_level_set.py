"""Minimisers over a ball and maximisers over level sets, against reference solvers, certificates and hand cases."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.estimation import level_set
from jaxbandits.estimation.likelihood import Evaluation, Likelihood, Pulls
from jaxbandits.estimation.links import Bernoulli, Gaussian, Poisson
from tests.reference import glb_omd, glm_mle

LINKS = {"gaussian": Gaussian(), "bernoulli": Bernoulli(), "poisson": Poisson()}
K = 12


def vec(a):
    return jnp.asarray(a, float)


def counts(rng, name, d, S, n, flat=False):
    """n rounds over K arms, the better ones more often; `flat`: over two arms only, so that L is flat for d > 2."""
    star = rng.standard_normal(d)
    star *= S / np.linalg.norm(star)
    u = rng.standard_normal((K, d))
    X = u / np.linalg.norm(u, axis=1, keepdims=True) * rng.random((K, 1)) ** (1.0 / d)
    p = np.exp(3.0 * X @ star / S) * (np.arange(K) < (2 if flat else K))
    plays = rng.multinomial(n, p / p.sum())
    z = X @ star
    totals = {
        "bernoulli": lambda: rng.binomial(plays, 1.0 / (1.0 + np.exp(-z))),
        "poisson": lambda: rng.poisson(plays * np.exp(z)),
        "gaussian": lambda: plays * z + np.sqrt(plays) * rng.standard_normal(K),
    }[name]()
    return X, plays.astype(float), totals.astype(float)


class CountedLoss:
    """The reference's loss with counts: one row an arm."""

    def __init__(self, name, X, plays, totals, lam):
        self.f, self.X, self.plays, self.totals, self.lam = glb_omd.FAMILIES[name], X, plays, totals, lam

    def value(self, th):
        z = self.X @ th
        return self.plays @ self.f.m(z) - self.totals @ z + self.lam / 2.0 * th @ th

    def gradient(self, th):
        return self.X.T @ (self.plays * self.f.mu(self.X @ th) - self.totals) + self.lam * th


@jax.jit
def minimise(link, data, radius, ridge):
    zero = jnp.zeros(data.arms.shape[1])
    return level_set.minimise(Likelihood(link, data, 1, ridge, zero), zero, radius)


@jax.jit
def maximise(link, data, estimate, slack, radius, ridge, start):
    return level_set.maximise(Likelihood(link, data, 1, ridge, estimate), estimate, slack, data.arms, radius, start)


def solve(link, X, plays, totals, slack, radius, lam):
    """Estimate [d], values [K] and maximisers [K, d] from the estimate; values from other starts, good and bad."""
    data = Pulls(vec(X), jnp.asarray(plays), jnp.asarray(totals))
    slack, ridge = jnp.asarray(slack, float), jnp.asarray(lam, float)
    estimate = minimise(link, data, radius, ridge)
    none = level_set.nowhere(K, X.shape[1])
    at_estimate = none._replace(theta=jax.tree.map(lambda a, b: a + b, none.theta, estimate))
    values, found = maximise(link, data, estimate, slack, radius, ridge, at_estimate)
    others = (
        none,
        found,
        jax.tree.map(lambda a: a[::-1], found),  # those of other arms
        found._replace(theta=found.theta * 0.3, level=found.level * 50.0, ball=found.ball * 0.02),
    )
    warm = [maximise(link, data, estimate, slack, radius, ridge, start)[0] for start in others]
    return tuple(map(np.asarray, (estimate, values, found.theta, np.stack(warm))))


CASES = [("bernoulli", 3, 7.0), ("poisson", 2, 3.0), ("bernoulli", 14, 5.0)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "d", "S", "ball"),
    [(*CASES[0], True), *((*case, True) for case in CASES[1:]), (*CASES[2], False)],
)
def test_fresh_likelihoods(name, d, S, ball, rng):
    """From one round to 3000: the estimate is stationary, every maximum certified, whatever the start.

    `shortfall` bounds the distance to the maximum without solving; without a ball the loss has a ridge instead.
    """
    radius, lam = (S, 0.0) if ball else (None, 1.0)
    for n in (1, 4, 40, 400, 3000):
        X, plays, totals = counts(rng, name, d, S, n, flat=n == 40)
        slack = 3.0 + d * np.log(1.0 + 2.0 * S * n)
        loss = CountedLoss(name, X, plays, totals, lam)
        estimate, values, points, warm = solve(LINKS[name], X, plays, totals, slack, radius, lam)
        gradient = loss.gradient(estimate)
        if ball and np.linalg.norm(estimate) > S * (1.0 - 1e-9):
            assert np.linalg.norm(estimate) <= S * (1.0 + 1e-12)
            multiplier = -(gradient @ estimate) / S**2
            assert multiplier > -1e-9
            gradient = gradient + multiplier * estimate
        np.testing.assert_allclose(gradient, 0.0, atol=1e-7 * np.sqrt(n))
        np.testing.assert_allclose(values, np.einsum("kd,kd->k", X, points), rtol=1e-12)
        for x, point in zip(X, points, strict=True):
            below, above = glm_mle.shortfall(loss, estimate, slack, x, point, radius)
            assert max(below, above) < 1e-6 * S
        np.testing.assert_allclose(warm, np.broadcast_to(values, warm.shape), atol=1e-8 * S)


@pytest.mark.slow
def test_maxima_are_those_of_a_general_solver(rng):
    for name, d, S in CASES[:2]:
        X, plays, totals = counts(rng, name, d, S, 60)
        loss = CountedLoss(name, X, plays, totals, 0.0)
        estimate, values, _, _ = solve(LINKS[name], X, plays, totals, 5.0 + d, S, 0.0)
        for k in range(0, K, 3):
            assert values[k] == pytest.approx(glm_mle.maximise(loss, estimate, 5.0 + d, X[k], S), abs=1e-7)


def sphere(a, d):
    """L = a |theta|^2 / 2."""

    def objective(theta):
        return Evaluation(0.5 * a * (theta @ theta), theta * a, a * jnp.eye(d))

    return objective


@pytest.mark.slow
def test_two_balls():
    """The level set of 2 |theta|^2 / 2 has radius sqrt(slack), the ball radius 2: the smaller one times ||x||."""
    arms = vec([[1.0, 0.0, 0.0], [0.0, -0.6, 0.8], [0.3, 0.0, 0.4], [0.0, 0.0, 0.0]])
    slack, zero = np.array([8.0, 4.0, 2.0, 0.02]), jnp.zeros(3)
    for radius, size in ((2.0, np.minimum(np.sqrt(slack), 2.0)), (None, np.sqrt(slack))):
        run = jax.vmap(lambda b, radius=radius: level_set.maximise(sphere(2.0, 3), zero, b, arms, radius))
        value, found = run(jnp.asarray(slack))
        np.testing.assert_allclose(value, np.outer(size, [1.0, 1.0, 0.5, 0.0]), atol=1e-12)
        assert np.isfinite(found.theta).all()  # a zero arm has no direction


@pytest.mark.slow
def test_both_constraints_bind():
    """Unit ball around 0 and ball of radius 1 around (1, 0): in direction (0, 1) the maximum is their upper corner."""
    centre, reach = vec([1.0, 0.0]), jnp.asarray(0.5)

    def objective(theta):
        away = theta - centre
        return Evaluation(0.5 * (away @ away), away, jnp.eye(2))

    # The slack is counted from the minimiser over the unit ball, which is the centre itself.
    value, found = level_set.maximise(objective, centre, reach, vec([[0.0, 1.0], [1.0, 0.0], [-1.0, 0.0]]), 1.0)
    np.testing.assert_allclose(value, [np.sqrt(0.75), 1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(found.theta[0], [0.5, np.sqrt(0.75)], atol=1e-12)
    # multipliers of the corner: (0, 1) = level (th - centre) + ball th
    np.testing.assert_allclose([found.level[0], found.ball[0]], 0.5 / np.sqrt(0.75), rtol=1e-6)


def test_minimise_matches_the_reference(rng):
    """On the span of the arms, in the ball and on its sphere; separable data, where the maximum is at infinity."""
    for name, d, S in (("bernoulli", 2, 3.0), ("gaussian", 3, 0.5)):
        X = rng.standard_normal((30, d)) / 3.0
        rewards = X[:, 0] > 0.0 if name == "bernoulli" else X @ np.ones(d)
        plays = np.ones(30)
        for radius in (S, 40.0):
            data = Pulls(vec(X), jnp.asarray(plays), jnp.asarray(rewards, float))
            zero = jnp.zeros(d)
            found = level_set.minimise(Likelihood(LINKS[name], data, 1, None, zero), zero, radius)
            expected = glm_mle.fit(glb_omd.FAMILIES[name], X, np.asarray(rewards, float), 0.0, radius)
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_minimise_skips_and_stops():
    """What nobody wants costs no evaluation; a NaN ends the search and shows."""

    def nan(theta):
        return Evaluation(jnp.nan * theta[0], theta * jnp.nan, jnp.eye(2))

    start = vec([0.5, -0.25])
    np.testing.assert_array_equal(level_set.minimise(nan, start, 1.0, wanted=False), [0.5, -0.25])
    assert np.isnan(level_set.minimise(nan, start, 1.0)).all()


@pytest.mark.slow
def test_batched_as_alone(rng):
    """Under vmap each trial gets what it gets alone."""
    name, d, S = CASES[1]
    trials = [counts(rng, name, d, S, n) for n in (1, 30, 2000)]
    X, plays, totals = (jnp.asarray(np.stack(a)) for a in zip(*trials, strict=True))
    data, ridge, slack = Pulls(X, plays, totals), jnp.zeros(()), jnp.asarray([4.0, 8.0, 15.0])
    estimate = jax.jit(jax.vmap(lambda one: minimise(LINKS[name], one, S, ridge)))(data)
    start = level_set.nowhere(K, d)
    values, _ = jax.jit(jax.vmap(lambda a, b, c: maximise(LINKS[name], a, b, c, S, ridge, start)))(
        data, estimate, slack
    )
    for i in range(3):
        alone, several, _, _ = solve(LINKS[name], *trials[i], slack[i], S, 0.0)
        np.testing.assert_allclose(estimate[i], alone, atol=1e-10)
        np.testing.assert_allclose(values[i], several, atol=1e-10)
