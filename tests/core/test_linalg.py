"""`core.linalg` against NumPy in every dimension: alone, under `vmap`, under two of them, in loops and branches."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbandits.core import linalg
from jaxbandits.core.vmap_last import vmap_last
from tests.sizes import sizes

DIMS = sizes(3, linalg.UNROLLED + 12, slow=(1, 2, 5, 13, 20))
CLOSE = {"rtol": 1e-11, "atol": 1e-11}


def draw(rng, dim):
    """A symmetric positive definite matrix of condition number at most 10 d and two vectors."""
    root = rng.standard_normal((dim, 2 * dim))
    return root @ root.T / dim + 0.5 * np.eye(dim), rng.standard_normal(dim), rng.standard_normal(dim)


def outer(x, y):
    return x[:, None] * y[None]


def solved(m, x):
    return linalg.solve(linalg.factor(m), x)


@jax.jit
def solved_and_updated(m, inverse, x):
    return solved(m, x), linalg.sherman_morrison(inverse, 0.9, x)[0]


# name -> (ours, NumPy), of (m, x, y)
OPERATIONS = {
    "inner": (lambda m, x, y: linalg.inner(x, y), lambda m, x, y: x @ y),
    "inner of matrices": (lambda m, x, y: linalg.inner(m, 2.0 * m), lambda m, x, y: np.sum(2.0 * m * m)),
    "norm": (lambda m, x, y: linalg.norm(x), lambda m, x, y: np.linalg.norm(x)),
    "matvec": (lambda m, x, y: linalg.matvec(m, x), lambda m, x, y: m @ x),
    "quad": (lambda m, x, y: linalg.quad(m, x), lambda m, x, y: x @ m @ x),
    "quads": (
        lambda m, x, y: linalg.quads(m, jnp.stack([x, y, x + y])),
        lambda m, x, y: np.array([z @ m @ z for z in (x, y, x + y)]),
    ),
    "outer": (lambda m, x, y: linalg.outer(x, y), lambda m, x, y: outer(x, y)),
    "rank_one": (lambda m, x, y: linalg.rank_one(m, x[0], y), lambda m, x, y: m + x[0] * outer(y, y)),
    "gram": (lambda m, x, y: linalg.gram(m, x), lambda m, x, y: m.T @ np.diag(x) @ m),
    "combine": (lambda m, x, y: linalg.combine(x, m), lambda m, x, y: x @ m),
    "shift": (lambda m, x, y: linalg.shift(m, x[0]), lambda m, x, y: m + x[0] * np.eye(len(x))),
    "trace": (lambda m, x, y: linalg.trace(m), lambda m, x, y: np.trace(m)),
    "identity": (lambda m, x, y: linalg.identity(len(x), x[0]), lambda m, x, y: x[0] * np.eye(len(x))),
    "solve": (lambda m, x, y: solved(m, x), lambda m, x, y: np.linalg.solve(m, x)),
    "root_times": (lambda m, x, y: linalg.root_times(linalg.factor(m), x), lambda m, x, y: np.linalg.cholesky(m) @ x),
    "root_solve": (
        lambda m, x, y: linalg.root_solve(linalg.factor(m), x),
        lambda m, x, y: np.linalg.solve(np.linalg.cholesky(m).T, x),
    ),
    "where": (lambda m, x, y: linalg.where(x[0] > 0, (m, x), (2 * m, y))[0], lambda m, x, y: m * (2 - (x[0] > 0))),
    "sherman_morrison": (
        lambda m, x, y: jnp.concatenate(
            [part.ravel() for part in linalg.sherman_morrison(m, 0.7, x)]  # of the inverse of m^{-1}
        ),
        lambda m, x, y: np.concatenate(
            [np.linalg.inv(np.linalg.inv(m) + 0.7 * outer(x, x)).ravel(), m @ x, [x @ m @ x]]
        ),
    ),
}


@pytest.mark.quick("3")
@pytest.mark.parametrize("dim", DIMS)
def test_against_numpy(dim, rng):
    """One trial; six; 2 x 3; six on the last axis: the same numbers as NumPy's."""
    cases = [draw(rng, dim) for _ in range(6)]
    batch = [jnp.asarray(np.stack(column)) for column in zip(*cases, strict=True)]

    def everything(m, x, y):
        return {name: ours(m, x, y) for name, (ours, _) in OPERATIONS.items()}

    single = jax.tree.map(lambda a: a[None], jax.jit(everything)(*(a[0] for a in batch)))
    many = jax.jit(jax.vmap(everything))(*batch)
    nested = jax.jit(jax.vmap(jax.vmap(everything)))(*(a.reshape(2, 3, *a.shape[1:]) for a in batch))
    last = jax.vmap(everything, in_axes=-1, out_axes=-1)
    last = jax.jit(last)(*(jnp.moveaxis(a, 0, -1) for a in batch))
    for name, (_, reference) in OPERATIONS.items():
        expected = np.stack([reference(*case) for case in cases])
        close = {"rtol": 1e-11, "atol": 1e-11 * np.abs(expected).max(), "err_msg": name}
        np.testing.assert_allclose(single[name], expected[:1], **close)
        np.testing.assert_allclose(many[name], expected, **close)
        np.testing.assert_allclose(nested[name].reshape(expected.shape), expected, **close)
        np.testing.assert_allclose(jnp.moveaxis(last[name], -1, 0), expected, **close)


