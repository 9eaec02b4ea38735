"""The maximum-likelihood learners in float32 (a process without x64), against the float64 reference."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.glm.glm_ucb import GLMUCB
from jaxbandits.algorithms.glm.ofuglb import OFUGLB
from jaxbandits.algorithms.glm.ofulog_r import OFULogR
from jaxbandits.algorithms.glm.rs_glincb import RSGLinCB
from jaxbandits.base.pytree import as_arrays
from jaxbandits.estimation.links import Bernoulli, Gaussian, Poisson
from tests.algorithms.glm.replay_mle import fixed_instance, play
from tests.reference import glb_omd, glm_mle

ROUNDS, ARMS = 200, 5
LINKS = {"gaussian": Gaussian(), "bernoulli": Bernoulli(), "poisson": Poisson()}
FAMILIES = glb_omd.FAMILIES


def instance(name, d, S):
    """Arms and rewards that float32 holds exactly."""
    _, X, R = fixed_instance(3, d, ARMS, ROUNDS, S, name)
    return X.astype(np.float32).astype(np.float64), R.astype(np.float32).astype(np.float64)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "name", "d", "S", "atol"),
    [
        ("glm_ucb", "gaussian", 3, 2.0, 1e-5),
        ("glm_ucb", "bernoulli", 5, 5.0, 1e-5),
        ("glm_ucb", "poisson", 2, 5.0, 1e-5),
        ("glm_ucb-det", "bernoulli", 3, 3.0, 1e-5),
        ("glm_ucb-history", "bernoulli", 2, 3.0, 1e-5),
        ("ofulog_r", "bernoulli", 2, 3.0, 1e-5),
        ("ofuglb", "gaussian", 2, 2.0, 1e-4),
        ("ofuglb", "bernoulli", 5, 5.0, 1e-4),
        ("ofuglb", "poisson", 2, 3.0, 1e-4),
        ("ofuglb", "poisson", 2, 5.0, 5e-4),  # 1e-4 of S: no ridge, totals of thousands
    ],
)
def test_follows_the_float64_reference(method, name, d, S, atol):
    """Estimates to `atol`, radii to 1e-6, and every score x'theta to 1e-4 of its largest value S ||x||."""
    X, R = instance(name, d, S)
    common, f = {"dim": d, "n_arms": ARMS, "norm_bound": S}, FAMILIES[name]
    learner, reference = {
        "glm_ucb": (GLMUCB(**common, link=LINKS[name], horizon=ROUNDS), glm_mle.GLMUCB(f, d, S, T=ROUNDS)),
        "glm_ucb-det": (
            GLMUCB(**common, horizon=ROUNDS, radius_rule="det", noise_scale=0.5),
            glm_mle.GLMUCB(f, d, S, "det", R_sub=0.5),
        ),
        "glm_ucb-history": (
            GLMUCB(**common | {"n_arms": None, "capacity": ROUNDS}, horizon=ROUNDS),
            glm_mle.GLMUCB(f, d, S, T=ROUNDS),
        ),
        "ofuglb": (OFUGLB(**common, link=LINKS[name]), glm_mle.OFUGLB(f, d, S, name)),
        "ofulog_r": (OFULogR(**common), glm_mle.OFULogR(f, d, S)),
    }[method]
    trace = play(learner, np.broadcast_to(X, (ROUNDS, *X.shape)) if "history" in method else X, R)
    assert all(a.dtype == np.float32 for a in trace.values() if a.dtype != np.int32)
    for t, k in enumerate(trace["index"]):
        late = t % 50 == 49
        if late:
            assert trace["radius"][t] == pytest.approx(reference.beta(), rel=1e-6)
        if late and "points" in trace:
            loss, centre = reference.loss(), reference.theta()
            ball = S if method == "ofuglb" else None
            for x, point in zip(X, trace["points"][t], strict=True):
                top = glm_mle.maximise(loss, centre, reference.beta() ** 2, x, ball)
                assert abs(top - x @ point) < 1e-4 * S * np.linalg.norm(x)
        reference.update(X[k], R[t, k])
        if late:
            np.testing.assert_allclose(trace["theta"][t], reference.theta(), atol=atol)


