"""GLOC against its loop on fresh instances, a recorded trace, and what its confidence set promises."""

import jax
import numpy as np
import pytest

from jaxbandits.algorithms.glm.gloc import GLOC
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import validate
from jaxbandits.diagnostics import glm as glm_meters
from jaxbandits.environments.glm.generalized_linear import GeneralizedLinear
from jaxbandits.estimation.links import Bernoulli, Exponential, Gaussian, Poisson
from jaxbandits.simulation import simulate
from tests.algorithms.glm.replay_glm import ROUNDS, agree, force, play
from tests.reference import glb_omd, glm_one_pass

LINKS = {"gaussian": Gaussian(variance=0.5), "bernoulli": Bernoulli(), "poisson": Poisson()}
FAMILIES = glb_omd.FAMILIES | {"gaussian": glb_omd.gaussian(0.5)}
BOUNDS = {"gaussian": 2.0, "bernoulli": 3.0, "poisson": 1.0}
NOISE = {"gaussian": np.sqrt(0.5), "bernoulli": 0.5, "poisson": np.exp(0.5)}


def fresh(name, seed, d, K):
    theta, X, rng = glb_omd.time_varying(seed, d, K, ROUNDS, BOUNDS[name])
    return X, glb_omd.rewards(name, rng, X @ theta, g=FAMILIES[name].g)


