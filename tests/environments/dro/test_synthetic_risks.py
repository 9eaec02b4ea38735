"""Exact risks of synthetic groups against samples and quadrature, the duality gap at the saddle."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

from jaxbandits.algorithms.dro.online import Online
from jaxbandits.algorithms.dro.smd import SMD
from jaxbandits.base.pytree import as_arrays
from jaxbandits.environments.dro import log_cosh
from jaxbandits.environments.dro.synthetic_groups import GroupsState, SyntheticGroups
from jaxbandits.types import narrow
from tests import compiled
from tests.environments.dro.groups import HALF_NORMAL, evaluate, least_risk_of, risks_of, slopes_of, step


def two_groups(correct=0.9):
    """Two orthogonal groups of equal difficulty."""
    state = GroupsState(optima=jnp.eye(2), correct=jnp.full(2, correct), instance=jnp.zeros(4))
    return as_arrays(SyntheticGroups(dim=2, n_groups=2, radius=np.inf)), state


def saddle(environment, state):
    """`(w, q)` from the quadratic program for q, by SLSQP, and the best norm along its direction, by Brent."""
    a = (np.asarray(state.correct) - 0.5)[:, None] * np.asarray(state.optima)
    m = len(a)
    found = scipy.optimize.minimize(
        lambda q: 50.0 * np.sum((q @ a) ** 2),
        np.full(m, 1.0 / m),
        jac=lambda q: 100.0 * a @ (q @ a),
        bounds=[(0.0, 1.0)] * m,
        constraints={"type": "eq", "fun": lambda q: q.sum() - 1.0, "jac": lambda q: np.ones(m)},
        options={"ftol": 1e-15, "maxiter": 500},
    )
    pull = found.x @ a
    norm = np.linalg.norm(pull)
    s = scipy.optimize.minimize_scalar(
        lambda s: quadrature(s)[0] - HALF_NORMAL * s * norm,
        bounds=(0.0, 20.0),
        options={"xatol": 1e-9},
        method="bounded",
    )
    return s.x * pull / norm, found.x


def quadrature(s):
    """H(s) and H'(s) by adaptive quadrature of their definitions."""

    def density(g):
        return 2.0 * np.exp(-g * g / 2.0) / np.sqrt(2.0 * np.pi)

    value = scipy.integrate.quad(lambda g: density(g) * np.logaddexp(s * g / 2, -s * g / 2), 0, 12, epsabs=1e-14)[0]
    slope = scipy.integrate.quad(lambda g: density(g) * g / 2 * np.tanh(s * g / 2), 0, 12, epsabs=1e-14)[0]
    return value, slope


def test_known_values_of_h():
    h, slope = log_cosh.expected_log_cosh, log_cosh.expected_log_cosh_slope
    np.testing.assert_allclose(
        [h(0.0), h(1.0), h(2.0), slope(1.0)],
        [np.log(2.0), 0.8060591833, 1.0677143881, 0.2066209641],
        rtol=0,
        atol=5e-11,
    )


@pytest.mark.parametrize("s", [0.0, 1e-3, 0.5, 2.3, 5.0, 8.0, 30.0, 300.0])
def test_h_equals_quadrature_for_every_norm(s):
    value, slope = quadrature(s)
    np.testing.assert_allclose(log_cosh.expected_log_cosh(s), value, rtol=2e-13)
    np.testing.assert_allclose(log_cosh.expected_log_cosh_slope(s), slope, rtol=2e-13, atol=1e-15)


@pytest.mark.slow_cases("0.85-1.66331-0.505033")
@pytest.mark.parametrize(
    ("correct", "norm", "risk"),
    [(0.6, 0.327497, 0.680250), (0.85, 1.663310, 0.505033), (0.9, 2.304624, 0.427027), (0.95, 3.647086, 0.312574)],
)
def test_single_group_optimum(correct, norm, risk):
    environment, state = two_groups(correct)
    q = jnp.array([1.0, 0.0])
    np.testing.assert_allclose(least_risk_of(environment, state, q), risk, atol=5e-7)
    w = jnp.array([norm, 0.0])
    np.testing.assert_allclose(risks_of(environment, state, w)[0], risk, atol=5e-7)
    np.testing.assert_allclose(slopes_of(environment, state, w)[0], 0.0, atol=5e-7)


def test_two_orthogonal_groups():
    environment, state = two_groups()
    w, q = jnp.full(2, 0.806272), jnp.full(2, 0.5)
    recorded = evaluate(environment, state, w, q)
    np.testing.assert_allclose(recorded["max_risk"], 0.579074, atol=5e-7)
    assert 0.0 <= recorded["duality_gap"] < 1e-12
    np.testing.assert_allclose(saddle(environment, state)[0], w, atol=5e-7)


