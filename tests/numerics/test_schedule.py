"""Powers of the round and sums of inverse roots against NumPy, in both types, under `vmap` over exponents."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.numerics import schedule


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_power(dtype):
    exponents = jnp.asarray([-1.5, -0.5, 0.0, 0.005, 0.25, 1.0], dtype)
    batched = jax.jit(jax.vmap(schedule.power, in_axes=(None, 0)))
    for t in (1, 2, 17, 18_000, 2**31 - 1):
        found = batched(jnp.int32(t), exponents)
        assert found.dtype == dtype
        # The error of the exponent, exponent log t <= 33 in size, is what the exponential magnifies.
        np.testing.assert_allclose(found, float(t) ** np.asarray(exponents, float), rtol=40.0 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(batched(jnp.int32(0), exponents), 1.0)


@pytest.mark.parametrize("count", [np.int32, np.int64])
def test_inverse_roots(count):
    """Listed and expanded sums, and the seam between them; rounding of 10^6 NumPy additions is below 10^-13."""
    t = np.array([1, 2, 3, 10, 31, 32, 33, 34, 50, 1000, 10**6], count)
    found = jax.jit(jax.vmap(schedule.inverse_roots))(t)
    assert found.dtype == jnp.result_type(float)
    np.testing.assert_allclose(found, np.cumsum(1.0 / np.sqrt(np.arange(1.0, 10**6 + 1)))[t - 1], rtol=1e-13)
    later = schedule.inverse_roots(jnp.int32(2**31 - 1)) - schedule.inverse_roots(jnp.int32(2**31 - 1 - 10**4))
    np.testing.assert_allclose(later, 10**4 / np.sqrt(2.0**31), rtol=1e-5)
