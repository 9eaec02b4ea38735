"""Confidence regions in the plane: closed forms, definitions checked point by point, recorded areas of one trace."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from jaxbandits.algorithms.glm.glb_omd import GLBOMD
from jaxbandits.algorithms.glm.glm_ucb import GLMUCB
from jaxbandits.algorithms.glm.ofuglb import OFUGLB
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import pytree, static
from jaxbandits.diagnostics import confidence_regions as plane
from jaxbandits.estimation.links import Bernoulli, Gaussian, Poisson
from tests.reference import glb_omd as reference

S, ROUNDS, DELTA = 3.0, 500, 0.05


@pytest.fixture(scope="module")
def trace():
    """theta*, arms and rewards of 500 logistic rounds that GLB-OMD with lambda = d played on 20 fixed arms."""
    rng = np.random.default_rng(100)
    v = rng.standard_normal(2)
    theta = S * v / np.linalg.norm(v)
    u = rng.standard_normal((20, 2))
    X = u / np.linalg.norm(u, axis=-1, keepdims=True) * rng.random((20, 1)) ** 0.5
    table = (rng.random((ROUNDS, 20)) < 1.0 / (1.0 + np.exp(-X @ theta))).astype(float)
    learner, xs, rs = reference.GLBOMD(reference.FAMILIES["bernoulli"], 2, S), [], []
    for row in table:
        k = int(np.argmax(learner.scores(X)))
        learner.update(X[k], row[k])
        xs.append(X[k])
        rs.append(row[k])
    return theta, np.array(xs), np.array(rs), learner


def ofuglb(link, xs, rs, bound):
    learner = OFUGLB.theory(dim=2, n_arms=len(xs), link=link, norm_bound=bound, delta=DELTA)
    return plane.confidence_set("OFUGLB", learner, xs, rs)


def glm_ucb(xs, rs):
    learner = GLMUCB.theory(dim=2, n_arms=20, horizon=len(rs), norm_bound=S, delta=DELTA)
    return plane.confidence_set("GLM-UCB", learner, xs, rs)


def ellipse(center, matrix, radius):
    def value(points):
        gap = points - center
        return np.sqrt(np.einsum("ni,ij,nj->n", gap, matrix, gap)) / radius - 1.0

    return plane.Region("ellipse", np.asarray(center), value)


def areas(region):
    return plane.area(plane.boundary(region)), plane.area(plane.boundary(plane.within_ball(region, S)))


@pytest.mark.slow
def test_recorded_areas(trace):
    """Whole region and its part in the ball (area 28.27): far smaller than GLM-UCB, but not comparable to OFUGLB."""
    _, xs, rs, _ = trace
    whole, cut = areas(plane.confidence_set("GLB-OMD", GLBOMD.experiments(dim=2, norm_bound=S), xs, rs))
    assert (round(whole), round(cut, 2)) == (146, 28.27)
    whole, cut = areas(plane.confidence_set("GLB-OMD", GLBOMD.theory(dim=2, norm_bound=S), xs, rs))
    assert (round(whole), round(cut, 2)) == (92, 28.27)
    whole, cut = areas(ofuglb(Bernoulli(), xs, rs, S))
    assert cut == pytest.approx(2.08, abs=0.01) and whole > cut
    whole, cut = areas(glm_ucb(xs, rs))
    assert whole == pytest.approx(30138.0, abs=2.0) and round(cut, 2) == 28.27


def test_glb_omd_is_the_reference_s_ellipse(trace):
    theta, xs, rs, learner = trace
    region = plane.confidence_set("GLB-OMD", GLBOMD(dim=2, norm_bound=S), xs, rs)
    points = learner.theta + np.random.default_rng(0).normal(size=(2000, 2)) * 6.0
    gap = points - learner.theta
    expected = np.sqrt(np.einsum("ni,ij,nj->n", gap, learner.H, gap)) <= learner.beta()
    np.testing.assert_array_equal(region.contains(points), expected)
    assert 200 < expected.sum() < 1800
    assert region.contains(theta[None])[0]
    exact = np.pi * learner.beta() ** 2 / np.sqrt(np.linalg.det(learner.H))
    assert plane.area(plane.boundary(region, 5000)) == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize(("link", "name", "bound"), [(Bernoulli(), "bernoulli", 3.0), (Poisson(), "poisson", 1.0)])
def test_level_set_by_definition(link, name, bound):
    """Against the likelihood and its constrained minimiser by SLSQP, and beta^2 by a scan over c."""
    family, rng = reference.FAMILIES[name], np.random.default_rng(3)
    star = bound * np.array([0.6, 0.8])
    xs = rng.normal(size=(60, 2))
    xs /= np.maximum(1.0, np.linalg.norm(xs, axis=1))[:, None]
    rs = reference.rewards(name, rng, xs @ star)

    def loss(theta):
        return np.sum(family.m(xs @ theta) - rs * (xs @ theta))

    ball = {"type": "ineq", "fun": lambda th: bound**2 - th @ th}
    best = min(
        (
            minimize(loss, start, constraints=ball, method="SLSQP", options={"ftol": 1e-14})
            for start in (star, 0.1 * star)
        ),
        key=lambda fit: fit.fun,
    )
    lipschitz = 60.0 if name == "bernoulli" else np.exp(bound) * 60.0 + np.log(2.0 / DELTA)
    c = np.exp(np.linspace(-20.0, 0.0, 200_001))
    beta_sq = np.log(1.0 / DELTA) + np.min(2.0 * np.log(1.0 / c) + 2.0 * bound * lipschitz * c)
    region = ofuglb(link, xs, rs, bound)
    np.testing.assert_allclose(region.center, best.x, atol=1e-4)
    points = star + rng.normal(size=(500, 2)) * bound
    expected = np.sqrt([max(loss(p) - best.fun, 0.0) / beta_sq for p in points]) - 1.0
    np.testing.assert_allclose(region.value(points), expected, atol=1e-6)
    assert 20 < np.sum(expected <= 0.0) < 480


def test_glm_ucb_is_the_ellipse_behind_its_bonus(trace):
    """Filippi et al.: centre by BFGS, rho_t over C_mu in the norm of V_t = d log(1 + t) I + sum x x'."""
    _, xs, rs, _ = trace
    ridge = 2.0 * np.log(ROUNDS + 2.0)
    estimate = minimize(
        lambda theta: np.sum(np.logaddexp(0.0, xs @ theta) - rs * (xs @ theta)) + 0.5 * ridge * theta @ theta,
        np.zeros(2),
        options={"gtol": 1e-9},
    ).x
    kappa_0 = np.sqrt(3.0 + 2.0 * np.log(1.0 + 2.0 / ridge))
    least_slope = 1.0 / (2.0 + 2.0 * np.cosh(S))
    spread = np.sqrt(4.0 * np.log(ROUNDS + 1.0) * np.log(4.0 * ROUNDS / DELTA))
    expected = ellipse(estimate, ridge * np.eye(2) + xs.T @ xs, 2.0 * kappa_0 / least_slope * spread)
    np.testing.assert_allclose(plane.boundary(glm_ucb(xs, rs)), plane.boundary(expected), atol=1e-4)


