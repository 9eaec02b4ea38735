"""`numerics.linalg` against NumPy in every dimension, and plain sums under `vmap_last`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbandits.base import trees
from jaxbandits.numerics import linalg
from jaxbandits.tracing.vmap_last import vmap_last

DIMS = [3, linalg.UNROLLED + 12, 1, 2, 5, 13, 20]
CLOSE = {"rtol": 1e-11, "atol": 1e-11}


def draw(rng, dim):
    """A symmetric positive definite matrix of condition number at most 10 d and a vector."""
    root = rng.standard_normal((dim, 2 * dim))
    return root @ root.T / dim + 0.5 * np.eye(dim), rng.standard_normal(dim)


@jax.jit
def solve(m, x):
    return linalg.solve(linalg.factor(m), x)


# name -> (ours, NumPy), of (m, x)
OPERATIONS = {
    "solve": (solve, np.linalg.solve),
    "log_det": (lambda m, x: linalg.log_det(linalg.factor(m)), lambda m, x: np.linalg.slogdet(m)[1]),
    "where": (lambda m, x: trees.where(x[0] > 0, (m, x), (2 * m, x))[0], lambda m, x: m * (2 - (x[0] > 0))),
}


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", DIMS)
def test_against_numpy(dim, rng):
    """One trial; six; 2 x 3; six on the last axis: the same numbers as NumPy's."""
    cases = [draw(rng, dim) for _ in range(6)]
    batch = [jnp.asarray(np.stack(column)) for column in zip(*cases, strict=True)]

    def everything(m, x):
        return {name: ours(m, x) for name, (ours, _) in OPERATIONS.items()}

    single = jax.tree.map(lambda a: a[None], jax.jit(everything)(*(a[0] for a in batch)))
    many = jax.jit(jax.vmap(everything))(*batch)
    nested = jax.jit(jax.vmap(jax.vmap(everything)))(*(a.reshape(2, 3, *a.shape[1:]) for a in batch))
    last = jax.jit(vmap_last(everything))(*(jnp.moveaxis(a, 0, -1) for a in batch))
    for name, (_, reference) in OPERATIONS.items():
        expected = np.stack([reference(*case) for case in cases])
        close = {"rtol": 1e-11, "atol": 1e-11 * np.abs(expected).max(), "err_msg": name}
        np.testing.assert_allclose(single[name], expected[:1], **close)
        np.testing.assert_allclose(many[name], expected, **close)
        np.testing.assert_allclose(nested[name].reshape(expected.shape), expected, **close)
        np.testing.assert_allclose(jnp.moveaxis(last[name], -1, 0), expected, **close)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [2, 13])
def test_the_matrix_may_be_the_same_for_all_trials(dim, rng):
    m, _ = draw(rng, dim)
    many = jnp.asarray(rng.standard_normal((3, 4, dim)))
    found = jax.jit(jax.vmap(jax.vmap(lambda y: solve(jnp.asarray(m), y))))(many)
    np.testing.assert_allclose(found, many @ np.linalg.inv(m), **CLOSE)


def test_float32_stays_float32():
    m, x = jnp.eye(3, dtype=jnp.float32), jnp.ones(3, jnp.float32)
    assert solve(m, x).dtype == linalg.log_det(linalg.factor(m)).dtype == jnp.float32


@pytest.mark.slow
@settings(max_examples=30)
@given(dim=st.sampled_from((1, 4, 12)), log_condition=st.floats(0.0, 12.0), seed=st.integers(0, 2**32 - 1))
def test_solve_is_backward_stable(dim, log_condition, seed):
    """`||M x - b||` is rounding of `||M|| ||x||`, however badly conditioned M is."""
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.standard_normal((dim, dim)))
    m = (q * np.logspace(-log_condition, 0.0, dim)) @ q.T
    m = 0.5 * (m + m.T)
    b = rng.standard_normal(dim)
    x = np.asarray(solve(m, b))
    assert np.linalg.norm(m @ x - b) <= 1e-14 * dim * (np.linalg.norm(m, 2) * np.linalg.norm(x) + np.linalg.norm(b))


def gram(rows, weights):
    return (rows.T * weights) @ rows


@pytest.mark.slow_cases("1000")
@pytest.mark.parametrize("n", [linalg.UNROLLED + 1, 64, 1000])
def test_sums_over_many_rows(rng, n):
    """Long enough for slices of slices, with rows that no slice takes."""
    rows, weights = rng.standard_normal((n, 3, 32)), rng.standard_normal((n, 32))

    def sums(rows, weights):
        return gram(rows, weights), weights @ rows, jnp.sum(weights)

    found = jax.jit(vmap_last(sums))(rows, weights)
    expected = (
        np.einsum("nw,niw,njw->ijw", weights, rows, rows),
        np.einsum("nw,niw->iw", weights, rows),
        weights.sum(axis=0),
    )
    for ours, reference in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, reference, **CLOSE)


def test_sums_over_many_rows_are_vector_code():
    """XLA:CPU takes a reduction over a first axis entry by entry."""
    rows, weights = jnp.ones((256, 2, 32)), jnp.ones((256, 32))
    text = jax.jit(vmap_last(gram)).lower(rows, weights).compile().as_text()
    assert " reduce(" not in text
    assert " dot(" not in text
