"""Logarithms and exponentials of float64 as vector code, against extended precision."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.numerics import elementary

compiled = jax.jit(lambda x: (elementary.log(x), elementary.log1p(x), elementary.exp(x)))


def _units(got, exact):
    """Errors in units of the last place."""
    exact = np.asarray(exact, np.longdouble)
    return float(np.max(np.abs(np.asarray(got) - exact) / np.spacing(np.abs(exact.astype(float)))))


def test_errors_are_units_in_the_last_place(rng):
    if np.finfo(np.longdouble).nmant < 60:
        pytest.skip("longdouble is no wider than float64 here")
    near_one = 1.0 + np.concatenate([rng.uniform(-0.3, 0.5, 500), 10.0 ** -rng.uniform(2.0, 15.0, 500)])
    x = np.concatenate([rng.uniform(size=1000), near_one, np.exp(rng.uniform(-708.0, 709.0, 1000)), [2.0**-41]])
    assert _units(compiled(x)[0], np.log(x.astype(np.longdouble))) < 1.0
    x = np.concatenate([10.0 ** rng.uniform(-300.0, 300.0, 1000), -rng.uniform(size=1000)])
    assert _units(compiled(x)[1], np.log1p(x.astype(np.longdouble))) < 2.0
    near_ties = (rng.integers(-1021, 1024, 500) + 0.5) * np.log(2.0) * (1.0 + rng.uniform(-1e-15, 1e-15, 500))
    x = np.concatenate([rng.uniform(-2.0, 2.0, 1000), rng.uniform(-708.39, 709.78, 998), [0.0, 1e-20], near_ties])
    assert _units(compiled(x)[2], np.exp(x.astype(np.longdouble))) < 1.25  # roundings of r, of r times the rest, of all


def test_special_values_and_derivatives_are_those_of_jax():
    x = jnp.asarray([0.0, -0.0, -1.0, 1.0, -2.0, jnp.inf, -jnp.inf, jnp.nan, 5e-324, jnp.finfo(float).max])
    for got, want in zip(compiled(x)[:2], (jnp.log(x), jnp.log1p(x)), strict=True):
        np.testing.assert_allclose(got, want, rtol=3e-16)
    x = jnp.asarray([0.0, -708.4, -1e5, 709.7827128933840, 709.7827128933841, 1e300, jnp.inf, -jnp.inf, jnp.nan])
    np.testing.assert_allclose(compiled(x)[2], jnp.where(x < -708.39, 0.0, jnp.exp(x)), rtol=3e-16)
    np.testing.assert_allclose(jax.grad(elementary.exp)(3.0), np.exp(3.0), rtol=3e-16)
    np.testing.assert_allclose(jax.grad(elementary.log)(3.0), 1.0 / 3.0, rtol=1e-15)
    np.testing.assert_allclose(jax.grad(elementary.log1p)(3.0), 0.25, rtol=1e-15)


def test_logarithms_of_positive_numbers_and_sines_in_float32(rng):
    x = np.concatenate([np.exp(rng.uniform(-60.0, 80.0, 3000)), 1.0 - np.exp(rng.uniform(-16.0, -0.1, 1000))])
    x = np.append(x, [2.0**-126, 2.0**-33, 0.5, 2.0, 3e38]).astype(np.float32)
    exact = np.log(x[x != 1.0].astype(float))
    found = np.asarray(jax.jit(elementary.log_positive)(x), float)
    np.testing.assert_allclose(found[x != 1.0], exact, rtol=2.0**-23)
    assert elementary.log_positive(jnp.float32(1.0)) == 0.0
    np.testing.assert_array_equal(elementary.log_positive(jnp.asarray(x, float)), elementary.log(jnp.asarray(x, float)))
    for real, rtol in ((np.float32, 1.6e-7), (np.float64, 5e-16)):
        v = np.append(rng.uniform(-1.0, 1.0, 3000), [-1.0, 1.0, 1e-30]).astype(real)
        found = np.asarray(jax.jit(elementary.sin_half_pi)(v))
        np.testing.assert_allclose(found, np.sin(0.5 * np.pi * v.astype(float)), rtol=rtol)
        assert elementary.sin_half_pi(jnp.asarray(0.0, real)) == 0.0 and np.abs(found).max() <= 1.0 + np.finfo(real).eps


def test_float32_is_left_to_xla():
    x = jnp.linspace(0.1, 3.0, 64, dtype=jnp.float32)
    assert (elementary.log(x) == jnp.log(x)).all() and (elementary.log1p(x) == jnp.log1p(x)).all()
    assert (elementary.exp(x) == jnp.exp(x)).all()


@pytest.mark.parametrize("real", ["float64", "float32"])
def test_log_gamma_is_that_of_the_c_library(real, rng):
    """To a few units of its largest summand, `x log x` (its own last place where that is larger)."""
    x = np.concatenate([10.0 ** rng.uniform(-30.0, 4.0, 500), rng.uniform(0.5, 9.0, 500), [1.0, 2.0, 7.99, 8.0, 8.01]])
    x = x.astype(real)
    exact = np.array([math.lgamma(v) for v in x.astype(float)])
    size = np.maximum(np.abs(exact), np.maximum(8.0, x) * np.log(np.maximum(8.0, x)))
    error = np.abs(np.asarray(jax.jit(elementary.log_gamma)(x), np.float64) - exact)
    assert (error <= 3.0 * np.finfo(real).eps * size).all()
    assert elementary.log_gamma(0.0) == np.inf


@pytest.mark.parametrize(("dtype", "rtol"), [(jnp.float32, 2.0e-7), (jnp.float64, 4e-16)])
def test_sine_on_its_range(dtype, rtol):
    """1.8e-7 with fused multiply-add, as the simulation compiles it; here without."""
    v = jnp.linspace(-1, 1, 200_001, dtype=dtype)
    got = jax.jit(elementary.sin_half_pi)(v)
    assert got.dtype == dtype
    np.testing.assert_allclose(np.asarray(got, float), np.sin(np.pi / 2 * np.asarray(v, float)), rtol=rtol)