@pytest.mark.quick_cases("4-3-heterogeneous")
@pytest.mark.parametrize("preset", [SyntheticGroups.homogeneous, SyntheticGroups.heterogeneous])
@pytest.mark.parametrize(("d", "m"), [(4, 3), (50, 20)])
def test_gap_is_zero_at_the_saddle_and_positive_elsewhere(preset, d, m, rng, key):
    environment = as_arrays(preset(dim=d, n_groups=m, radius=np.inf))
    state = compiled.init(environment, key)
    w, q = saddle(environment, state)
    best = evaluate(environment, state, w, q)
    assert -1e-12 <= best["duality_gap"] < 1e-6
    others = rng.dirichlet(np.ones(m), size=30), w + 0.1 * rng.normal(size=(30, d))
    recorded = jax.vmap(evaluate, in_axes=(None, None, 0, 0))(environment, state, others[1], others[0])
    assert np.all(recorded["duality_gap"] > best["duality_gap"])
    assert np.all(recorded["max_risk"] >= best["max_risk"] - 1e-6)
    assert np.all(recorded["mean_risk"] <= recorded["max_risk"])


def test_least_risk_over_a_ball(rng):
    """Radii on both sides of the unconstrained optimum's norm, 2.3046, against a search along its direction."""
    _, state = two_groups()
    q = jnp.array([1.0, 0.0])
    for radius in (0.5, 2.0, 2.3, 2.4, 10.0):
        environment = as_arrays(SyntheticGroups(dim=2, n_groups=2, radius=radius))
        s = np.linspace(0.0, radius, 4001)
        risks = jax.vmap(risks_of, in_axes=(None, None, 0))(environment, state, np.stack([s, 0.0 * s], 1))[:, 0]
        least = least_risk_of(environment, state, q)
        np.testing.assert_allclose(least, np.min(risks), atol=1e-6)
        assert least <= np.min(risks) + 1e-13


@pytest.mark.slow
@pytest.mark.parametrize("d", [3, 15])
def test_risks_equal_sample_means(d, rng, key):
    """Closed-form risks and their gradients within 4.5 standard errors of what `step` returns."""
    environment = as_arrays(SyntheticGroups.heterogeneous(dim=d, n_groups=4))
    state = compiled.init(environment, key)
    w, n = jnp.asarray(rng.normal(size=d)), 20_000
    group = jnp.array([0, 1, 2, 3, 3])
    play = jax.jit(jax.vmap(lambda k: step(environment, k, state, w, group, None)[1]))
    feedback = play(jax.random.split(key, n))
    risks, slopes = risks_of(environment, state, w), slopes_of(environment, state, w)
    for sampled, exact in [(feedback.loss, risks[group]), (feedback.grad, slopes[group])]:
        sampled = np.asarray(sampled)
        error = np.abs(sampled.mean(0) - exact)
        assert np.all(error < 4.5 * sampled.std(0) / np.sqrt(n))


@jax.jit
def play(algorithm, environment, keys):
    """The exact duality gap of every trial after `algorithm.horizon` rounds."""

    def round_(t, carry, env_state):
        key, state = carry
        key, select, draw = jax.random.split(key, 3)
        decision = algorithm.select(select, t, state, None)
        _, feedback, _ = environment.step(draw, t, env_state, None, decision)
        return key, algorithm.update(key, t, state, None, decision, narrow(feedback, algorithm.feedback))

    def start(key):
        for_env, for_alg, for_loop = jax.random.split(key, 3)
        return environment.init(for_env), (for_loop, algorithm.init(for_alg))

    env_states, carry = jax.vmap(start)(keys)
    step_all = jax.vmap(round_, in_axes=(None, 0, 0))
    horizon = algorithm.horizon.astype(int)
    _, states = jax.lax.fori_loop(0, horizon, lambda t, carry: step_all(t, carry, env_states), carry)
    return jax.vmap(lambda e, s: environment.at_record(e, algorithm.recommend(s))["duality_gap"])(env_states, states)


@pytest.mark.slow
@pytest.mark.parametrize("method", [Online, SMD])
def test_gap_falls_with_the_horizon(method, key):
    """At the theorem's steps, to less than 0.6 of itself when the horizon grows sixteenfold."""
    environment = as_arrays(SyntheticGroups.homogeneous(dim=4, n_groups=5))
    keys = jax.random.split(key, 40)
    short, long = (
        np.asarray(play(as_arrays(method(dim=4, n_groups=5, horizon=horizon)), environment, keys))
        for horizon in (500, 8000)
    )
    assert np.all(long > 0.0)
    assert max(np.std(g) / np.mean(g) / np.sqrt(40) for g in (short, long)) < 0.15  # the means are known well enough
    assert np.mean(long) < 0.6 * np.mean(short)
