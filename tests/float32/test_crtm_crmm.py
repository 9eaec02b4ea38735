"""CRTM and CRMM in float32 (a process without x64): neither needs float64 accumulators."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.linear.crmm import CRMM
from jaxbandits.algorithms.linear.crtm import CRTM
from jaxbandits.base.pytree import as_arrays
from tests.algorithms.linear import replay_linear
from tests.algorithms.linear.replay_linear import KEY
from tests.reference import crtm_crmm as reference
from tests.reference.heavy_tailed_linear import forced_trace, instance

pytestmark = pytest.mark.float32


def replay(alg, xs, rewards):
    arrays = (jnp.asarray(a, jnp.float32) for a in (xs, rewards))
    theta, inverse = replay_linear.replay(as_arrays(alg), *arrays, replay_linear.estimate_and_inverse)
    assert theta.dtype == inverse.dtype == jnp.float32
    return np.asarray(theta, float), np.asarray(inverse, float)


def trace(rng, T, dim, decades):
    """Samples that are exact in float32, so that rounding is the only difference."""
    arms, _, theta, noise, _ = instance(rng, T, 1, dim, "student", decades=decades)
    x = arms[:, 0].astype(np.float32).astype(float)
    return x, (x @ theta + noise).astype(np.float32).astype(float)


@pytest.mark.quick_cases("2-ons", "5-ls")
@pytest.mark.parametrize("mode", ["ons", "ls"])
@pytest.mark.parametrize("dim", [2, 5, 20])
def test_estimates_follow_the_float64_loop(dim, mode, rng):
    x, rewards = trace(rng, 300, dim, 1.0)
    theta, inverse = replay(CRTM(dim=dim, horizon=300, eps=0.8, mode=mode), x, rewards)
    learner = reference.Crtm(dim, 300, 0.8, u=2.0**1.8, mode=mode)
    np.testing.assert_allclose(theta, reference.replay(learner, x, rewards), atol=1e-4)
    np.testing.assert_allclose(inverse[-1], np.linalg.inv(learner.fit.V), rtol=1e-4, atol=1e-6)
    theta, inverse = replay(CRMM(dim=dim, horizon=300, eps=0.8, mode=mode, reps=5), x, rewards)
    learner = reference.Crmm(dim, 300, 0.8, v=1.0, mode=mode, reps=5)
    np.testing.assert_allclose(theta, reference.replay(learner, x, rewards), atol=1e-4 * max(1, np.abs(theta).max()))
    np.testing.assert_allclose(inverse[-1], np.linalg.inv(learner.fit.V), rtol=1e-4, atol=1e-6)


def deviation(theta, want):
    """The largest difference, relative to the largest estimate so far where that exceeds one."""
    largest = np.maximum.accumulate(np.abs(want).max(axis=1))
    return (np.abs(theta - want).max(axis=1) / np.maximum(largest, 1.0)).max()


@pytest.mark.quick_cases("ls-False-4")
@pytest.mark.parametrize("figure", [1, 4])
@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("mode", ["ons", "ls"])
def test_long_runs_keep_their_digits(mode, settled, figure, rng):
    """18000 rounds; rewards of 1e4 and more in Fig. 4, where early estimates of "ls" are in the hundreds and the
    projections of "ons" start from there."""
    T, eps, nu = 18_000, *((0.99, 1.31) if figure == 1 else (0.69, 18.711180 * 10**2.5))
    x, rewards, _ = forced_trace(rng, T, 2, figure, settled)
    within = {"ons": 3e-5, "ls": 1e-6}[mode]
    theta, _ = replay(CRTM(dim=2, horizon=T, eps=eps, mode=mode, noise_scale=nu), x, rewards)
    want = reference.replay(reference.Crtm(2, T, eps, u=(nu + 1) ** (1 + eps), mode=mode), x, rewards)
    assert deviation(theta, want) < within
    theta, _ = replay(CRMM(dim=2, horizon=T, mode=mode), x, rewards)
    want = reference.replay(reference.Crmm(2, T, 1.0, v=1.0, mode=mode, reps=11), x, rewards)
    assert deviation(theta, want) < within


@pytest.mark.parametrize("mode", ["ons", "ls"])
def test_constants_of_long_horizons_are_finite(mode):
    """No overflow at T = 2e9, and epochs are counted exactly."""
    state = as_arrays(CRTM(dim=2, horizon=2e9, eps=0.3, mode=mode)).init(KEY)
    learner = reference.Crtm(2, 2e9, 0.3, u=2.0**1.3, mode=mode)
    np.testing.assert_allclose([state.threshold, state.radius], [learner.gamma, learner.radius], rtol=1e-5)
    for T in (2e9, 98, 97):
        state = as_arrays(CRMM(dim=2, horizon=T, eps=0.3, mode=mode, reps=49)).init(KEY)
        want = reference.Crmm(2, T, 0.3, v=1.0, mode=mode, reps=49).radius
        np.testing.assert_allclose(state.radius, want, rtol=1e-5)