@pytest.mark.parametrize("dim", sizes(2, slow=(13,)))
def test_some_arguments_may_be_the_same_for_all_trials(dim, rng):
    m, x, _ = draw(rng, dim)
    many = jnp.asarray(rng.standard_normal((3, 4, dim)))
    inverse = jnp.asarray(np.linalg.inv(m))
    for f, expected in [
        (lambda y: linalg.matvec(inverse, y), many @ inverse),
        (lambda y: linalg.inner(jnp.asarray(x), y), many @ x),
        (lambda y: linalg.rank_one(inverse, 2.0, y), inverse + 2.0 * many[..., :, None] * many[..., None, :]),
        (lambda y: linalg.solve(linalg.factor(jnp.asarray(m)), y), many @ inverse),
        (lambda y: linalg.shift(inverse, y[0]), inverse + many[..., :1, None] * np.eye(dim)),
    ]:
        np.testing.assert_allclose(jax.jit(jax.vmap(jax.vmap(f)))(many), expected, **CLOSE)


def test_types_and_shapes(rng):
    """Numbers do not widen arrays, and shapes are known without running."""
    x = jnp.asarray(rng.standard_normal(3), jnp.float32)
    m = jnp.asarray(np.eye(3), jnp.float32)
    for made in (linalg.rank_one(m, 0.5, x), linalg.shift(m, 2.0), *linalg.sherman_morrison(m, 1.0, x)):
        assert made.dtype == jnp.float32
        assert not made.weak_type
    assert linalg.zeros(3).dtype == linalg.identity(3).dtype == jnp.float64
    shape = jax.eval_shape(jax.vmap(linalg.rank_one, in_axes=(None, 0, None)), m, jnp.ones(4, jnp.float32), x)
    assert shape.shape == (4, 3, 3)


@pytest.mark.parametrize("dim", sizes(3, slow=(20,)))
def test_rank_one_updates_stay_symmetric(dim, rng):
    m, x, y = (jnp.asarray(a) for a in draw(rng, dim))
    m = linalg.rank_one(linalg.rank_one(m, 0.3, x), -0.1, y) - m
    np.testing.assert_array_equal(m, m.T)


@pytest.mark.slow
@settings(max_examples=30)
@given(dim=st.sampled_from((1, 4, 12)), log_condition=st.floats(0.0, 12.0), seed=st.integers(0, 2**32 - 1))
def test_solve_is_backward_stable(dim, log_condition, seed):
    """`||M x - b||` is rounding of `||M|| ||x||`, however badly conditioned M is; so is a Sherman-Morrison update of a
    moderate weight, relative to what the condition number permits."""
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.standard_normal((dim, dim)))
    m = (q * np.logspace(-log_condition, 0.0, dim)) @ q.T
    m = 0.5 * (m + m.T)
    b = rng.standard_normal(dim)
    regular = m + 1e-4 * np.eye(dim)  # condition number at most 1e4
    x, updated = map(np.asarray, solved_and_updated(m, np.linalg.inv(regular), b))
    assert np.linalg.norm(m @ x - b) <= 1e-14 * dim * (np.linalg.norm(m, 2) * np.linalg.norm(x) + np.linalg.norm(b))
    error = updated @ (regular + 0.9 * np.outer(b, b)) - np.eye(dim)
    assert np.abs(error).max() <= 1e-14 * dim * 1e4 * (1.0 + b @ b)


@pytest.mark.parametrize("n", [linalg.UNROLLED + 1, 64, pytest.param(1000, marks=pytest.mark.slow)])
def test_sums_over_many_rows(rng, n):
    """Long enough for slices of slices, with rows that no slice takes."""
    rows, weights = rng.standard_normal((n, 3, 32)), rng.standard_normal((n, 32))

    def sums(rows, weights):
        return linalg.gram(rows, weights), linalg.combine(weights, rows), linalg.total(weights)

    gram, combined, total = jax.jit(vmap_last(sums))(rows, weights)
    np.testing.assert_allclose(gram, np.einsum("nw,niw,njw->ijw", weights, rows, rows), **CLOSE)
    np.testing.assert_allclose(combined, np.einsum("nw,niw->iw", weights, rows), **CLOSE)
    np.testing.assert_allclose(total, weights.sum(axis=0), **CLOSE)
    alone = jax.jit(sums)(rows[..., 5], weights[..., 5])
    for one, many in zip(alone, (gram, combined, total), strict=True):
        np.testing.assert_allclose(one, many[..., 5], **CLOSE)


def test_sums_over_many_rows_are_vector_code():
    """XLA:CPU takes a reduction over a first axis entry by entry."""
    rows, weights = jnp.ones((256, 2, 32)), jnp.ones((256, 32))
    text = jax.jit(vmap_last(linalg.gram)).lower(rows, weights).compile().as_text()
    assert " reduce(" not in text
