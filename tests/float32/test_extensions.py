"""Linear MDPs and system identification in float32 (a process without x64)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.linear.hvt_identification import HvtIdentification
from jaxbandits.algorithms.linear.hvt_mdp import HvtMDP
from jaxbandits.algorithms.linear.oful_mdp import OFULMDP
from jaxbandits.algorithms.linear.recursive_least_squares import RecursiveLeastSquares
from jaxbandits.base.pytree import as_arrays
from jaxbandits.environments.linear.linear_mdp import LinearMDP
from jaxbandits.environments.linear.linear_system import LinearSystem
from jaxbandits.simulation import compare
from jaxbandits.types import Episode, NextState, ScaledEpisode, ScaledNextState, SystemObs
from tests.reference import identification
from tests.reference import linear_mdp as mdp

pytestmark = pytest.mark.float32
SCALES = {"beta_scale": 2e-4, "tau_scale": 0.1}
KEY = jax.random.key(0)


def single(*arrays):
    return [jnp.asarray(a, jnp.float32) for a in arrays]


def test_estimates_of_episodes_follow_the_float64_loop(rng):
    """Fed the same episodes: closed loops part at near-ties."""
    K, H, d = 300, 3, 3
    phi, P, theta, noise, _ = mdp.instance(rng, K, H, 5, 4, d)
    x = phi.reshape(-1, d)[rng.integers(0, 20, (K, H))]
    x = np.asarray(single(x)[0], float)
    rewards = np.einsum("khd,hd->kh", x, theta) + noise

    @jax.jit
    def replay(alg, xs, rewards):
        def episode(state, row):
            t, x, rewards = row
            told = Episode(x, rewards) if alg.feedback is Episode else ScaledEpisode(x, rewards, jnp.float32(1.31))
            state = alg.update(KEY, t, state, None, None, told)
            return state, alg.recommend(state)

        return jax.lax.scan(episode, alg.init(KEY), (jnp.arange(K, dtype=jnp.int32), xs, rewards))[1]

    pairs = [
        (HvtMDP(dim=d, steps=H, horizon=K, eps=0.99, **SCALES), mdp.hvt(phi, P, H, K, 0.99, **SCALES)),
        (OFULMDP(dim=d, steps=H), mdp.oful(phi, P, H, 1.0, 0.01)),
    ]
    for alg, learner in pairs:
        got = np.asarray(replay(as_arrays(alg), *single(x, rewards)))
        assert got.dtype == np.float32
        for k in range(K):
            learner.update(x[k], rewards[k], 1.31)
            np.testing.assert_allclose(got[k], learner.theta, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), [(2, 1), (3, 12)])
def test_identification_follows_the_float64_loop(n, m, rng):
    T, p = 400, n + m
    A, B = identification.system(rng, n, m)
    Z, X = identification.trajectory(rng, T, A, B, 0.3 * rng.standard_t(2.1, (T, n)))
    Z, X = (np.asarray(a, float) for a in single(Z, X))

    @jax.jit
    def replay(alg, Z, X):
        def sample(state, row):
            t, z, x = row
            told = NextState(x) if alg.feedback is NextState else ScaledNextState(x, jnp.full(n, 1.31, jnp.float32))
            state = alg.update(KEY, t, state, SystemObs(z), None, told)
            return state, alg.recommend(state)

        return jax.lax.scan(sample, alg.init(KEY), (jnp.arange(T, dtype=jnp.int32), Z, X))[1]

    hvt = HvtIdentification(n_states=n, n_inputs=m, horizon=T, eps=0.99, norm_bound=1.0, **SCALES)
    got = np.asarray(replay(as_arrays(hvt), *single(Z, X)))
    assert got.dtype == np.float32
    learner = identification.HvtIdentification(p, n, T, 0.99, **SCALES)
    for t in range(T):
        learner.update(Z[t], X[t], 1.31)
        np.testing.assert_allclose(got[t], learner.Theta, atol=1e-4)
    got = np.asarray(replay(as_arrays(RecursiveLeastSquares(n_states=n, n_inputs=m)), *single(Z, X)))
    for t in (5, 50, T - 1):
        np.testing.assert_allclose(got[t], identification.batch_ridge(Z[: t + 1], X[: t + 1], 1.0), atol=1e-4)


@pytest.mark.slow
def test_runs_end_finite_in_float32():
    env = LinearMDP(n_states=3, n_actions=2, dim=2, steps=2)
    algs = [HvtMDP.practical(dim=2, steps=2, horizon=300, eps=0.99), OFULMDP.practical(dim=2, steps=2, horizon=300)]
    size = {"n_states": 2, "n_inputs": 1}
    identify = [HvtIdentification.practical(**size, horizon=300, eps=0.99), RecursiveLeastSquares(**size)]
    for algorithms, environment in ((algs, env), (identify, LinearSystem())):
        result = compare(algorithms, environment, 300, 64, progress=False, record_points=3)
        for trials in result.trials.values():
            assert trials.healthy.all()
            assert all(np.isfinite(values).all() for values in trials.values.values())
    for environment in (env, LinearSystem()):
        state = jax.eval_shape(as_arrays(environment).init, KEY)
        assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(state))
