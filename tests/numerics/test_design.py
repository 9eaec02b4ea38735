"""Designs against Kiefer and Wolfowitz's equality, and on arms that span less than the space."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.numerics.design import optimal_design
from tests.reference import phased_elimination as reference

solve = jax.jit(optimal_design, static_argnums=1)


@pytest.mark.parametrize(("n", "dim"), [(1, 1), (6, 2), (30, 4)])
def test_nearly_optimal(n, dim, rng):
    for scale in (1.0, rng.uniform(0.05, 3.0, size=dim)):
        arms = scale * rng.normal(size=(n, dim))
        found = solve(jnp.asarray(arms), 4 * dim)
        weights = np.asarray(found.weights)
        np.testing.assert_allclose(weights.sum(), 1.0, rtol=1e-12)
        assert (weights >= 0.0).all() and (weights > 0.0).sum() <= 5 * dim
        np.testing.assert_allclose(found.largest, reference.variances(arms, weights).max(), rtol=1e-9)
        assert dim * (1 - 1e-12) <= found.largest <= 2 * dim
        np.testing.assert_allclose(found.complement, 0.0, atol=1e-12)
    assert solve(jnp.asarray(arms), 40 * dim).largest <= 1.03 * dim


def test_arms_that_do_not_span_the_space(rng):
    plane = rng.normal(size=(2, 4))
    arms = np.concatenate([rng.normal(size=(7, 2)) @ plane, np.zeros((2, 4))])
    found = solve(jnp.asarray(arms), 16)
    assert 2.0 - 1e-9 <= found.largest <= 4.0
    np.testing.assert_array_equal(found.weights[7:], 0.0)
    np.testing.assert_allclose(arms @ found.complement, 0.0, atol=1e-9)
    np.testing.assert_allclose(np.trace(found.complement), 2.0, rtol=1e-9)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_short_directions_are_left_out(dtype):
    shortest = 4.0 * np.sqrt(float(jnp.finfo(dtype).eps))
    for length, left_out in ((0.9 * shortest, 1.0), (1.1 * shortest, 0.0)):
        found = solve(jnp.asarray([[1.0, 0.0], [1.0, length]], dtype), 8)
        np.testing.assert_allclose(np.trace(found.complement), left_out, atol=1e-6)
