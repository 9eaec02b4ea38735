"""The group DRO family in float32 (a process without x64)."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from jaxbandits.base.pytree import as_arrays
from jaxbandits.dro import SMD, SMPA, ATkROk, Online, Soma
from jaxbandits.environments.dro import log_cosh
from jaxbandits.environments.dro.synthetic_groups import GroupsState, SyntheticGroups
from jaxbandits.numerics import rng, sampling, simplex
from jaxbandits.types import narrow
from tests.algorithms.dro.replay_dro import replay, replay_prox
from tests.algorithms.dro.test_dro_methods import FIXED, GOLDEN_LEARNERS, SMALL
from tests.reference import dro_methods as methods


@pytest.mark.quick_cases("smd_1", "smd_m", "atkro_k", "online_1")
@pytest.mark.parametrize("name", [name for name in methods.GOLDEN if name != "smpa_m"])
def test_golden_trace(name):
    x, y, u = (np.float32(part) for part in methods.golden_rows())
    run = replay(GOLDEN_LEARNERS[name], x, y, u)
    _is_golden(name, run.mean_w[-1], run.mean_q[-1])


def test_golden_trace_of_mirror_prox():
    x, y = (np.float32(part) for part in methods.golden_batches())
    run = replay_prox(SMPA(dim=3, budgets=(2, 1, 1, 1), **FIXED, **SMALL), x, y)
    _is_golden("smpa_m", run.mean_w[-1], run.mean_q[-1])


def _is_golden(name, w, q):
    """30 rounds of a few roundings each, of numbers up to 1."""
    assert w.dtype == q.dtype == jnp.float32
    golden_w, golden_q = methods.GOLDEN[name]
    np.testing.assert_allclose(w, golden_w, atol=2e-6)
    np.testing.assert_allclose(q[:3], golden_q, atol=2e-6)


@pytest.mark.quick_cases("5-1", "5-3")
@pytest.mark.parametrize(("m", "k"), [(5, 1), (5, 3), (12, 5), (20, 3)])
def test_projections_sum_to_one(m, k, rng):
    log_p = np.float32(rng.normal(size=(2000, m)) * 10.0 ** rng.uniform(-2, 2, (2000, 1)))
    log_p[::4, : m // 2] = log_p[::4, :1]  # ties
    project = jax.jit(jax.vmap(lambda a: jnp.exp(simplex.kl_projection(a, k))))
    q = np.asarray(project(log_p))
    np.testing.assert_allclose(q.astype(float).sum(1), 1.0, atol=1e-6)
    assert np.all((q >= 0.0) & (q <= np.float32(1.0 / k) * (1 + 2e-7)))


@pytest.mark.quick_cases("60-4")
@pytest.mark.parametrize(("m", "k"), [(5, 3), (12, 12), (60, 4)])
def test_samples_of_k_are_different_groups(m, k, rng):
    """Weights at the cap and below it, up to rounding; both ends of the uniforms."""
    log_p = np.float32(rng.normal(size=(600, m)) * 10.0 ** rng.uniform(-1, 2, (600, 1)))
    log_p[::3, : m // 2] = log_p[::3, :1]
    u = np.float32(rng.random((600, m - 1)) * (1 - 1e-7))
    u[:200], u[200:400] = 0.0, np.nextafter(np.float32(1.0), np.float32(0.0))

    @jax.jit
    @jax.vmap
    def draw(log_p, u):
        q = jnp.exp(simplex.kl_projection(log_p, k))
        return sampling.dep_round(q, k, u), sampling.systematic_sampling(q, k, u[0])

    for drawn in draw(log_p, u):
        drawn = np.asarray(drawn)
        assert np.all((drawn >= 0) & (drawn < m))
        assert all(len(set(row)) == k for row in drawn.tolist())


@pytest.mark.quick_cases("20")
@pytest.mark.parametrize("m", [2, 20])
def test_tsallis_weights_sum_to_one(m, rng):
    """Estimates as large as 1 / q, which the unbiased ones are."""
    q = rng.dirichlet(np.full(m, 0.2), 500) + 1e-6
    loss = np.zeros((500, m))
    loss[:, 0] = rng.uniform(-5, 1, 500) / q[:, 0]
    log_q, loss = np.float32(np.log(q / q.sum(1, keepdims=True))), np.float32(loss)
    after = np.exp(np.asarray(jax.jit(jax.vmap(lambda a, b: simplex.tsallis_step(a, b, 0.3)))(log_q, loss), float))
    np.testing.assert_allclose(after.sum(1), 1.0, atol=1e-6)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("m", [4, 20])
def test_the_largest_words_draw_a_group(m, rng):
    q = np.float32(rng.dirichlet(np.ones(m), size=2000))
    top = jnp.uint32(2**32 - 1)
    drawn = jax.jit(jax.vmap(lambda q: sampling.categorical(q, top, top)))(q)
    assert np.all((drawn >= 0) & (drawn < m))


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [SMD, Online, functools.partial(ATkROk, k=2), Soma],
    ids=["SMD", "Online", "ATkROk", "Soma"],
)
def test_long_runs_keep_the_weights_normalised_and_the_gap_positive(method, key):
    environment = as_arrays(SyntheticGroups.heterogeneous(dim=3, n_groups=4))
    algorithm = as_arrays(method(dim=3, n_groups=4, horizon=20_000, q_scale=1.0 if method is Soma else 10.0))
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
    cap = getattr(algorithm, "k", 1)
    assert np.max(np.exp(log_q)) <= 1.0 / cap * (1.0 + 2e-7)
    assert recorded["duality_gap"] > 0.0
    assert cap > 1 or recorded["duality_gap"] < 0.15  # of the problem without a cap
    assert recorded["max_risk"].dtype == np.float32


def test_known_values_of_h():
    h, slope = jax.jit(log_cosh.expected_log_cosh), jax.jit(log_cosh.expected_log_cosh_slope)
    values = [h(0.0), h(1.0), h(2.0), slope(1.0)]
    np.testing.assert_allclose(values, [np.log(2.0), 0.8060591833, 1.0677143881, 0.2066209641], rtol=5e-7)


@pytest.mark.slow
def test_two_orthogonal_groups():
    environment = as_arrays(SyntheticGroups(dim=2, n_groups=2, radius=np.inf))
    state = GroupsState(optima=jnp.eye(2), correct=jnp.full(2, 0.9), instance=jnp.zeros(4))
    recorded = jax.jit(environment.at_record)(state, (jnp.full(2, 0.806272), jnp.full(2, 0.5)))
    np.testing.assert_allclose(recorded["max_risk"], 0.579074, atol=1e-6)
    np.testing.assert_allclose(recorded["duality_gap"], 0.0, atol=5e-7)


def test_normals_keep_their_tails(key):
    normals, uniforms = jax.jit(lambda k: (rng.normals(k, 100, 20_001), rng.uniforms(k, 20_001)))(key)
    assert normals.dtype == uniforms.dtype == jnp.float32
    assert scipy.stats.kstest(np.asarray(normals, float).ravel(), "norm").pvalue > 1e-5
    far, p = np.mean(np.abs(normals) > 4.5), 2.0 * scipy.stats.norm.sf(4.5)
    assert abs(far - p) < 5.0 * np.sqrt(p / normals.size)
    assert np.all(np.isfinite(normals)) and np.all((uniforms > 0.0) & (uniforms < 1.0))
