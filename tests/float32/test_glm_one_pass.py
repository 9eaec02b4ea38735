"""The one-pass methods of the generalised linear family in float32 (a process without x64)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.glm.ecolog import ECOLog
from jaxbandits.algorithms.glm.glb_omd import GLBOMD
from jaxbandits.algorithms.glm.gloc import GLOC
from jaxbandits.algorithms.glm.oful_mlogb import OFULMLogB
from jaxbandits.base.pytree import as_arrays
from jaxbandits.estimation.links import Bernoulli, Exponential, Gaussian, Poisson
from jaxbandits.numerics import inverse_factors, rng
from jaxbandits.types import ArmDecision, Reward
from tests.reference import glb_omd, glm_one_pass

KEY = jax.random.key(0)
FAMILIES = glb_omd.FAMILIES | {"gaussian": glb_omd.gaussian(0.5)}
CENTRE, MARGIN = np.array([-3.0, 0.0, 0.0]), 3.0 / np.sqrt(2.0) - 1.0


@jax.jit
def replay(algorithm, xs, rs):
    def round_(state, row):
        t, x, r = row
        decision = ArmDecision(jnp.int32(0), x)
        state = algorithm.update(KEY, t, state, None, decision, Reward(r))
        after = state.theta, inverse_factors.to_dense(state.inverse), algorithm.radius(t + 1, state)
        return state, after

    return jax.lax.scan(round_, algorithm.init(KEY), (jnp.arange(len(rs), dtype=jnp.int32), xs, rs))[1]


CASES = {
    "gloc-gaussian": (GLOC(dim=3, link=Gaussian(variance=0.5), norm_bound=2.0), "gaussian", 2.0),
    "gloc-bernoulli": (GLOC(dim=5, norm_bound=3.0), "bernoulli", 3.0),
    "gloc-poisson": (GLOC(dim=2, link=Poisson(), norm_bound=1.0), "poisson", 1.0),
    "ecolog-ville": (ECOLog(dim=5, norm_bound=3.0), "bernoulli", 3.0),
    "ecolog-code": (ECOLog(dim=2, norm_bound=5.0, radius_rule="code"), "bernoulli", 5.0),
    "ecolog-public": (ECOLog.public(dim=5, norm_bound=3.0), "bernoulli", 3.0),
    "oful-mlogb": (OFULMLogB(dim=3, norm_bound=3.0), "bernoulli", 3.0),
}


def other(name, d, S):
    if name.startswith("gloc"):
        family = name.split("-")[1]
        noise = {"gaussian": np.sqrt(0.5), "bernoulli": 0.5, "poisson": np.exp(0.5)}[family]
        return glm_one_pass.GLOC(FAMILIES[family], d, S, noise)
    if name == "ecolog-public":
        return glm_one_pass.PublicECOLog(d, S)
    if name.startswith("ecolog"):
        return glm_one_pass.ECOLog(d, S, radius=name.split("-")[1])
    return glm_one_pass.OFULMLogB(d, S)


def compare(algorithm, learner, xs, rs):
    """The float32 replay against the float64 loop on the same float32 inputs, round by round."""
    xs, rs = (np.asarray(a, np.float32) for a in (xs, rs))
    theta, inverse, radius = (np.asarray(a) for a in replay(as_arrays(algorithm), jnp.asarray(xs), jnp.asarray(rs)))
    assert all(a.dtype == np.float32 for a in (theta, inverse, radius))
    for t, (x, r) in enumerate(zip(xs.astype(np.float64), rs.astype(np.float64), strict=True)):
        learner.update(x, r)
        np.testing.assert_allclose(theta[t], learner.theta, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(radius[t], learner.beta(), rtol=1e-4)
    exact = np.linalg.inv(learner.matrix)
    assert np.abs(inverse[-1] - exact).max() < 1e-4 * np.abs(exact).max()


@pytest.mark.quick_cases("gloc-bernoulli", "ecolog-public", "oful-mlogb")
@pytest.mark.parametrize("name", CASES)
def test_follows_the_float64_reference(name):
    algorithm, family, S = CASES[name]
    d = algorithm.dim
    draws = np.random.default_rng(d)
    xs = draws.standard_normal((300, d))
    xs *= (draws.random(300) ** (1.0 / d) / np.linalg.norm(xs, axis=1))[:, None]
    star = draws.standard_normal(d)
    rs = glb_omd.rewards(family, draws, xs @ star * (S / np.linalg.norm(star)), g=FAMILIES[family].g)
    compare(algorithm, other(name, d, S), xs, rs)


def test_exponential_link_with_a_centre():
    draws = np.random.default_rng(0)
    angles = np.pi * draws.integers(8, size=300) / 4.0
    xs = np.stack([np.ones(300), np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(2.0)
    star = draws.standard_normal(3)
    rs = draws.exponential(-1.0 / (xs @ (CENTRE + star / np.linalg.norm(star))))
    algorithm = GLBOMD(dim=3, link=Exponential(margin=MARGIN), ridge=1.0, radius_rule="data", center=CENTRE)
    compare(algorithm, glm_one_pass.CentredGLBOMD(glm_one_pass.exponential(MARGIN), CENTRE, 1.0, 1.0), xs, rs)


def test_residual_of_gloc_does_not_cancel():
    """After 20,000 rounds sum z^2 is near 1e5; formed by subtraction in float32 the residual would be off by 1e-2."""
    draws = np.random.default_rng(1)
    xs = draws.standard_normal((20_000, 2)).astype(np.float32)
    xs /= np.linalg.norm(xs, axis=1, keepdims=True)
    rs = (xs @ [3.0, 4.0] + 0.1 * draws.standard_normal(20_000)).astype(np.float32)
    algorithm = as_arrays(GLOC(dim=2, link=Gaussian(variance=0.01), norm_bound=6.0, noise_scale=0.1))
    radius = np.asarray(replay(algorithm, jnp.asarray(xs), jnp.asarray(rs))[2])[-1]
    learner = glm_one_pass.GLOC(glb_omd.gaussian(0.01), 2, 6.0, 0.1)
    for x, r in zip(xs.astype(np.float64), rs.astype(np.float64), strict=True):
        learner.update(x, r)
    assert radius == pytest.approx(learner.beta(), rel=1e-4)


@pytest.mark.slow_cases("link0")
@pytest.mark.parametrize("link", [Bernoulli(), Poisson(), Exponential(margin=0.5)])
def test_links_keep_float32(link):
    z = jnp.asarray([-2.0, -1.0], jnp.float32)
    for f in (link.log_partition, link.mean, link.slope):
        assert f(z).dtype == jnp.float32
    assert link.sample(KEY, z[0]).dtype == jnp.float32
    assert all(bound.dtype == jnp.float32 for bound in link.slope_bounds(z[0], z[1]))


@pytest.mark.quick_cases("2")
@pytest.mark.parametrize("dim", [1, 2, 5, 8])
def test_uniform_ball_stays_in_the_ball(dim):
    x = np.asarray(jax.jit(rng.uniform_ball, static_argnums=(1, 2))(KEY, 100_000, dim))
    assert x.dtype == np.float32 and np.isfinite(x).all()
    norms = np.linalg.norm(x.astype(np.float64), axis=1)
    assert norms.max() <= 1.0 + 5e-7 and norms.max() > 0.99
