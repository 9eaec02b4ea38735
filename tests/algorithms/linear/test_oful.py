"""OFUL: golden numbers, the NumPy loop on fresh instances, the confidence set's coverage."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.linear.multipliers import MULTIPLIERS
from jaxbandits.algorithms.linear.oful import OFUL
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.numerics import inverse_factors
from jaxbandits.types import ArmDecision, ArmObs, Reward
from tests import compiled
from tests.reference import heavy_tailed_linear as reference

KEY = jax.random.key(0)
X = np.array([[0.6, 0.8], [1, 0], [-0.28, 0.96], [0.6, 0.8], [0.8, -0.6]])
R = np.array([1.1, -0.4, 60, 0.7, -25])


@jax.jit
def replay(alg, xs, rewards):
    def sample(state, row):
        t, x, reward = row
        decision = ArmDecision(jnp.int32(0), x)
        state = alg.update(KEY, t, state, None, decision, Reward(reward))
        return state, (alg.recommend(state), alg.radius(jnp.int32(0), state), inverse_factors.to_dense(state.inverse))

    return jax.lax.scan(sample, alg.init(KEY), (jnp.arange(len(rewards), dtype=jnp.int32), xs, rewards))[1]


def test_golden_trace():
    theta, radius, inverse = replay(as_arrays(OFUL.theory(dim=2, horizon=100)), jnp.asarray(X), jnp.asarray(R))
    np.testing.assert_allclose(theta[-1], [-8.930096626010, 16.644606367812], rtol=1e-12)
    np.testing.assert_allclose(radius[-1], 5.285736635197, rtol=1e-12)
    np.testing.assert_allclose(inverse[-1], np.linalg.inv(2 * np.eye(2) + X.T @ X), rtol=1e-13)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [4, 1, 16])
def test_estimate_and_radius_match_the_reference(dim, rng):
    x, rewards = rng.standard_normal((80, dim)), 10 * rng.standard_normal(80)
    alg = OFUL(dim=dim, noise_scale=1.7, ridge=0.3, norm_bound=2.0, delta=0.02, beta_scale=0.6)
    theta, radius, inverse = replay(as_arrays(alg), jnp.asarray(x), jnp.asarray(rewards))
    want = reference.replay(reference.Oful(dim, R=1.7, delta=0.02, S=2.0, lam=0.3, beta_scale=0.6), x, rewards, rewards)
    np.testing.assert_allclose(theta, want["theta"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(radius, want["radius"], rtol=1e-11)
    np.testing.assert_allclose(inverse, np.linalg.inv(want["V"]), rtol=1e-9, atol=1e-12)


def test_masked_arms_are_not_played(rng):
    alg = as_arrays(OFUL(dim=3))
    arms = jnp.asarray(rng.standard_normal((7, 3)))
    mask = rng.permutation(7) < 4
    decision = compiled.select(alg, KEY, jnp.int32(0), compiled.init(alg, KEY), ArmObs(arms, jnp.asarray(mask)))
    assert int(decision.index) == np.argmax(np.where(mask, np.linalg.norm(arms, axis=1), -1.0))


def test_first_round_values_are_hand_computed():
    """V = lambda I, b = 0: the longest arm wins; radius = R sqrt(2 log(1/delta)) + sqrt(lambda) S."""
    alg = as_arrays(OFUL(dim=2, noise_scale=2.0, ridge=4.0, norm_bound=3.0, delta=np.exp(-2.0)))
    state = compiled.init(alg, KEY)
    np.testing.assert_allclose(alg.radius(jnp.int32(0), state), 2.0 * 2.0 + 2.0 * 3.0, rtol=1e-14)
    obs = ArmObs(jnp.asarray([[0.5, 0.5], [0.0, 0.9], [0.9, 0.0]]))
    assert int(compiled.select(alg, KEY, jnp.int32(0), state, obs).index) == 1  # the first of two equal ones


@pytest.mark.slow
def test_confidence_set_covers_gaussian_noise(rng):
    """||theta_t - theta*||_{V_t} <= radius_t for all t in at least 1 - delta of the trials, and not absurdly so."""
    trials, T, delta = 256, 300, 0.1
    x = rng.standard_normal((trials, T, 2))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    theta = np.array([0.6, -0.8])
    rewards = x @ theta + rng.standard_normal((trials, T))
    run = jax.vmap(replay, in_axes=(None, 0, 0))
    estimate, radius, inverse = run(as_arrays(OFUL(dim=2, delta=delta)), jnp.asarray(x), jnp.asarray(rewards))
    error = np.asarray(estimate) - theta
    norm = np.sqrt(np.einsum("sti,sti->st", error, np.linalg.solve(inverse, error[..., None])[..., 0]))
    ratio = (norm / radius).max(axis=1)
    assert (ratio <= 1).mean() >= 1 - delta
    assert ratio.max() > 0.5


def test_presets_and_bad_values():
    assert OFUL.theory(dim=2, horizon=50, noise_scale=3.0).delta == 1 / 400
    assert OFUL.practical(dim=2, horizon=50).beta_scale == MULTIPLIERS["oful"]["beta_scale"]
    assert OFUL.practical(dim=2, horizon=50, beta_scale=0.7, delta=0.5).delta == 0.5
    with pytest.raises(InputError, match=r"OFUL\.noise_scale must lie in \[0, inf\), got -1"):
        validate(OFUL(dim=2, noise_scale=-1.0))
    with pytest.raises(InputError, match=r"OFUL\.ridge must lie in \(0, inf\), got 0"):
        validate(OFUL(dim=2, ridge=0.0))
