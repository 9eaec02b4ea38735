"""Estimators from one and two points, on many draws at once: what they ask, their mean, their size, their bias."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.coco import perturbation
from jaxbandits.algorithms.coco.lyapunov import Lyapunov, surrogate_values
from jaxbandits.algorithms.coco.one_point import OnePoint
from jaxbandits.algorithms.coco.two_point import TwoPoint
from jaxbandits.domains import points
from jaxbandits.types import Constrained, ConstrainedValue, narrow
from tests.reference import lyapunov as reference

N = 100_000
Y, SLOPE = np.array([0.1, 0.0, -0.1]), np.array([0.3, -0.5, 0.2])
SHAPES = [1, 2, 3, (3, 2), ((2, 2), (3,))]


@pytest.fixture(scope="module")
def directions():
    return np.asarray(jax.jit(jax.vmap(lambda k: perturbation.direction(k, 3)))(jax.random.split(jax.random.key(7), N)))


@jax.jit
def _estimates(estimator, us, delta, weight):
    """Of F(x) = 0.2 + <slope, x> + weight(<slope, x>)+, one a direction."""

    def one(u):
        query = estimator.decide(jnp.asarray(Y), u, delta).query
        values = query @ SLOPE
        return estimator.gradient(surrogate_values(ConstrainedValue(0.2 + values, values), weight), u, delta)

    return jax.vmap(one)(us)


def mean_and_error(draws):
    return draws.mean(axis=0), draws.std(axis=0) / math.sqrt(len(draws))


@pytest.mark.quick_cases("0.4-one", "0.4-two")
@pytest.mark.parametrize("estimator", [OnePoint(), TwoPoint()], ids=["one", "two"])
@pytest.mark.parametrize("delta", [0.4, 1e-2])
def test_unbiased_for_a_linear_function(estimator, delta, directions):
    draws = np.asarray(_estimates(estimator, directions, delta, 0.0))
    mean, error = mean_and_error(draws)
    assert np.all(np.abs(mean - SLOPE) < 5.0 * error)
    size = np.mean(np.sum(draws**2, axis=1))
    if isinstance(estimator, TwoPoint):  # E ||.||^2 = d ||slope||^2, whatever delta
        spread = np.sum(draws**2, axis=1).std() / math.sqrt(N)
        assert abs(size - 3.0 * SLOPE @ SLOPE) < 5.0 * spread
    else:
        largest = 0.2 + np.abs(Y @ SLOPE) + delta * np.linalg.norm(SLOPE)
        assert size <= (3.0 * largest / delta) ** 2
        assert np.all(error < 3.0 * largest / delta / math.sqrt(N))  # so that the comparison says something


@pytest.mark.parametrize("delta", [0.4, 0.1])
def test_smoothed_gradient_of_a_kink(delta, directions):
    """With g^+ the mean is the gradient of the smoothed function: a central difference of its average over a ball."""
    mean, error = mean_and_error(np.asarray(_estimates(TwoPoint(), directions, delta, 2.0)))
    # The average of the slope of F over the ball of radius delta around y: uniform points from the same directions.
    inside = Y + delta * directions * np.random.default_rng(0).random((N, 1)) ** (1.0 / 3.0)
    share = np.mean(inside @ SLOPE > 0.0)
    smoothed = SLOPE * (1.0 + 2.0 * share)
    assert 0.05 < share < 0.95
    wobble = 2.0 * math.sqrt(share * (1.0 - share) / N) * np.abs(SLOPE)
    assert np.all(np.abs(mean - smoothed) < 5.0 * (error + wobble))


def test_are_those_of_the_reference(rng):
    for _ in range(5):
        u, delta = reference.on_sphere(rng, 3), np.exp(rng.normal())
        above, below = rng.normal(size=2)
        ours = OnePoint().gradient([jnp.asarray(above)], jnp.asarray(u), delta)
        np.testing.assert_allclose(ours, reference.one_point(above, u, delta), rtol=1e-13)
        ours = TwoPoint().gradient([jnp.asarray(above), jnp.asarray(below)], jnp.asarray(u), delta)
        np.testing.assert_allclose(ours, reference.two_point(above, below, u, delta), rtol=1e-13)


def test_where_they_ask():
    y, u = jnp.array([0.1, 0.2]), jnp.array([0.6, -0.8])
    one, two = OnePoint().decide(y, u, 0.5), TwoPoint().decide(y, u, 0.5)
    np.testing.assert_allclose(one.query, [[0.4, -0.2]], rtol=1e-15)
    np.testing.assert_allclose(two.query, [[0.4, -0.2], [-0.2, 0.6]], rtol=1e-15)
    np.testing.assert_array_equal(one.play, one.query[0])
    np.testing.assert_array_equal(two.play, two.query[0])


def test_the_papers_weight_biases_the_estimate(directions):
    """Erratum: Phi'(beta Q_t) knows u_t; for an active linear g the factor is exp(s g) (1 + s g), s = lam beta."""
    s, g, delta = 2.5, 0.16, 1e-2
    surrogate = Lyapunov(beta=1.0, gamma=s, lam=s)  # rho = exp(s Q)
    along = g + delta * np.array([1.0, -1.0])[:, None] * (directions @ SLOPE)

    def project_estimate(weights):  # averaged over u and -u, which takes most of the noise out
        values = weights * along
        return 3.0 / (2.0 * delta) * (values[0] - values[1]) * (directions @ SLOPE) / (SLOPE @ SLOPE)

    for weights, factor in (
        (np.asarray(surrogate.weight(jnp.asarray(along))), math.exp(s * g) * (1.0 + s * g)),  # Q_t = g_t^+
        (np.asarray(surrogate.weight(jnp.zeros_like(along))), 1.0),  # Q_{t-1} = 0
    ):
        mean, error = mean_and_error(project_estimate(weights))
        assert abs(mean - factor) < 5.0 * error + 10.0 * delta**2
        assert error < 0.02


@pytest.mark.slow_cases("3", "((2, 2), (3,))")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_directions_are_uniform_on_the_sphere(shape):
    """Unit length over all arrays of the point, mean 0, second moments I / d."""
    draws = jax.jit(jax.vmap(lambda k: perturbation.direction(k, shape)))(jax.random.split(jax.random.key(3), 20_000))
    expected = jax.tree.map(jnp.shape, points.zeros(shape))
    assert jax.tree.map(lambda a: a.shape[1:], draws) == expected
    flat = np.concatenate([np.asarray(a).reshape(20_000, -1) for a in jax.tree.leaves(draws)], axis=1)
    d = flat.shape[1]
    np.testing.assert_allclose(np.linalg.norm(flat, axis=1), 1.0, rtol=1e-12)
    assert np.all(np.abs(flat.mean(axis=0)) < 5.0 / math.sqrt(20_000 * d))
    np.testing.assert_allclose(flat.T @ flat / 20_000, np.eye(d) / d, atol=5.0 * 1.5 / d / math.sqrt(20_000))


def test_bandits_see_no_gradient():
    told = narrow(Constrained(jnp.ones(2), jnp.ones((2, 3)), jnp.zeros(2), jnp.ones((2, 3))), ConstrainedValue)
    assert told._fields == ("loss", "con")
    assert (float(told.first().loss), float(told.first().con)) == (1.0, 0.0)