@pytest.mark.slow
def test_estimate_on_the_sphere():
    """Rewards all 1 on one side: the likelihood grows without end, the constrained estimate is the pole."""
    xs = np.tile([[0.6, 0.8], [0.8, 0.6]], (20, 1))
    region = ofuglb(Bernoulli(), xs, np.ones(40), 2.0)
    np.testing.assert_allclose(region.center, 2.0 * np.array([1.0, 1.0]) / np.sqrt(2.0), atol=1e-5)


def test_gaussian_level_set_is_an_ellipse():
    """L is quadratic: the level set is an ellipse with known area when the estimate is inside the ball."""
    rng = np.random.default_rng(1)
    xs = rng.normal(size=(100, 2)) * 0.5
    rs = xs @ [0.5, -0.3] + 0.1 * rng.normal(size=100)
    region = ofuglb(Gaussian(), xs, rs, 5.0)
    reach = 2.0 * 5.0 * np.maximum(abs(5.0 - rs), abs(5.0 + rs)).sum()
    beta_sq = np.log(1.0 / DELTA) + 2.0 * (1.0 + np.log(reach / 2.0))
    exact = np.pi * 2.0 * beta_sq / np.sqrt(np.linalg.det(xs.T @ xs))
    assert plane.area(plane.boundary(region, 5000)) == pytest.approx(exact, rel=1e-4)


