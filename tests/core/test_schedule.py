"""Powers of the round against NumPy, at round 0, in both types and under `vmap` over exponents."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.core import schedule


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