@pytest.mark.quick_cases("poisson-1.5-4.4816890703380645")
@pytest.mark.parametrize(
    ("name", "S", "kappa"),
    [("gaussian", 2.0, 1.0), ("bernoulli", 3.0, 2.0 + 2.0 * np.cosh(3.0)), ("poisson", 1.5, np.exp(1.5))],
)
def test_rs_glincb_follows_the_float64_reference(name, S, kappa):
    X, R = instance(name, 2, S)
    learner = RSGLinCB.practical(dim=2, n_arms=ARMS, norm_bound=S, link=LINKS[name], horizon=ROUNDS)
    constants = {"gamma": 1 / 25, "beta": 4 / 150, "ratio": 1.5, "lam": 0.5, "discount": 1.0}
    constants |= {"centre": "mean", "reuse": True}
    threshold = 100.0 / (kappa * S**2 * 2.0)
    reference = glm_mle.RSGLinCB(FAMILIES[name], 2, S, ROUNDS, kappa=kappa, threshold=threshold, **constants)
    trace = play(learner, X, R)
    for t, k in enumerate(trace["index"]):
        scores = reference.begin(X)
        assert scores[k] > scores.max() - 1e-4
        reference.end(X, k, R[t, k])
        reference.refit()  # the same rule, asked when the round ends
        np.testing.assert_allclose(trace["theta_o"][t], reference.th_o, atol=1e-4)
        np.testing.assert_allclose(trace["theta_tau"][t], reference.th_tau, atol=1e-4)
    assert reference.refits >= 2


@pytest.mark.slow
def test_rs_glincb_with_the_constants_of_its_theorem():
    """All warm-up at this length: the longest directions are played, and the estimate is that of those rounds."""
    X, R = instance("bernoulli", 2, 3.0)
    learner = RSGLinCB(dim=2, n_arms=ARMS, norm_bound=3.0, horizon=ROUNDS)
    reference = glm_mle.RSGLinCB(FAMILIES["bernoulli"], 2, 3.0, ROUNDS, kappa=2.0 + 2.0 * np.cosh(3.0))
    trace = play(learner, X, R)
    for t, k in enumerate(trace["index"]):
        scores = reference.begin(X)
        assert scores[k] > scores.max() * (1.0 - 1e-5)
        reference.end(X, k, R[t, k])
        if t % 10 == 9:
            np.testing.assert_allclose(trace["theta_o"][t], reference.th_o, atol=1e-4)
    assert reference.warm.all() and not trace["theta_tau"].any()


def test_residues_of_long_runs_stay_small():
    """3000 rounds of Bernoulli rewards, arms that change: no NaN, and the estimate still makes the gradient vanish."""
    _, X, rng = glb_omd.time_varying(1, 2, ARMS, 3000, 3.0)
    R = glb_omd.rewards("bernoulli", rng, X @ np.array([3.0, 0.0]))
    X = X.astype(np.float32).astype(np.float64)
    trace = play(GLMUCB(dim=2, capacity=3000, norm_bound=3.0, horizon=3000), X, R)
    index = np.arange(3000), trace["index"]
    loss = glm_mle.Loss(FAMILIES["bernoulli"], X[index], R[index], 2.0 * np.log(3002.0))
    theta = trace["theta"][-1].astype(np.float64)
    newton_step = np.linalg.solve(loss.hessian(theta), loss.gradient(theta))
    assert np.abs(newton_step).max() < 1e-5


@pytest.mark.parametrize("ridge", [0.3, 3.0, 7.0, None])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_radius_from_the_determinant_with_delta_1(dim, ridge):
    """Before the first round log det V_1 - d log lambda is 0; if it rounds to a negative number, there is no root."""
    fields = {} if ridge is None else {"ridge": ridge}
    learner = as_arrays(GLMUCB(dim=dim, n_arms=2, horizon=9, radius_rule="det", delta=1.0, norm_bound=0.5, **fields))
    for t in range(3):
        lam = dim * np.log(2.0 + t) if ridge is None else ridge
        radius = learner.radius(jnp.int32(t), learner.init(None))
        assert radius.dtype == jnp.float32
        np.testing.assert_allclose(radius, np.sqrt(lam) * 0.5, atol=3e-3)
