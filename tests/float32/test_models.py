"""Reward models in float32: close to float64 references after many rounds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.armed.vids import VIDS
from jaxbandits.contextual import HybridLinUCB, models, rules
from jaxbandits.estimation import moments
from jaxbandits.types import ArmDecision, ArmObs, ContextObs, FixedArmObs, Reward
from tests.reference import bayesian_arms
from tests.reference import reward_models as reference

K, ROUNDS = 20, 100_000


def test_widths_of_a_gaussian_process_keep_their_digits(rng, key):
    """A prior that is singular to rounding, and most rounds on a few arms: widths against one solve in float64.

    n observations of an arm are one of their mean, with variance R^2 / n.
    """
    arms = np.linspace(0.0, 1.0, K).astype(np.float32)[:, None]
    index = np.minimum(rng.exponential(size=ROUNDS) * 3.0, K - 1).astype(np.int32)
    reward = (np.sin(5.0 * arms[index, 0]) + 0.3 * rng.normal(size=ROUNDS)).astype(np.float32)
    model, obs = models.GaussianProcess(n_arms=K, noise_scale=0.3), FixedArmObs(jnp.asarray(arms))

    @jax.jit
    def run(rows):
        def round_(state, row):
            t, i, y = row
            state = model.update(key, t, state, obs, ArmDecision(i, obs.arms[i]), y)
            return state, jnp.min(state.width_sq)

        return jax.lax.scan(round_, model.init_from_obs(model.init(key), obs), rows)

    state, least = run((jnp.arange(ROUNDS, dtype=jnp.int32), index, reward))
    assert (np.asarray(least) >= 0.0).all()
    gram = reference.squared_exponential(arms.astype(float), arms.astype(float), 0.2)
    count, total = np.bincount(index, minlength=K), np.bincount(index, weights=reward, minlength=K)
    seen = np.flatnonzero(count)
    cross, noise = gram[:, seen], np.diag(0.3**2 / count[seen])
    inside = gram[np.ix_(seen, seen)] + noise
    covariance = gram - cross @ np.linalg.solve(inside, cross.T)
    np.testing.assert_allclose(model.width(state, obs), np.sqrt(np.diag(covariance)), rtol=1e-2)
    mean = cross @ np.linalg.solve(inside, (total[seen] / count[seen]))
    np.testing.assert_allclose(model.predict(state, obs), mean, rtol=0.0, atol=1e-3)


@pytest.mark.parametrize("kind", [models.Hybrid, HybridLinUCB])
def test_sums_of_hybrid_models_keep_their_digits(kind, key):
    """A plain sum of 0.7 in each of 400,000 rounds is 0.2 % off, and a sum of features likewise."""
    learner, rounds = kind(n_arms=2, dim=1, shared_dim=1), 400_000
    obs = ContextObs(jnp.ones(1), jnp.full((2, 1), 0.7))
    decision, reward = ArmDecision(jnp.int32(1), obs.arms[1]), jnp.float32(0.7)
    feedback = reward if kind is models.Hybrid else Reward(reward)

    def learn(t, state):
        return learner.update(key, t, state, obs, decision, feedback)

    state = jax.jit(lambda: jax.lax.fori_loop(jnp.int32(0), jnp.int32(rounds), learn, learner.init(key)))()
    for total in (state.arms.cross.total, state.arms.rewards.total):
        np.testing.assert_allclose(np.ravel(total), [0.0, float(np.float32(0.7)) * rounds], rtol=1e-6)
    # The ridge estimate for z = 0.7 and x = 1 in every round.
    gram = np.array([[0.49, 0.7], [0.7, 1.0]]) * rounds + np.eye(2)
    beta = np.linalg.solve(gram, np.array([0.49, 0.7]) * rounds)[0]
    np.testing.assert_allclose(state.beta, beta, rtol=1e-3)


@pytest.mark.parametrize("name", ["ridge", "process"])
def test_the_information_gain_of_a_long_run(name, key):
    """One arm with noise of 1 and a prior of variance 1: log(1 + n) / 2; a plain sum is 2.5 % below it."""
    rounds, index = 4_000_000, jnp.int32(0)
    if name == "ridge":
        model, obs = models.Ridge(n_arms=1, dim=1), ContextObs.of(jnp.ones(1), 1)
        state = model.init(key)
    else:
        model, obs = models.GaussianProcess(n_arms=1, noise_scale=1.0), FixedArmObs(jnp.zeros((1, 1)))
        state = model.init_from_obs(model.init(key), obs)

    def learn(t, state):
        return model.update(key, t, state, obs, ArmDecision(index, obs.arms[index]), jnp.float32(0.5))

    found = jax.jit(lambda state: jax.lax.fori_loop(jnp.int32(0), jnp.int32(rounds), learn, state))(state)
    np.testing.assert_allclose(np.ravel(model.information(found)), 0.5 * np.log1p(rounds), rtol=1e-3)


def test_shortfalls_of_almost_known_arms():
    """Beta laws of a thousand rewards: probabilities of the best arm of 1e-6 and less are dropped, not divided by."""
    policy, theirs = VIDS(n_arms=4, n_points=128), bayesian_arms.VIDS(4, n_points=128)
    counts = np.array([[700, 300], [650, 350], [5, 5], [10, 90]])
    laws = [policy.law(jnp.float32(s + f), jnp.float32(s)) for s, f in counts]
    state = policy.init(None)._replace(laws=jax.tree.map(lambda *leaves: jnp.stack(leaves), *laws))
    for arm, (success, failure) in enumerate(counts):
        for reward in [1.0] * success + [0.0] * failure:
            theirs.update(arm, reward)
    found = policy.best_arm(state, jnp.ones(4, bool))
    delta, gain = theirs.shortfall_and_gain()
    np.testing.assert_allclose(found.best - found.mean, delta, rtol=0.0, atol=2e-6)
    np.testing.assert_allclose(policy.gain(found), gain, rtol=1e-3, atol=1e-8)


def test_a_posterior_fitted_from_moments_keeps_its_digits(rng):
    """1000 rows of an arm with almost no noise: widths and noise of the closed form against float64."""
    z = np.maximum(rng.normal(size=(1000, 20)), 0.0).astype(np.float32)
    reward = (z @ rng.normal(size=20) + 10.0 + 0.01 * rng.normal(size=1000)).astype(np.float32)
    model = models.NormalInverseGamma(dim=20)

    def identity(_, x):
        return x

    group, count = jnp.zeros(1000, jnp.int32), jnp.int32(1000)
    sums = moments.moments(identity, (), jnp.asarray(z), group, jnp.asarray(reward), count, 1)
    state = model.fit(jax.tree.map(lambda leaf: leaf[..., 0], sums))
    mean = model.coefficients(state)[:, None]
    squares = moments.squared_residuals(identity, (), jnp.asarray(z), group, jnp.asarray(reward), count, mean)
    state = model.fit_noise(state, squares[0])
    precision = 0.25 * np.eye(20) + z.astype(float).T @ z.astype(float)
    expected = np.linalg.solve(precision, z.astype(float).T @ reward.astype(float))
    np.testing.assert_allclose(state.mean, expected, rtol=1e-4, atol=1e-4)
    rows = rng.normal(size=(5, 20)).astype(np.float32)
    forms = np.einsum("kd,dk->k", rows, np.linalg.solve(precision, rows.T.astype(float)))
    residual = reward - z.astype(float) @ expected
    b = 6.0 + 0.5 * (residual @ residual + 0.25 * expected @ expected)
    np.testing.assert_allclose(state.scale.total, b, rtol=1e-4)
    np.testing.assert_allclose(model.width(state, ArmObs(jnp.asarray(rows))), np.sqrt(b / 506.0 * forms), rtol=1e-3)


@pytest.mark.parametrize("rule", [rules.IDS(), rules.VIDS()])
def test_draws_of_a_model_that_diverged_leave_probabilities(rule, rng, key):
    """Squares of draws of 1e25 overflow: the ratios were NaN, and arm 0 was played although it was unavailable."""
    mask = jnp.array([False, True, True, True])
    state = models.Linear(dim=4).init(key)._replace(theta=jnp.full(4, 1e25))
    model = models.Linear(dim=4, noise_scale=1e25)
    found = np.asarray(rule.weights(key, jnp.int32(9), model, state, ArmObs(jnp.eye(4), mask), mask))
    assert (found >= 0.0).all() and found[0] == 0.0
    np.testing.assert_allclose(found.sum(), 1.0, rtol=1e-6)
