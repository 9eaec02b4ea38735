"""Norms and membership in balls, over the whole range of a float type."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.domains import L2Ball, points


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("share", [-0.9, -0.5, 0.0, 0.5, 0.9])
def test_norms_neither_overflow_nor_underflow(share, dtype):
    size = dtype(10.0 ** (share * np.log10(np.finfo(dtype).max)))
    np.testing.assert_allclose(points.norm(jnp.asarray([3.0, -4.0], dtype) * size), dtype(5.0) * size, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("share", [-0.9, 0.0, 0.3])
def test_the_derivative_of_a_norm_is_the_direction(share, dtype):
    size = dtype(10.0 ** (share * np.log10(np.finfo(dtype).max)))
    direction = jax.grad(points.norm)(jnp.asarray([3.0, -4.0], dtype) * size)
    np.testing.assert_allclose(direction, [0.6, -0.8], rtol=1e-5)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_norms_of_what_is_no_number(bad):
    assert not np.isfinite(points.norm(jnp.asarray([bad, 1.0])))
    assert not L2Ball().contains(jnp.asarray([bad, 0.0]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("share", [-0.8, 0.0, 0.8])
def test_a_ball_contains_its_sphere_and_nothing_beyond(share, dtype):
    eps, radius = np.finfo(dtype).eps, dtype(10.0 ** (share * np.log10(np.finfo(dtype).max)))
    ball, direction = L2Ball(radius=radius), jnp.asarray([0.6, 0.8], dtype)
    assert ball.contains(direction * radius) and ball.contains(direction * radius * dtype(0.5))
    assert not ball.contains(direction * radius * dtype(1.0 + 40.0 * eps))
    assert not ball.contains(direction * radius * dtype(2.0))


def test_the_norm_of_a_constant_zero():
    """XLA evaluates it while it compiles; jax 0.11.2 made it NaN when coordinates were clipped by `jnp.clip`."""
    assert jax.jit(lambda: points.norm(jnp.zeros(2)))() == 0.0
    assert jax.jit(lambda x: 1.0 + points.norm(jnp.zeros_like(x)))(jnp.ones(3)) == 1.0
