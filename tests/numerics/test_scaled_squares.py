"""Sums of squares of sizes over the whole range of a float type."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.numerics.scaled_squares import ScaledSquares


def _sum(sizes: np.ndarray) -> ScaledSquares:
    start = ScaledSquares.init(sizes.dtype)
    return jax.lax.scan(lambda total, size: (total.add(size), None), start, jnp.asarray(sizes))[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_over_the_whole_range(dtype, rng):
    info = np.finfo(dtype)
    for decades in (1, 30, int(math.log10(info.max))):
        sizes = (10.0 ** rng.uniform(-decades, decades, 50)).astype(dtype)
        total = _sum(sizes)
        largest = float(sizes.max())
        assert largest / 2 < float(total.scale) <= largest and math.frexp(float(total.scale))[0] == 0.5
        want = math.sqrt(sum((float(size) / largest) ** 2 for size in sizes))
        np.testing.assert_allclose(math.sqrt(float(total.total)) * (float(total.scale) / largest), want, 40 * info.eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_reciprocals_of_scales_are_exact(dtype):
    info = np.finfo(dtype)
    powers = np.ldexp(dtype(1.0), np.arange(info.minexp, info.maxexp - 1)).astype(dtype)
    inverse = jax.vmap(lambda scale: ScaledSquares(scale, scale).inverse_scale)(jnp.asarray(powers))
    np.testing.assert_array_equal(np.asarray(inverse), dtype(1.0) / powers)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ends_of_the_range(dtype):
    info = np.finfo(dtype)
    total = _sum(np.array([0.0, 0.0], dtype))
    assert float(total.scale) == 0.0 and float(total.total) == 0.0
    total = _sum(np.array([1.0, info.max, 1.0], dtype))
    np.testing.assert_allclose(
        math.sqrt(float(total.total)) * (float(total.scale) / float(info.max)), 1.0, 4 * info.eps
    )
    for broken in (np.inf, np.nan):
        assert math.isnan(float(_sum(np.array([1.0, broken, 1.0], dtype)).total))


def test_a_common_power_of_two_changes_the_scale_alone(rng):
    sizes = rng.exponential(size=20).astype(np.float32)
    plain, scaled = _sum(sizes), _sum(sizes * np.float32(2.0**90))
    assert float(plain.total) == float(scaled.total) and float(scaled.scale) == float(plain.scale) * 2.0**90
