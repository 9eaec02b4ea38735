"""The group DRO family in float32 (a process without x64)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from jaxbandits.algorithms.dro.online import Online
from jaxbandits.algorithms.dro.smd import SMD
from jaxbandits.core import rng, simplex
from jaxbandits.core.pytree import as_arrays
from jaxbandits.environments.dro import synthetic_groups
from jaxbandits.environments.dro.synthetic_groups import GroupsState, SyntheticGroups
from jaxbandits.types import Gradient, narrow
from tests.reference import group_dro as reference

KEY = jax.random.key(0)
STEPS = {"horizon": 30} | reference.GOLDEN_STEPS


def logistic(w, x, y):
    margin = y * (x @ w)
    return Gradient(jnp.logaddexp(-margin, 0.0), (-y * jax.nn.sigmoid(-margin))[:, None] * x)


@jax.jit
def replay(algorithm, x, y, u):
    """The averages after recorded rows `[T, m, d]`; a bandit's index is made from `u[t]`."""

    def round_(state, row):
        t, x, y, u = row
        decision = algorithm.select(KEY, t, state, None)
        if len(decision.group) == 1:
            decision = decision._replace(group=simplex.inverse_cdf(decision.weights, u)[None])
        feedback = logistic(decision.play, x[decision.group], y[decision.group])
        return algorithm.update(KEY, t, state, None, decision, feedback), None

    rows = (jnp.arange(len(x)), *(jnp.asarray(a, jnp.float32) for a in (x, y, u)))
    state, _ = jax.lax.scan(round_, algorithm.init(KEY), rows)
    return tuple(map(jnp.asarray, algorithm.recommend(state)))


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [
        ("smd", SMD(dim=3, n_groups=4, **STEPS)),
        ("online", Online(dim=3, n_groups=4, gamma=0.3, **STEPS)),
    ],
)
def test_golden_trace(name, algorithm):
    x, y, u = reference.golden_inputs()
    w, q = replay(as_arrays(algorithm), x, y, u[:, 0])
    assert w.dtype == q.dtype == jnp.float32
    golden_w, golden_q = reference.GOLDEN[name]
    np.testing.assert_allclose(w, golden_w, atol=1e-6)
    np.testing.assert_allclose(q[:3], golden_q, atol=1e-6)


@pytest.mark.parametrize(("m", "k"), [(5, 1), (5, 3), (12, 5), (20, 3)])
def test_projections_sum_to_one(m, k, rng):
    log_p = np.float32(rng.normal(size=(2000, m)) * 10.0 ** rng.uniform(-2, 2, (2000, 1)))
    log_p[::4, : m // 2] = log_p[::4, :1]  # ties
    project = jax.jit(jax.vmap(lambda a: jnp.exp(simplex.kl_projection(a, k))))
    q = np.asarray(project(log_p))
    np.testing.assert_allclose(q.astype(float).sum(1), 1.0, atol=1e-6)
    assert np.all((q >= 0.0) & (q <= np.float32(1.0 / k) * (1 + 2e-7)))


@pytest.mark.parametrize("m", [4, 20])
def test_the_largest_uniform_draws_a_group(m, rng):
    q = np.float32(rng.dirichlet(np.ones(m), size=2000))
    u = np.nextafter(np.float32(1.0), np.float32(0.0))
    drawn = jax.jit(jax.vmap(lambda q: simplex.inverse_cdf(q, u)))(q)
    assert np.all((drawn >= 0) & (drawn < m))


@pytest.mark.parametrize("method", [SMD, Online])
def test_long_runs_keep_the_weights_normalised_and_the_gap_positive(method, key):
    environment = as_arrays(SyntheticGroups.heterogeneous(dim=3, n_groups=4))
    algorithm = as_arrays(method(dim=3, n_groups=4, horizon=20_000, q_scale=10.0))
    env_state = environment.init(key)

    @jax.jit
    def run(key):
        def round_(t, state):
            select, draw = jax.random.split(jax.random.fold_in(key, t))
            decision = algorithm.select(select, t, state, None)
            _, feedback, _ = environment.step(draw, t, env_state, None, decision)
            return algorithm.update(key, t, state, None, decision, narrow(feedback, algorithm.feedback))

        state = jax.lax.fori_loop(0, 20_000, round_, algorithm.init(key))
        return (
            state.weights.log_q,
            algorithm.recommend(state),
            environment.at_record(env_state, algorithm.recommend(state)),
        )

    log_q, (w, q), recorded = jax.tree.map(np.asarray, run(key))
    np.testing.assert_allclose(np.sum(np.exp(log_q)), 1.0, atol=1e-6)
    np.testing.assert_allclose(np.sum(q), 1.0, atol=2e-5)
    assert np.linalg.norm(w) <= 3.0
    assert 0.0 < recorded["duality_gap"] < 0.15
    assert recorded["max_risk"].dtype == np.float32


def test_known_values_of_h():
    h, slope = jax.jit(synthetic_groups.expected_log_cosh), jax.jit(synthetic_groups.expected_log_cosh_slope)
    values = [h(0.0), h(1.0), h(2.0), slope(1.0)]
    np.testing.assert_allclose(values, [np.log(2.0), 0.8060591833, 1.0677143881, 0.2066209641], rtol=5e-7)


def test_two_orthogonal_groups():
    environment = as_arrays(SyntheticGroups(dim=2, n_groups=2, radius=np.inf))
    state = GroupsState(optima=jnp.eye(2), correct=jnp.full(2, 0.9))
    recorded = jax.jit(environment.at_record)(state, (jnp.full(2, 0.806272), jnp.full(2, 0.5)))
    np.testing.assert_allclose(recorded["max_risk"], 0.579074, atol=1e-6)
    np.testing.assert_allclose(recorded["duality_gap"], 0.0, atol=5e-7)


def test_normals_keep_their_tails(key):
    normals, uniforms = jax.jit(lambda k: (rng.normals(k, 100, 20_001), rng.uniforms(k, 20_001)))(key)
    assert normals.dtype == uniforms.dtype == jnp.float32
    assert scipy.stats.kstest(np.asarray(normals, float).ravel(), "norm").pvalue > 1e-5
    far, p = np.mean(np.abs(normals) > 4.5), 2.0 * scipy.stats.norm.sf(4.5)
    assert abs(far - p) < 5.0 * np.sqrt(p / normals.size)
    assert np.all(np.isfinite(normals)) and np.all((uniforms >= 0.0) & (uniforms < 1.0))
