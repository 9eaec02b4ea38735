"""HEAVY-OFUL in float32 (a process without x64): clipped terms are all that is added up, no sum needs float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.linear.heavy_oful import HeavyOFUL
from jaxbandits.base.pytree import as_arrays
from jaxbandits.numerics import inverse_factors
from jaxbandits.types import ArmDecision, ScaledReward
from tests.reference import heavy_oful as reference
from tests.reference.heavy_tailed_linear import forced_trace, instance

pytestmark = pytest.mark.float32
SCALES = {"beta_scale": 1e-3, "tau_scale": 0.1, "c0": 1.0, "c1": 1.0}
KEY = jax.random.key(0)


@jax.jit
def replay(alg, xs, rewards, moments):
    """The estimates of a recorded trace, and the last state."""

    def sample(state, row):
        t, x, reward, moment = row
        decision = ArmDecision(jnp.int32(0), x)
        state = alg.update(KEY, t, state, None, decision, ScaledReward(reward, moment))
        return state, state.theta

    rows = (jnp.arange(len(rewards), dtype=jnp.int32), xs, rewards, moments)
    return jax.lax.scan(sample, alg.init(KEY), rows)


def single(*arrays):
    return [jnp.asarray(a, jnp.float32) for a in arrays]


@pytest.mark.slow
@pytest.mark.parametrize("law", ["student", "pareto"])
@pytest.mark.parametrize("dim", [2, 5, 14])
def test_estimates_follow_the_float64_solver(dim, law, rng):
    arms, _, theta, noise, nu = instance(rng, 200, 1, dim, law, decades=1.5)
    xs, nu = arms[:, 0], nu / 5
    rewards = xs @ theta + noise
    learner = reference.HeavyOful(dim, 200, 0.8, **SCALES)
    for row in zip(xs, rewards, nu, strict=True):
        learner.update(*row)
    want = learner.trace()
    state, theta = replay(
        as_arrays(HeavyOFUL.theory(dim=dim, horizon=200, eps=0.8, **SCALES)), *single(xs, rewards, nu)
    )
    assert theta.dtype == inverse_factors.to_dense(state.inverse).dtype == jnp.float32
    np.testing.assert_allclose(theta, want["theta"], atol=1e-4)
    np.testing.assert_allclose(inverse_factors.to_dense(state.inverse) @ want["H"][-1], np.eye(dim), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("figure", [1, 4])
@pytest.mark.parametrize("settled", [False, True])
def test_estimates_keep_their_digits_over_a_long_run(settled, figure, rng):
    """3000 rounds, rewards up to 1e4 in Fig. 4, weights and thresholds from a float64 run of their own."""
    T, eps = 3000, 0.99 if figure == 1 else 0.69
    x, rewards, nu = forced_trace(rng, T, 2, figure, settled)
    learner = reference.HeavyOful(2, T, eps, **SCALES)
    for row in zip(x, rewards, nu, strict=True):
        learner.update(*row, fit=False)
    _, theta = replay(as_arrays(HeavyOFUL.theory(dim=2, horizon=T, eps=eps, **SCALES)), *single(x, rewards, nu))
    design, response, tau = map(np.array, (learner.X, learner.r, learner.tau))
    for t in (10, 100, 500, 1000, 2000, 3000):
        want, _ = reference.solve(np.zeros(2), design[:t], response[:t], tau[:t], 2.0, 1.0)
        np.testing.assert_allclose(theta[t - 1], want, atol=1e-4, err_msg=str(t))


@pytest.mark.slow
def test_a_long_history_with_huge_rewards(rng):
    """4000 samples, some rewards beyond 1e4: passes end (none is left to do), the estimate agrees with float64."""
    n = 4000
    xs = rng.uniform(-1, 1, (n, 2)) / np.sqrt(2)
    rewards = xs @ np.array([0.6, -0.8]) + np.where(rng.uniform(size=n) < 0.01, 1e5, 1.0) * rng.standard_t(2.1, n)
    alg = as_arrays(HeavyOFUL.practical(dim=2, horizon=n, eps=0.99))
    state, theta = replay(alg, *single(xs, rewards, np.full(n, 1.31)))
    design = np.asarray(state.samples.design, float)
    response, steepness = (np.asarray(a, float) for a in (state.samples.response, state.samples.steepness))
    want, _ = reference.solve(np.zeros(2), design, response, 1 / steepness, 2.0, 1.0)
    assert np.abs(rewards).max() > 1e4
    np.testing.assert_allclose(theta[-1], want, atol=1e-4)
    assert not alg.one_pass(n, state, state.theta)[1]
