"""Losses as data: values and gradients against NumPy and automatic differentiation, convexity, hard arguments."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.numerics import losses

DIMS = [1, 5, 2, 20]


def draw(rng, name, dim):
    """A loss, its value as a NumPy function of a point `[d]`, its Lipschitz constant and its smoothness."""
    a, b, label = 2.0 * rng.standard_normal(dim), rng.standard_normal(), rng.choice([-1.0, 1.0])
    vector, inf, size = jnp.asarray(a), np.inf, np.linalg.norm(a)
    return {
        "linear": (losses.Linear(vector), lambda x: a @ x, size, 0.0),
        "quadratic": (losses.Quadratic(vector), lambda x: np.sum((x - a) ** 2) / 2, inf, 1.0),
        "pseudo_huber": (losses.PseudoHuber(vector), lambda x: np.sqrt(1 + np.sum((x - a) ** 2)) - 1, 1.0, 1.0),
        "logistic": (
            losses.Logistic(vector, jnp.asarray(label)),
            lambda x: np.log1p(np.exp(-label * (a @ x))),
            size,
            size**2 / 4,
        ),
        "squared_error": (
            losses.SquaredError(vector, jnp.asarray(b)),
            lambda x: (a @ x - b) ** 2 / 2,
            inf,
            size**2,
        ),
        "scaled": (
            losses.ScaledLoss(losses.PseudoHuber(vector), jnp.asarray(3.5)),
            lambda x: 3.5 * (np.sqrt(1 + np.sum((x - a) ** 2)) - 1),
            3.5,
            3.5,
        ),
    }[name]


evaluate = jax.jit(losses.evaluate)

NAMES = ["linear", "quadratic", "pseudo_huber", "logistic", "squared_error", "scaled"]


@pytest.mark.quick_cases("*-1", "*-5")
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients(name, dim, rng):
    loss, value, lipschitz, smoothness = draw(rng, name, dim)
    points = rng.standard_normal((7, dim))
    values, gradients = evaluate(loss, jnp.asarray(points))
    assert values.shape == (7,)
    assert gradients.shape == (7, dim)
    np.testing.assert_allclose(values, [value(x) for x in points], rtol=1e-13, atol=1e-14)
    # Independently of the formula for the gradient: differences of the NumPy value.
    step = 1e-6 * np.eye(dim)
    differences = [[(value(x + h) - value(x - h)) / 2e-6 for h in step] for x in points]
    rounding = 16.0 * np.finfo(float).eps * max(1.0, np.abs(values).max()) / 1e-6  # of a value, over the step
    np.testing.assert_allclose(gradients, differences, rtol=0.0, atol=1e-8 + rounding)
    # Declared constants, and convexity at every pair of points.
    assert (np.linalg.norm(gradients, axis=1) <= lipschitz * (1 + 1e-12)).all()
    for x, fx, gx in zip(points, values, np.asarray(gradients), strict=True):
        gap = values - fx - (points - x) @ gx
        assert (gap >= -1e-12).all()
        assert (gap <= 0.5 * smoothness * np.sum((points - x) ** 2, axis=1) + 1e-12).all()


@pytest.mark.slow_cases("pseudo_huber", "logistic")
@pytest.mark.parametrize("name", NAMES)
def test_gradient_is_the_derivative(name, rng):
    loss, *_ = draw(rng, name, 5)
    x = jnp.asarray(rng.standard_normal(5))
    gradient, auto = jax.jit(lambda loss, x: (loss.gradient(x), jax.grad(loss.value)(x)))(loss, x)
    np.testing.assert_allclose(gradient, auto, rtol=1e-12, atol=1e-15)


def test_the_logistic_loss_has_a_derivative_at_margin_0():
    loss = losses.Logistic(jnp.ones(2), jnp.ones(()))
    np.testing.assert_array_equal(jax.grad(loss.value)(jnp.zeros(2)), [-0.5, -0.5])  # 0 is the start of most learners


def test_one_query_is_the_same_as_many(rng):
    loss, *_ = draw(rng, "logistic", 3)
    points = jnp.asarray(rng.standard_normal((4, 3)))
    values, gradients = evaluate(loss, points)
    one_value, one_gradient = evaluate(loss, points[2:3])
    np.testing.assert_array_equal(one_value, values[2:3])
    np.testing.assert_array_equal(one_gradient, gradients[2:3])


def test_pseudo_huber_has_no_cancellation_near_its_target():
    loss = losses.PseudoHuber(jnp.zeros(2))
    x = jnp.array([1e-9, 0.0])
    np.testing.assert_allclose(loss.value(x), 0.5e-18, rtol=1e-12)  # sqrt(1 + 1e-18) - 1 is 0


def test_logistic_is_finite_far_away():
    loss = losses.Logistic(jnp.array([1.0, 0.0]), jnp.asarray(1.0))
    for far, value, slope in ((-1e6, 1e6, -1.0), (1e6, 0.0, 0.0)):
        x = jnp.array([far, 0.0])
        np.testing.assert_allclose(loss.value(x), value)
        np.testing.assert_allclose(loss.gradient(x), [slope, 0.0])


def test_losses_pass_through_vmap(rng):
    """A batch of losses is a pytree of arrays."""
    targets, points = rng.standard_normal((2, 6, 3))
    batch = losses.Quadratic(jnp.asarray(targets))
    values = jax.jit(jax.vmap(lambda loss, x: loss.value(x)))(batch, jnp.asarray(points))
    np.testing.assert_allclose(values, np.sum((points - targets) ** 2, axis=1) / 2, rtol=1e-14)