def test_boundary_and_area_of_known_shapes():
    disc = ellipse([1.0, 2.0], np.eye(2), 3.0)
    points = plane.boundary(disc, 4000)
    np.testing.assert_allclose(np.linalg.norm(points - [1.0, 2.0], axis=1), 3.0, rtol=1e-12)
    assert plane.area(points) == pytest.approx(9.0 * np.pi, rel=1e-5)
    half = plane.within_ball(ellipse([0.0, 0.0], np.diag([1.0, 1e-12]), 1.0), 2.0)
    # the strip |x| <= 1 in the disc of radius 2: 4 (pi/6 + sqrt(3)/4) * 2 ... = 2 sqrt 3 + 4 pi / 3
    assert plane.area(plane.boundary(half, 20_000)) == pytest.approx(2.0 * np.sqrt(3.0) + 4.0 * np.pi / 3.0, rel=1e-5)


def test_refused():
    with pytest.raises(
        InputError, match=r"regions are drawn only for two-dimensional arms, an array \[T, 2\], got shape \(4, 3\)"
    ):
        glm_ucb(np.zeros((4, 3)), np.zeros(4))
    with pytest.raises(InputError, match="GLM-UCB has n_arms = 20, but the trace has 21 different arms"):
        glm_ucb(np.linspace([0.0, 0.0], [1.0, 0.0], 21), np.zeros(21))
    with pytest.raises(InputError, match=r"a trace needs one reward per arm, .* got shapes \(3, 2\), \(4,\)"):
        glm_ucb(np.zeros((3, 2)), np.zeros(4))
    with pytest.raises(InputError, match="the centre of ellipse has norm 5, which exceeds 2"):
        plane.within_ball(ellipse([3.0, 4.0], np.eye(2), 1.0), 2.0)
    whole = plane.Region("plane", np.zeros(2), lambda p: jnp.full(len(p), -1.0))
    with pytest.raises(InputError, match="plane is unbounded"):
        plane.boundary(whole)


_RADIUS = 1.0  # read by the learner below


@pytree
class _Disc:
    """Learner whose confidence set is a disc around the mean of the arms, with a radius that is a global."""

    dim: int = static(2, doc="d")

    def init(self, key):
        return jnp.zeros(2)

    def update(self, key, t, state, obs, decision, feedback):
        return state + _RADIUS * decision.x

    def recommend(self, state):
        return state

    def error_ratio(self, t, state, theta):
        return jnp.linalg.norm(theta - state) / _RADIUS


def test_regions_follow_a_global_of_the_learner(monkeypatch):
    """A compiled function of an earlier call holds its old value."""
    trace = np.array([[1.0, 0.0], [0.0, 1.0]]), np.zeros(2)
    for radius in (1.0, 3.0):
        monkeypatch.setitem(globals(), "_RADIUS", radius)
        region = plane.confidence_set("disc", _Disc(), *trace)
        np.testing.assert_allclose(region.center, [radius, radius])
        assert plane.area(plane.boundary(region)) == pytest.approx(np.pi * radius**2, rel=1e-3)


def test_region_before_the_first_round():
    learner = GLBOMD.experiments(dim=2, norm_bound=S)
    region = plane.confidence_set("GLB-OMD", learner, np.zeros((0, 2)), np.zeros(0))
    radius = float(learner.radius(0, learner.init(None))) / np.sqrt(2)  # H_1 = 2 I
    assert plane.area(plane.boundary(region)) == pytest.approx(np.pi * radius**2, rel=1e-4)
