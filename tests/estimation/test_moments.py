"""Moments of groups of rows against NumPy, for several trials with different groups."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import vmap_last
from jaxbandits.estimation import moments

W, K, DIM, INPUT = 3, 4, 5, 2


def features(weight, x):
    return jnp.tanh(x @ weight)


def make_rows(rng, n):
    """Weights, inputs, groups (of which one is empty), rewards; the trial axis is last."""
    group = rng.choice([0, 1, 3], size=(n, W), p=[0.7, 0.2, 0.1])
    return rng.normal(size=(INPUT, DIM, W)), rng.normal(size=(n, INPUT, W)), group, rng.normal(size=(n, W))


@pytest.mark.parametrize(("n", "count"), [(1, 1), (40, 40), (40, 23), (700, 700), (700, 257), (512, 1)])
def test_moments_and_residuals_of_groups(n, count, rng):
    weight, x, group, reward = make_rows(rng, n)
    coefficients = rng.normal(size=(DIM, K, W))

    @jax.jit
    def both(weight, x, group, reward, coefficients, count):
        def one(weight, x, group, reward, coefficients):
            data = (features, weight, x, group, reward, count)
            return moments.moments(*data, K), moments.squared_residuals(*data, coefficients)

        return vmap_last(one)(weight, x, group, reward, coefficients)

    found, squares = both(weight, x, group, reward, coefficients, jnp.int32(count))
    for trial in range(W):
        z = np.tanh(x[:count, :, trial] @ weight[:, :, trial])
        for k in range(K):
            rows = group[:count, trial] == k
            y = reward[:count, trial][rows]
            np.testing.assert_allclose(found.gram[:, :, k, trial], z[rows].T @ z[rows], rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(found.cross[:, k, trial], z[rows].T @ y, rtol=1e-10, atol=1e-10)
            assert found.count[k, trial] == rows.sum()
            error = y - z[rows] @ coefficients[:, k, trial]
            np.testing.assert_allclose(squares[k, trial], error @ error, rtol=1e-10, atol=1e-10)


def test_moments_of_one_trial_alone(rng):
    weight, x, group, reward = (leaf[..., 0] for leaf in make_rows(rng, 300))
    ours = jax.jit(lambda *rows: moments.moments(features, *rows, jnp.int32(300), K))
    found = ours(weight, x, jnp.asarray(group), jnp.asarray(reward))
    z = np.tanh(x @ weight)
    np.testing.assert_allclose(found.gram[:, :, 0], z[group == 0].T @ z[group == 0], rtol=1e-10)
