"""CompensatedSum sums against exact ones, for vectors in both forms, under `jit`, `scan` and `vmap`."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.numerics.compensated import CompensatedSum


@jax.jit
def accumulate(rows):
    """CompensatedSum and plain sum of `rows` `[n, d]`, in the form that d has."""
    start = jax.tree.map(lambda x: jnp.zeros((), rows.dtype) * x[0], rows)

    def add(carry, row):
        compensated, plain = carry
        return (compensated.add(row), plain + row), None

    (compensated, plain), _ = jax.lax.scan(add, (CompensatedSum.init(start), start), rows)
    return compensated.total, compensated.error, plain


def exact(rows):
    return np.array([math.fsum(column) for column in np.asarray(rows, float).T])


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [2, 20])
def test_float32_sum_is_rounded_once(dim, rng):
    """10^5 terms of nearly one size, whose roundings in a plain sum have one sign for long."""
    rows = (0.1 + 1e-4 * rng.uniform(size=(100_000, dim))).astype(np.float32)
    total, rest, plain = (np.asarray(x) for x in accumulate(rows))
    assert total.dtype == rest.dtype == np.float32
    rounding = np.finfo(np.float32).eps * exact(rows)
    assert (np.abs(total - exact(rows)) <= rounding).all()
    assert (np.abs((total.astype(float) - rest) - exact(rows)) <= 1e-2 * rounding).all()  # the pair knows more
    assert np.abs(plain - exact(rows)).min() > 20.0 * rounding.max()


def test_small_terms_beside_a_large_one():
    """2^30 and 2^12 ones, beside which the plain float32 sum never moves; by hand, 2^24 and three ones."""
    rows = np.ones((4097, 1), np.float32)
    rows[0] = 2.0**30
    total, rest, plain = (float(x[0]) for x in accumulate(rows))
    assert (total, rest, plain) == (2.0**30 + 2.0**12, 0.0, 2.0**30)
    total, rest, plain = (float(x[0]) for x in accumulate(np.array([[2.0**24], [1.0], [1.0], [1.0]], np.float32)))
    assert (total, rest, plain) == (2.0**24 + 4.0, 1.0, 2.0**24)  # 2^24 + 3 lies halfway between two floats


def test_terms_of_both_signs(rng):
    """The error is one of the partial sums' size, however much cancels."""
    rows = rng.standard_normal((20_000, 3)) * 10.0 ** rng.uniform(-6.0, 6.0, (20_000, 1))
    rows = np.concatenate([rows, -rows[rng.permutation(len(rows))]])
    bound = 2.0 * np.finfo(float).eps * np.abs(rows).sum(axis=0)
    total, _, _ = accumulate(rows)
    np.testing.assert_array_equal(exact(rows), 0.0)
    assert (np.abs(total) <= bound).all()


def test_under_vmap_as_alone(rng):
    rows = rng.standard_normal((4, 200, 2))
    together = jax.jit(jax.vmap(accumulate))(jnp.asarray(rows))
    for ours, alone in zip(together, zip(*map(accumulate, rows), strict=True), strict=True):
        np.testing.assert_array_equal(ours, alone)


def test_state_keeps_shape_and_type():
    for start in (jnp.zeros(()), jnp.zeros(3, jnp.float32), jnp.zeros(2), jnp.zeros((2, 5))):
        begin = CompensatedSum.init(start)
        after = begin.add(jax.tree.map(jnp.ones_like, start))

        assert jax.tree.structure(begin) == jax.tree.structure(after)
        for a, b in zip(jax.tree.leaves(begin), jax.tree.leaves(after), strict=True):
            assert (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type)
    np.testing.assert_array_equal(CompensatedSum.init(jnp.full(2, 3.0)).add(jnp.ones(2)).total, [4.0, 4.0])