@pytest.mark.slow
@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize(("d", "K"), [(5, 5), (1, 5), (2, 5), (20, 5)])
def test_matches_the_reference(name, d, K):
    for seed, ridge in [(d, float(d)), (100 + d, 0.3)]:
        X, R = fresh(name, seed, d, K)
        algorithm = GLOC(dim=d, link=LINKS[name], norm_bound=BOUNDS[name], ridge=ridge)
        learner = glm_one_pass.GLOC(FAMILIES[name], d, BOUNDS[name], NOISE[name], lam=ridge)
        trace = play(algorithm, X, R)
        agree(trace, X, R, learner)
        np.testing.assert_allclose(trace["learner"][-1], learner.w, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(trace["residual"][-1], learner.zz - learner.theta @ learner.b, rtol=1e-9, atol=1e-9)


def test_projection_is_active_in_the_matrix_norm():
    """Rewards far too large keep the online Newton iterate on the sphere, on another point than rescaling gives."""
    rng = np.random.default_rng(0)
    xs = rng.normal(size=(ROUNDS, 3)) * np.array([1.0, 0.3, 0.05])
    xs /= np.maximum(1.0, np.linalg.norm(xs, axis=1))[:, None]
    rs = np.floor(rng.uniform(0.0, 30.0, ROUNDS))
    algorithm = GLOC(dim=3, link=Poisson(), norm_bound=1.0)
    learner = glm_one_pass.GLOC(FAMILIES["poisson"], 3, 1.0, np.exp(0.5))
    trace = force(algorithm, xs, rs)
    assert np.mean(np.linalg.norm(trace["learner"], axis=1) > 1.0 - 1e-9) > 0.5
    for t in range(ROUNDS):
        learner.update(xs[t], rs[t])
        np.testing.assert_allclose(trace["learner"][t], learner.w, atol=1e-9)


def test_recorded_trace():
    star, X, rng = glb_omd.time_varying(7, 3, 5, 12, 3.0)
    R = glb_omd.rewards("bernoulli", rng, X @ star)
    trace = play(GLOC.experiments(dim=3, norm_bound=3.0, delta=0.05), X, R)
    assert "".join(map(str, trace["index"])) == "242313022132"
    means = FAMILIES["bernoulli"].mu(X @ star)
    assert np.sum(means.max(axis=1) - means[np.arange(12), trace["index"]]) == pytest.approx(3.69403744, abs=1e-8)
    np.testing.assert_allclose(trace["theta"][-1], [0.0527823691, 0.6959824251, -0.3735423361], atol=1e-10)
    assert trace["radius"][-1] == pytest.approx(112.55178167, abs=1e-8)


def test_first_radius_by_hand():
    """Gaussian, k = R = 1: B_1 = 2 lambda S^2, then the formula with lambda = 2, S = 1.5, delta = 0.1."""
    algorithm = GLOC(dim=2, link=Gaussian(), norm_bound=1.5, ridge=2.0, delta=0.1)
    expected = 4.5 + 1.0 + 36.0 + 8.0 * np.log(20.0 * np.sqrt(1.0 + 18.0 + 400.0))
    radius = algorithm.radius(0, algorithm.init(jax.random.key(0)))
    assert float(radius) == pytest.approx(np.sqrt(expected), rel=1e-14)


def test_given_constants_are_used():
    """Covertype's kappa = 200 instead of the curvature of the ball; half the radius."""
    key = jax.random.key(0)
    base = GLOC(dim=2, norm_bound=6.0, noise_scale=0.5, curvature=1.0 / 200.0)
    state = base.init(key)
    assert float(state.regret_bound) == pytest.approx(2.0 / 200.0 * 36.0 * 2.0)
    half = GLOC(dim=2, norm_bound=6.0, noise_scale=0.5, curvature=1.0 / 200.0, beta_scale=0.5)
    np.testing.assert_allclose(half.radius(0, state), 0.5 * base.radius(0, state), rtol=1e-14)


@pytest.mark.quick_cases("bernoulli")
@pytest.mark.parametrize("name", ["gaussian", "bernoulli"])
def test_regret_bound_of_the_learner_holds_on_every_trace(name):
    """Sum of the online Newton step's losses minus those of any comparator is at most B (its defining property)."""
    family, S, rng = FAMILIES[name], BOUNDS[name], np.random.default_rng(3)
    xs = rng.normal(size=(ROUNDS, 3))
    xs /= np.maximum(1.0, np.linalg.norm(xs, axis=1))[:, None]
    rs = np.sign(rng.normal(size=ROUNDS)) if name == "gaussian" else (rng.random(ROUNDS) < 0.5).astype(float)
    trace = force(GLOC(dim=3, link=LINKS[name], norm_bound=S, ridge=0.5), xs, rs)
    before = np.vstack([np.zeros(3), trace["learner"][:-1]])

    def losses(thetas):
        z = np.einsum("td,td->t", xs, thetas)
        return family.m(z) - rs * z

    for _ in range(40):
        star = rng.normal(size=3)
        star *= S * rng.random() ** (1 / 3) / np.linalg.norm(star)
        regret = np.cumsum(losses(before) - losses(np.tile(star, (ROUNDS, 1))))
        assert np.all(regret <= trace["regret_bound"] + 1e-9)


def test_input():
    with pytest.raises(InputError, match=r"GLOC.link must be an object such as"):
        validate(GLOC(dim=2, link=0.5))
    with pytest.raises(InputError, match="GLOC needs a link that is defined around 0, but Exponential is not"):
        validate(GLOC(dim=2, link=Exponential(), noise_scale=1.0, curvature=0.1))
    with pytest.raises(InputError, match=r"GLOC.curvature must lie in \(0, inf\)"):
        validate(GLOC(dim=2, curvature=0.0))


def test_error_ratio_is_the_definition():
    algorithm = GLOC(dim=3, norm_bound=3.0)
    state = algorithm.init(jax.random.key(0))
    star = np.array([1.0, -2.0, 0.5])
    expected = np.sqrt(3.0 * (1.0 + 4.0 + 0.25)) / float(algorithm.radius(0, state))
    assert float(algorithm.error_ratio(0, state, star)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bernoulli", "gaussian"])
def test_coverage(name):
    """theta* is inside every set of every run, and a set of a fiftieth of the radius is not a confidence set."""
    environment = GeneralizedLinear(dim=2, n_arms=10, fresh_arms=True, link=LINKS[name], norm_bound=BOUNDS[name])
    algorithm = GLOC(dim=2, link=LINKS[name], norm_bound=BOUNDS[name])
    result = simulate(algorithm, environment, 300, 64, record_points=1, meters=[glm_meters.coverage()], progress=False)
    ratio = result.final("error_ratio")[0]
    assert ratio.max() < 1.0 and ratio.min() > 0.02
