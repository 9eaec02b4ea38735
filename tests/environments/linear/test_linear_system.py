"""The linear system: its recursion, its moments, what it tells, users' own systems."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.stats as st

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.environments.linear.linear_system import LinearSystem
from jaxbandits.environments.linear.noise import Gaussian, StudentT
from jaxbandits.types import Prediction
from tests.reference import identification as reference

A, B = np.array([[0.8, 0.2], [0.0, 0.7]]), np.array([[0.0], [0.5]])


@jax.jit
def _run(env, prediction, keys):
    """Regressors, next states, scales and excess losses of rounds with a constant prediction."""

    def round_(state, row):
        t, key = row
        for_obs, for_step = jax.random.split(key)
        obs = env.observe(for_obs, t, state)
        state, feedback, outcome = env.step(for_step, t, state, obs, Prediction(prediction))
        return state, (obs.regressor, *feedback, outcome.excess_loss)

    return jax.lax.scan(round_, env.init(keys[0]), (jnp.arange(len(keys), dtype=jnp.int32), keys))[1]


def run(env, T, prediction=None, seed=0):
    env = as_arrays(env)
    n = len(env.init(jax.random.key(0)).state)
    prediction = jnp.zeros(n) if prediction is None else jnp.asarray(prediction)
    return tuple(map(np.asarray, _run(env, prediction, jax.random.split(jax.random.key(seed), T))))


def test_the_default_system_follows_its_recursion():
    Z, X, scale, excess = run(LinearSystem(), 4000, prediction=[0.5, -1.0])
    np.testing.assert_array_equal(Z[0, :2], 0.0)
    np.testing.assert_array_equal(Z[1:, :2], X[:-1])
    mean = Z[:, :2] @ A.T + Z[:, 2:] @ B.T
    noise = (X - mean) / 0.3
    for i in range(2):
        assert st.kstest(noise[:, i], st.t(2.1).cdf).pvalue > 1e-4
    assert abs(st.spearmanr(noise[:, 0], noise[:, 1]).statistic) < 5 / np.sqrt(4000)
    assert abs(st.spearmanr(noise[1:, 0], noise[:-1, 0]).statistic) < 5 / np.sqrt(4000)
    assert st.kstest(Z[:, 2], st.norm().cdf).pvalue > 1e-4
    np.testing.assert_allclose(scale, 0.3 * 4.387787, rtol=1e-6)
    np.testing.assert_allclose(excess, ((np.array([0.5, -1.0]) - mean) ** 2).sum(axis=1), rtol=1e-11, atol=1e-13)


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("n", "m"), [(3, 2), (1, 1), (5, 9)])
def test_own_systems(n, m, rng):
    """Up to p = 12 rows are held as a `Vec`, beyond as an array; without noise the state is the reference's."""
    own_a, own_b = reference.system(rng, n, m)
    env = LinearSystem(A=own_a, B=own_b, noise=Gaussian(spread=0.0), moment_scale=1.0, input_scale=2.0)
    Z, X, _, _ = run(env, 60)
    want = np.zeros(n)
    for z, x in zip(Z, X, strict=True):
        np.testing.assert_allclose(z[:n], want, atol=1e-10)
        want = own_a @ want + own_b @ z[n:]
        np.testing.assert_allclose(x, want, atol=1e-10)


def test_a_system_without_inputs():
    env = as_arrays(LinearSystem(A=A, B=np.zeros((len(A), 0)), noise=Gaussian(spread=0.1), eps=1.0))
    state = env.init(jax.random.key(0))
    np.testing.assert_array_equal(env.observe(jax.random.key(1), 0, state).regressor, state.state)


def test_inputs_are_standard_normal_times_their_scale():
    env = as_arrays(LinearSystem(A=A, B=np.ones((len(A), 3)), noise=Gaussian(spread=0.1), eps=1.0, input_scale=2.0))
    state = env.init(jax.random.key(0))
    keys = jax.random.split(jax.random.key(2), 5000)
    inputs = np.asarray(jax.jit(jax.vmap(lambda k: env.observe(k, 0, state).regressor))(keys))[:, len(A) :]
    for i in range(3):
        assert st.kstest(inputs[:, i] / 2.0, "norm").pvalue > 1e-4
    assert np.abs(np.corrcoef(inputs.T) - np.eye(3)).max() < 5 / np.sqrt(5000)


def test_stationary_covariance():
    """Gaussian noise with a factor for each coordinate: Lyapunov's equation P = A P A' + 4 B B' + W."""
    factors = np.array([0.5, 2.0])
    env = LinearSystem(noise=Gaussian(spread=0.3), eps=1.0, noise_factors=factors, input_scale=2.0)
    _, X, scale, _ = run(env, 60_000)
    W = np.diag((0.3 * factors) ** 2)
    want = scipy.linalg.solve_discrete_lyapunov(A, 4.0 * B @ B.T + W)
    np.testing.assert_allclose(np.cov(X[100:].T), want, rtol=0.08)
    np.testing.assert_allclose(scale[0], 0.3 * factors, rtol=1e-12)


def test_least_squares_on_its_trajectory_finds_the_system():
    Z, X, _, _ = run(LinearSystem(noise=Gaussian(spread=0.01), eps=1.0), 4000)
    theta = reference.batch_ridge(Z, X, 1e-9)
    np.testing.assert_allclose(theta, np.vstack([A.T, B.T]), atol=5e-3)
    env = as_arrays(LinearSystem())
    error = env.at_record(env.init(jax.random.key(0)), jnp.asarray(theta))["estimation_error"]
    np.testing.assert_allclose(error, np.linalg.norm(theta - np.vstack([A.T, B.T])), rtol=1e-9)
    assert env.at_record(env.init(jax.random.key(0)), None) == {}
    assert env.at_record(env.init(jax.random.key(0)), jnp.asarray(theta.T)) == {}
    assert env.at_record(env.init(jax.random.key(0)), jnp.asarray(theta[:, 0])) == {}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"A": np.ones((2, 3))}, r"LinearSystem\.A must be square, got shape \(2, 3\)"),
        ({"A": np.eye(3)}, r"LinearSystem\.B must have shape \(3, m\), got \(2, 1\)"),
        ({"B": np.array([[np.inf], [1.0]])}, r"LinearSystem\.B must lie in"),
        ({"noise_factors": np.ones(3)}, r"LinearSystem\.noise_factors must have shape \(2,\)"),
        ({"input_scale": -1.0}, r"LinearSystem\.input_scale must lie in \[0, inf\)"),
        (
            {"noise": StudentT(df=1.7)},
            r"LinearSystem\.eps must lie below 0\.7, because the StudentT noise has no moment",
        ),
        (
            {"noise": StudentT(df=np.array([1.7, 2.5]))},
            r"LinearSystem\.eps must lie below 0\.7, .*, got 0\.99 \(or set moment_",
        ),
        (
            {"noise": StudentT(df=np.array([3.0, 2.5])), "eps": np.array([0.1, 0.2, 0.3])},
            r"LinearSystem\.eps has shape \(3,\), but the tail index of the noise has \(2,\)",
        ),
    ],
)
def test_bad_values_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        validate(LinearSystem(**fields))
