"""Medians against NumPy's, to the bit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.numerics.order_statistics import median
from jaxbandits.tracing.vmap_last import vmap_last


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_median_of_the_first_numbers(real, rng):
    n, trials = 9, 60
    values = rng.standard_cauchy(size=(n, trials)).astype(real)
    values[:, ::3] = rng.integers(-1, 2, size=values[:, ::3].shape)  # ties, and zeros
    values[:, 1::3] *= real(1e30)
    counts = np.arange(trials) % (n + 1)
    found = jax.jit(vmap_last(median))(jnp.asarray(values), jnp.asarray(counts, real))
    assert found.dtype == real
    for column, count, result in zip(values.T, counts, np.asarray(found), strict=True):
        middle = np.sort(column[:count])[[(count - 1) // 2, count // 2]] if count else np.zeros(2, real)
        assert result == (middle[0] if middle[0] == middle[1] else real(0.5) * middle[0] + real(0.5) * middle[1])
