"""Differences of products against exact ones."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.numerics.products import difference_of_products, power_below


def exact(*factors):
    a, d, b, c = (Fraction(float(x)) for x in factors)
    return a * d - b * c


@pytest.mark.parametrize("transform", [jax.jit, lambda f: jax.jit(jax.vmap(f))], ids=["jit", "vmap"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_differences_that_cancel_keep_their_digits(dtype, transform, rng):
    """Products of 24-bit (53-bit) numbers that agree in all digits of the type; the plain difference has none."""
    u = np.finfo(dtype).eps
    a, b = (rng.uniform(1.0, 2.0, 400) * 10.0 ** rng.integers(-6, 7, 400) for _ in range(2))
    a, b, d = a.astype(dtype), b.astype(dtype), rng.uniform(1.0, 2.0, 400).astype(dtype)
    c = (a.astype(np.longdouble) * d / b).astype(dtype)
    with jax.enable_x64(dtype == np.float64):
        found = np.asarray(transform(difference_of_products)(a, d, b, c))
    assert found.dtype == dtype
    wanted = [exact(*row) for row in zip(a, d, b, c, strict=True)]
    size = [abs(Fraction(float(x)) * Fraction(float(y))) for x, y in zip(a, d, strict=True)]
    for x, y, s in zip(found, wanted, size, strict=True):
        assert abs(Fraction(float(x)) - y) <= 2 * Fraction(float(u)) * abs(y) + 4 * Fraction(float(u)) ** 2 * s
    plain = np.array([abs(Fraction(float(x)) / y - 1) for x, y in zip(a * d - b * c, wanted, strict=True) if y])
    assert np.median(plain.astype(float)) > 0.1


def test_products_of_counts_are_exact():
    """(2^24 - 1)^2 - (2^24 - 2) 2^24 = 1, which float32 products cannot tell from 0."""
    n = jnp.float32(2.0**24 - 1)
    assert float(difference_of_products(n, n, n - 1, n + 1)) == 1.0
    assert float(difference_of_products(n, n, n, n)) == 0.0
    assert float(difference_of_products(-n, n, n - 1, -n - 1)) == -1.0


def test_powers_of_two():
    x = np.array([1.0, 1.5, 2.0, 1023.0, 1e-30, 3e38], np.float32)
    np.testing.assert_array_equal(power_below(jnp.asarray(x)), 2.0 ** np.floor(np.log2(x.astype(float))))
