"""OFU-ECOLog against its loop on fresh instances, a recorded trace, and the optimality of its implicit steps."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from jaxbandits.algorithms.glm.ecolog import ECOLog, ECOLogState
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.diagnostics import glm as glm_meters
from jaxbandits.environments.glm.generalized_linear import GeneralizedLinear
from jaxbandits.simulation import simulate
from tests.algorithms.glm.replay_glm import ROUNDS, agree, force, play
from tests.cholesky_factors import factors
from tests.reference import glb_omd, glm_one_pass

MU = glb_omd.FAMILIES["bernoulli"].mu


def fresh(seed, d, K, S):
    theta, X, rng = glb_omd.time_varying(seed, d, K, ROUNDS, S)
    return X, glb_omd.rewards("bernoulli", rng, X @ theta)


@pytest.mark.slow
@pytest.mark.parametrize("radius", ["ville", "code"])
@pytest.mark.parametrize(("d", "S", "ridge"), [(5, 5.0, 5.0), (1, 3.0, 1.0), (2, 3.0, 2.0), (20, 3.0, 2.0)])
def test_matches_the_reference(d, S, ridge, radius):
    X, R = fresh(d, d, 5, S)
    learner = glm_one_pass.ECOLog(d, S, lam=ridge, radius=radius)
    trace = play(ECOLog(dim=d, norm_bound=S, ridge=ridge, radius_rule=radius), X, R)
    agree(trace, X, R, learner)
    assert trace["gap"][-1] == pytest.approx(learner.cum, rel=1e-9)


@pytest.mark.slow
def test_public_code_matches_its_reference():
    """Radius, steps and score; the widths decide: the other score plays other arms."""
    X, R = fresh(5, 5, 5, 3.0)
    public = ECOLog.public(dim=5, norm_bound=3.0, delta=0.01)
    trace = play(public, X, R)
    learner = glm_one_pass.PublicECOLog(5, 3.0, delta=0.01)
    agree(trace, X, R, learner)
    assert 8.0 * trace["gap"][-1] == pytest.approx(learner.sum, rel=1e-9)  # 2 (1 + S) = 8
    other = play(dataclasses.replace(public, score="link"), X, R)
    assert np.any(other["index"] != trace["index"])


@pytest.mark.slow
@pytest.mark.parametrize("ridge", [1e-3, 0.05, 2.0])
def test_active_balls_and_small_ridges(ridge):
    """S far too small for the rewards: most steps end on the sphere; plain Newton cycles at small ridges."""
    rng = np.random.default_rng(int(1000 * ridge))
    xs = rng.normal(size=(ROUNDS, 3))
    xs *= (rng.random(ROUNDS) / np.linalg.norm(xs, axis=1))[:, None]
    rs = (rng.random(ROUNDS) < MU(8.0 * xs @ np.array([0.6, -0.8, 0.0]))).astype(float)
    trace = force(ECOLog(dim=3, norm_bound=0.7, ridge=ridge), xs, rs)
    learner = glm_one_pass.ECOLog(3, 0.7, lam=ridge)
    for t in range(ROUNDS):
        learner.update(xs[t], rs[t])
        np.testing.assert_allclose(trace["theta"][t], learner.theta, rtol=1e-9, atol=1e-9)
    norms = np.linalg.norm(trace["theta"], axis=1)
    assert norms.max() <= 0.7 * (1.0 + 1e-12) and np.mean(norms > 0.7 - 1e-9) > 0.2


@jax.jit
def _implicit(algorithm, theta, inverse, x, count, total):
    state = ECOLogState(theta, inverse, jnp.zeros(()))
    return algorithm.implicit_step(state, x, count, total)


@pytest.mark.parametrize("count", [1.0, 2.0])
def test_implicit_step_is_the_constrained_minimiser(count):
    """Against SLSQP on the true objective, and by the first-order condition: the gradient points out of the ball."""
    rng, S = np.random.default_rng(int(count)), 2.0
    algorithm, outside = as_arrays(ECOLog(dim=3, norm_bound=S)), 0
    for _ in range(60):
        root = rng.normal(size=(3, 3)) * 10.0 ** rng.uniform(-1.0, 1.0, 3)
        W = root @ root.T + 10.0 ** rng.uniform(-2.0, 0.5) * np.eye(3)
        theta = rng.normal(size=3)
        theta *= S * (1.0 - 0.03 * rng.random()) / np.linalg.norm(theta)
        x = rng.normal(size=3)
        x *= rng.random() / np.linalg.norm(x)
        total = float(rng.integers(2)) if count == 1.0 else 1.0
        got = np.asarray(_implicit(algorithm, theta, factors(W), x, count, total))

        def objective(th, W=W, theta=theta, x=x, total=total):
            return (th - theta) @ W @ (th - theta) / 6.0 + count * np.logaddexp(0.0, x @ th) - total * (x @ th)

        def gradient(th, W=W, theta=theta, x=x, total=total):
            return W @ (th - theta) / 3.0 + (count * MU(x @ th) - total) * x

        g, norm = gradient(got), np.linalg.norm(got)
        assert norm <= S * (1.0 + 1e-12)
        outside += norm > S * (1.0 - 1e-9)
        multiplier = -(g @ got) / norm**2 if norm > S * (1.0 - 1e-9) else 0.0
        assert multiplier >= -1e-9
        np.testing.assert_allclose(g + multiplier * got, 0.0, atol=1e-9 * (1.0 + np.linalg.norm(W)))
        ball = {"type": "ineq", "fun": lambda th: S**2 - th @ th, "jac": lambda th: -2.0 * th}
        best = minimize(objective, theta * 0.9, jac=gradient, constraints=ball, method="SLSQP", options={"ftol": 1e-14})
        assert objective(got) <= best.fun + 1e-9
    assert 5 <= outside <= 55


@pytest.mark.slow
@pytest.mark.parametrize(
    ("diameter", "arms", "regret", "theta", "radius"),
    [(6.0, "242103432132", 4.10783686, [-0.2011566848, 0.8621601715, -0.9460939479], 12.13644992)],
)
def test_recorded_trace(diameter, arms, regret, theta, radius):
    star, X, rng = glb_omd.time_varying(7, 3, 5, 12, 3.0)
    R = glb_omd.rewards("bernoulli", rng, X @ star)
    for algorithm in (
        ECOLog.experiments(dim=3, norm_bound=3.0, delta=0.05),
        ECOLog(dim=3, norm_bound=3.0, diameter=diameter),
    ):
        trace = play(algorithm, X, R)
        assert "".join(map(str, trace["index"])) == arms
        means = MU(X @ star)
        assert np.sum(means.max(axis=1) - means[np.arange(12), trace["index"]]) == pytest.approx(regret, abs=1e-8)
        np.testing.assert_allclose(trace["theta"][-1], theta, atol=1e-10)
        assert trace["radius"][-1] == pytest.approx(radius, abs=1e-8)


@pytest.mark.slow
def test_a_step_never_fits_worse_than_the_prediction():
    """With W = lambda I at the origin and no active ball, G grows: theta_{t+1} was chosen knowing the reward."""
    trace = force(ECOLog(dim=2, norm_bound=3.0), [[0.6, 0.8]], [1.0])
    # theta_bar = 0 by symmetry; theta_2 = s x with s lambda / (1 + S) = 1 - mu(s), lambda = 2, S = 3
    s = np.linalg.norm(trace["theta"][0])
    assert 2.0 * s / 4.0 == pytest.approx(1.0 - MU(s), rel=1e-12)
    assert trace["gap"][0] == pytest.approx(np.log(2.0) - np.log1p(np.exp(-s)), rel=1e-12)


@pytest.mark.slow
def test_rotation_and_permutation():
    X, R = fresh(5, 3, 5, 3.0)
    base = play(ECOLog(dim=3, norm_bound=3.0), X, R)
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    turned = play(ECOLog(dim=3, norm_bound=3.0), X @ Q.T, R)
    np.testing.assert_array_equal(turned["index"], base["index"])
    np.testing.assert_allclose(turned["theta"], base["theta"] @ Q.T, atol=1e-10)
    order = np.array([3, 0, 4, 1, 2])
    permuted = play(ECOLog(dim=3, norm_bound=3.0), X[:, order], R[:, order])
    np.testing.assert_array_equal(order[permuted["index"]], base["index"])


def test_unknown_radius_or_score():
    with pytest.raises(InputError, match=r"unknown ECOLog.score 'meen'; did you mean 'mean'"):
        validate(ECOLog(dim=2, score="meen"))
    with pytest.raises(InputError, match=r"unknown ECOLog.radius_rule 'vile'; did you mean 'ville'"):
        validate(ECOLog(dim=2, radius_rule="vile"))


@pytest.mark.slow
@pytest.mark.parametrize("radius", ["ville", "code"])
def test_coverage(radius):
    """theta* is inside every set of every run; the typical ratio says that the sets have the right size."""
    environment = GeneralizedLinear(dim=2, n_arms=10, fresh_arms=True, norm_bound=3.0)
    algorithm = ECOLog(dim=2, norm_bound=3.0, radius_rule=radius)
    result = simulate(algorithm, environment, 300, 64, record_points=1, meters=[glm_meters.coverage()], progress=False)
    ratio = result.final("error_ratio")[0]
    assert ratio.max() < 1.0 and 0.12 < np.median(ratio) < 0.7
