"""The Euclidean ball: projection and linear minimisation of vectors and matrices."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import validate
from jaxbandits.domains.ball import L2Ball

SHAPES = [(1,), (2,), (5,), (20,), (3, 4)]


def points(shape, rng, n=20):
    """Points inside, outside and far outside, as arrays."""
    for scale in (0.01, 1.0, 30.0):
        for _ in range(n):
            yield scale * rng.standard_normal(shape)


@pytest.mark.quick_cases("shape1", "shape3")
@pytest.mark.parametrize("shape", SHAPES)
def test_project_is_the_nearest_point(shape, rng):
    ball = L2Ball(radius=1.7)
    for point in points(shape, rng):
        length = np.sqrt((point**2).sum())
        expected = point if length <= 1.7 else point / length * 1.7
        for form in (jnp.asarray(point),):
            projected = np.asarray(ball.project(form))
            np.testing.assert_allclose(projected, expected, rtol=1e-14, atol=1e-15)
            # the obtuse-angle inequality <x - Px, u - Px> <= 0 characterises the projection
            for u in points(shape, rng, 2):
                u = u / max(1.0, np.sqrt((u**2).sum()) / 1.7)
                assert ((point - projected) * (u - projected)).sum() <= 1e-12 * max(1.0, length)


@pytest.mark.quick_cases("shape0", "shape2")
@pytest.mark.parametrize("shape", SHAPES)
def test_project_is_idempotent_and_exact_inside(shape, rng):
    ball = L2Ball(radius=1.7)
    for point in points(shape, rng):
        for form in (jnp.asarray(point),):
            once = ball.project(form)
            np.testing.assert_allclose(ball.project(once), once, rtol=4e-16)
            if np.sqrt((point**2).sum()) < 1.7:
                np.testing.assert_array_equal(once, point)


@pytest.mark.quick_cases("shape0", "shape2")
@pytest.mark.parametrize("shape", SHAPES)
def test_lmo_minimises_the_linear_function(shape, rng):
    ball = L2Ball(radius=1.7)
    for direction in points(shape, rng):
        for form in (jnp.asarray(direction),):
            vertex = np.asarray(ball.lmo(form)[0])
            length = np.sqrt((direction**2).sum())
            np.testing.assert_allclose(np.sqrt((vertex**2).sum()), 1.7, rtol=1e-14)
            np.testing.assert_allclose((direction * vertex).sum(), -1.7 * length, rtol=1e-14)


@pytest.mark.quick_cases("0.001-float64", "1.0-float64", "1000.0-float64")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("radius", [1e-3, 1.0, 1e3])
def test_zero_and_tiny_stay_finite_and_inside(radius, dtype):
    ball = L2Ball(radius=jnp.asarray(radius, dtype))
    for size in (0.0, 1e-30, 1e-20, 1e-10):
        point = jnp.asarray([size, -size], dtype)
        vertex = np.asarray(ball.lmo(point)[0], float)
        assert np.isfinite(vertex).all()
        assert np.linalg.norm(vertex) <= radius * (1 + 1e-6)
        np.testing.assert_array_equal(ball.project(point), point)
        if size == 0.0:
            np.testing.assert_array_equal(vertex, 0.0)


def test_diameter_and_range():
    assert L2Ball(radius=1.5).diameter == 3.0
    validate(L2Ball(radius=1.5))
    for radius in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="radius"):
            validate(L2Ball(radius=radius))
