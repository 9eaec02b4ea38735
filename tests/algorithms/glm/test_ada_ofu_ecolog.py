"""ada-OFU-ECOLog against a loop with general solvers, against ECOLog where nothing is uncertain, and its promises."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit

from jaxbandits.algorithms.glm.ada_ofu_ecolog import AdaOFUECOLog
from jaxbandits.algorithms.glm.ecolog import ECOLog
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.diagnostics import glm as glm_meters
from jaxbandits.environments.glm.generalized_linear import GeneralizedLinear
from jaxbandits.numerics import inverse_factors
from jaxbandits.numerics.projection import project_ball, project_ball_and_ellipsoid
from jaxbandits.simulation import simulate
from jaxbandits.testing import contract
from jaxbandits.types import ArmObs, Reward
from tests.reference import ada_ofu_ecolog, glb_omd

KEY, ROUNDS, ARMS = jax.random.key(0), 60, 5


@jax.jit
def _play(algorithm, arms, rewards):
    def round_(state, row):
        t, x, r = row
        obs = ArmObs(arms if arms.ndim == 2 else x)
        decision = algorithm.select(KEY, t, state, obs)
        radius = algorithm.radius(t, state)
        state = algorithm.update(KEY, t, state, obs, decision, Reward(r[decision.index]))
        seen = {"theta": state.theta, "inverse": inverse_factors.to_dense(state.inverse), "gap": state.gap}
        if isinstance(algorithm, AdaOFUECOLog):
            warm = state.warmup
            seen |= {"gram": state.gram, "count": warm.count, "warm_theta": warm.theta, "warm_gram": warm.gram}
            seen |= {"width": algorithm.warmup_radius(warm.count)}
        return state, seen | {"index": decision.index, "radius": radius}

    rounds = jnp.arange(len(rewards), dtype=jnp.int32)
    return jax.lax.scan(round_, algorithm.init(KEY), (rounds, None if arms.ndim == 2 else arms, rewards))[1]


def play(algorithm, arms, rewards):
    """Over arms [T, K, d], or [K, d] for all rounds, and rewards [T, K]: what was seen in every round."""
    trace = _play(as_arrays(algorithm), jnp.asarray(arms), jnp.asarray(rewards))
    return {name: np.asarray(values) for name, values in trace.items()}


def fresh(seed, d, S):
    theta, X, rng = glb_omd.time_varying(seed, d, ARMS, ROUNDS, S)
    return X, glb_omd.rewards("bernoulli", rng, X @ theta)


@pytest.mark.slow
@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize(
    ("d", "S", "ridge", "scale"),
    [(3, 3.0, 0.3, 7e-4), (2, 3.0, 0.6, 4e-3), (2, 7.0, 1.0, 6.5e-3), (3, 7.0, 2.0, 8e-3)],
)
def test_matches_the_reference(d, S, ridge, scale, fixed):
    """Round by round, with small ridges, so that steps are long, and a small set, so that it binds."""
    X, R = fresh(10 * d + int(S), d, S)
    X = X / np.linalg.norm(X, axis=-1, keepdims=True)
    X = X[:1].repeat(ROUNDS, axis=0) if fixed else X
    own = {"norm_bound": S, "ridge": ridge, "warmup_scale": scale}
    algorithm = AdaOFUECOLog(dim=d, n_arms=ARMS, **own) if fixed else AdaOFUECOLog(dim=d, capacity=ROUNDS, **own)
    trace = play(algorithm, X[0] if fixed else X, R)
    learner, bound = ada_ofu_ecolog.AdaOFUECOLog(d, S, lam=ridge, warmup_scale=scale), 0
    for t in range(ROUNDS):
        np.testing.assert_allclose(trace["radius"][t], learner.sigma(), rtol=1e-9)
        k, scores = trace["index"][t], learner.scores(X[t])
        if np.diff(np.sort(scores))[-1] > 1e-6:
            assert k == np.argmax(scores)
        learner.update(X[t, k], R[t, k])
        assert abs(learner.margin - 1.0) > 1e-6  # otherwise rounding could decide
        assert trace["count"][t] == len(learner.r)
        np.testing.assert_allclose(trace["theta"][t], learner.theta, atol=1e-9)
        np.testing.assert_allclose(trace["warm_theta"][t], learner.theta_H, atol=1e-9)
        np.testing.assert_allclose(trace["warm_gram"][t], learner.metric, rtol=1e-12)
        np.testing.assert_allclose(trace["gram"][t], learner.W, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(trace["inverse"][t] @ trace["gram"][t], np.eye(d), atol=1e-9)
        assert trace["gap"][t] == pytest.approx(learner.cum, abs=1e-9)
        if learner.r:
            assert trace["width"][t] == pytest.approx(learner.width(), rel=1e-12)
            shift = learner.theta - learner.theta_H
            bound += np.sqrt(shift @ learner.metric @ shift) > learner.width() * (1.0 - 1e-9)
    assert 1 <= len(learner.r) <= ROUNDS - 5 and bound >= 5


@pytest.mark.slow
@pytest.mark.parametrize(("d", "S"), [(2, 3.0), (5, 5.0), (20, 3.0)])
def test_without_uncertain_rounds_it_is_ecolog(d, S):
    X, R = fresh(d, d, S)
    ada = play(AdaOFUECOLog(dim=d, capacity=ROUNDS, norm_bound=S, curvature_ratio=1e9), X, R)
    plain = play(ECOLog(dim=d, norm_bound=S), X, R)
    assert not ada["count"].any()
    np.testing.assert_array_equal(ada["index"], plain["index"])
    for name in ("theta", "inverse", "gap", "radius"):
        np.testing.assert_allclose(ada[name], plain[name], rtol=1e-12, atol=1e-13)


@pytest.mark.slow
def test_theta_stays_in_its_set():
    """Whatever the rewards: in the ball, and in the ellipsoid of the warm-up rounds; W grows in the others only."""
    rng = np.random.default_rng(4)
    for S, ridge, scale in ((3.0, 0.3, 5e-4), (7.0, 2.0, 8e-3)):
        X = rng.normal(size=(ROUNDS, ARMS, 3))
        X /= np.linalg.norm(X, axis=-1, keepdims=True)
        R = rng.integers(2, size=(ROUNDS, ARMS)).astype(float)
        algorithm = AdaOFUECOLog(dim=3, capacity=ROUNDS, norm_bound=S, ridge=ridge, warmup_scale=scale)
        trace = play(algorithm, X, R)
        assert np.linalg.norm(trace["theta"], axis=1).max() <= S * (1.0 + 1e-12)
        shift = trace["theta"] - trace["warm_theta"]
        length = np.sqrt(np.einsum("ti,tij,tj->t", shift, trace["warm_gram"], shift))
        assert (length <= trace["width"] * (1.0 + 1e-12)).all() and (length > trace["width"] * (1.0 - 1e-9)).any()
        warm = np.diff(trace["count"], prepend=0.0) > 0.0
        assert 0 < warm.sum() < ROUNDS
        traces = np.trace(trace["gram"], axis1=1, axis2=2)
        np.testing.assert_array_equal(np.diff(traces, prepend=3.0 * ridge) > 1e-12, ~warm)


@pytest.mark.slow
def test_a_warm_up_round_by_hand():
    """d = 1, where a set is an interval: the first reward is uncertain, and the estimate moves to the near end."""
    S, ridge, scale = 7.0, 0.01, 2e-6
    algorithm = AdaOFUECOLog(dim=1, capacity=1, norm_bound=S, ridge=ridge, warmup_scale=scale)
    trace = play(algorithm, np.ones((1, ARMS, 1)), np.ones((1, ARMS)))
    # theta^1 solves ridge th / 8 = 1 - mu(th), theta_bar = 0: mu' falls from 1/4 by far more than 2
    assert trace["count"][0] == 1.0 and trace["gap"][0] == 0.0
    star = trace["warm_theta"][0, 0]
    assert ridge * star == pytest.approx(expit(-star), rel=1e-9) and 0.0 < star < S
    metric = ridge + 1.0 / (2.0 + 2.0 * np.cosh(S))
    gamma = 0.1 * 7.5 + 10.0 * np.log(80.0 * (1.0 + 2.0 / 0.16))
    width = scale * (gamma + gamma**2 / 0.1)
    assert trace["width"][0] == pytest.approx(width, rel=1e-12)
    end = star - width / np.sqrt(metric)
    assert end > 0.0 and trace["theta"][0, 0] == pytest.approx(end, abs=1e-11)


@jax.jit
def _cut(v, y, radius, metric, center, width):
    v, metric, inverse = v, metric, jnp.linalg.inv(v)
    both = project_ball_and_ellipsoid(v, inverse, y, radius, metric, center, width)
    return both, project_ball(inverse, y, radius)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("d", [3, 1, 2, 14])
def test_projection_meets_the_optimality_conditions(d):
    """The gradient is a nonnegative combination of the normals of the constraints that bind; all four cases occur."""
    rng, cases = np.random.default_rng(d), set()
    for _ in range(100):
        roots = rng.normal(size=(2, d, d)) * 10.0 ** rng.uniform(-1.0, 1.0, (2, 1, d))
        v, metric = roots @ roots.mT + 10.0 ** rng.uniform(-2.0, 0.0) * np.eye(d)
        y, center = rng.normal(size=d) * 10.0 ** rng.uniform(-1.0, 1.0), rng.normal(size=d)
        center *= rng.random() / np.linalg.norm(center)
        width = 10.0 ** rng.uniform(-1.5, 0.7)
        x, ball = (np.asarray(a) for a in _cut(v, y, 1.0, metric, center, width))
        length = np.sqrt((x - center) @ metric @ (x - center))
        assert np.linalg.norm(x) <= 1.0 + 1e-12 and length <= width * (1.0 + 1e-11)  # rounding of x, seen by M
        on_sphere, on_ellipsoid = np.linalg.norm(x) > 1.0 - 1e-9, length > width * (1.0 - 1e-9)
        cases.add((on_sphere, on_ellipsoid))
        if not on_ellipsoid:
            np.testing.assert_array_equal(x, ball)
        gradient = v @ (x - y)
        normals = np.stack([x * on_sphere, metric @ (x - center) * on_ellipsoid], axis=1)
        multipliers = np.linalg.lstsq(normals, -gradient, rcond=1e-12)[0]
        scale = np.linalg.norm(v) * (1.0 + np.linalg.norm(y))
        assert multipliers.min() >= -1e-7 * scale
        np.testing.assert_allclose(normals @ multipliers, -gradient, atol=1e-8 * scale)
    assert len(cases) == 4 or (d == 1 and len(cases) == 3)


@pytest.mark.slow
def test_projection_without_an_ellipsoid_is_that_on_the_ball():
    rng = np.random.default_rng(0)
    root, y = rng.normal(size=(3, 3)), rng.normal(size=3) * 3.0
    both, ball = _cut(root @ root.T + np.eye(3), y, 1.0, np.eye(3), np.zeros(3), np.inf)
    np.testing.assert_array_equal(both, ball)


def test_input():
    with pytest.raises(InputError, match="AdaOFUECOLog needs either n_arms"):
        validate(AdaOFUECOLog(dim=2))


@pytest.mark.slow
def test_contract_with_arms_that_change():
    learner = AdaOFUECOLog(dim=3, capacity=400, norm_bound=3.0, ridge=0.1, warmup_scale=0.05)
    contract.check_algorithm(learner, GeneralizedLinear(dim=3, n_arms=ARMS, fresh_arms=True, norm_bound=3.0))


@pytest.mark.slow
@pytest.mark.parametrize("ridge", [0.3, 2.0])
def test_coverage(ridge):
    """theta* is in both sets of every round of every run, with warm-up rounds and with few."""
    environment = GeneralizedLinear(dim=2, n_arms=10, fresh_arms=True, norm_bound=3.0)
    algorithm = AdaOFUECOLog(dim=2, capacity=300, norm_bound=3.0, ridge=ridge)
    result = simulate(algorithm, environment, 300, 64, record_points=1, meters=[glm_meters.coverage()], progress=False)
    ratio = result.final("error_ratio")[0]
    assert ratio.max() < 1.0 and np.median(ratio) > 0.05
