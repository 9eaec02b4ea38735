"""Upper quantiles of beta laws against SciPy's, in float32."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits.numerics.beta_quantile import upper_quantile


@pytest.mark.slow
@pytest.mark.parametrize(("least", "error"), [(0.5, 2e-4), (0.1, 2e-3)])
def test_upper_quantiles(least, error, rng):
    a, b = np.exp(rng.uniform(np.log(least), np.log(1e5), size=(2, 2000))).astype(np.float32)
    tail = np.exp(rng.uniform(np.log(1e-7), np.log(0.5), size=2000)).astype(np.float32)
    found = jax.jit(upper_quantile)(jnp.asarray(a), jnp.asarray(b), jnp.asarray(tail))
    wanted = st.beta.isf(tail.astype(float), a.astype(float), b.astype(float))
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=error)
