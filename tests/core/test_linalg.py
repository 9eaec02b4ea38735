"""`Vec` and `Sym` against dense NumPy: the operators must read and compute like linear algebra in every dimension."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbandits.core import linalg
from jaxbandits.core.linalg import Sym, Vec

DIMS = [*range(1, 13), 13, 20]
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def draw(rng, dim):
    """A symmetric positive definite matrix of condition number at most 10 d and two vectors."""
    root = rng.standard_normal((dim, 2 * dim))
    return root @ root.T / dim + 0.5 * np.eye(dim), rng.standard_normal(dim), rng.standard_normal(dim)


@pytest.fixture(params=DIMS)
def case(request, rng):
    """`(M, x, y)` in NumPy and in the library's form."""
    m, x, y = draw(rng, request.param)
    return (m, x, y), (linalg.symmetric(jnp.asarray(m)), linalg.vectors(jnp.asarray(x)), linalg.vectors(jnp.asarray(y)))


def close(actual, desired):
    np.testing.assert_allclose(linalg.dense(actual) if isinstance(actual, (Vec, Sym)) else actual, desired, **CLOSE)


def test_form_is_chosen_by_the_dimension():
    small, large = jnp.ones(linalg.SMALL_DIM), jnp.ones(linalg.SMALL_DIM + 1)
    assert isinstance(linalg.vectors(small), Vec)
    assert isinstance(linalg.vectors(large), jax.Array)
    assert isinstance(linalg.symmetric(jnp.eye(linalg.SMALL_DIM)), Sym)
    assert isinstance(linalg.symmetric(jnp.eye(linalg.SMALL_DIM + 1)), jax.Array)
    for dim in (3, 20):  # constructors agree with converters
        assert jax.tree.structure(linalg.zeros(dim)) == jax.tree.structure(linalg.vectors(jnp.zeros(dim)))
        assert jax.tree.structure(linalg.identity(dim)) == jax.tree.structure(linalg.symmetric(jnp.eye(dim)))
        close(linalg.zeros(dim), np.zeros(dim))
        close(linalg.identity(dim, 2.5), 2.5 * np.eye(dim))


def test_round_trips(case):
    (m, x, y), (sym, vec, _) = case
    np.testing.assert_array_equal(linalg.dense(sym), m)
    np.testing.assert_array_equal(linalg.dense(vec), x)
    np.testing.assert_array_equal(linalg.dense([vec, linalg.vectors(jnp.asarray(y))]), np.stack([x, y]))
    leaves, structure = jax.tree.flatten(sym)  # through JAX's own flattening as well
    np.testing.assert_array_equal(linalg.dense(jax.tree.unflatten(structure, leaves)), m)


def test_vector_operators(case):
    (_, x, y), (_, vx, vy) = case
    close(vx + vy, x + y)
    close(vx - vy, x - y)
    close(-vx, -x)
    close(2.5 * vx, 2.5 * x)
    close(vx * jnp.asarray(2.5), 2.5 * x)
    close(np.float64(2.5) * vx, 2.5 * x)  # a NumPy scalar on the left defers
    close(vx / 2.5, x / 2.5)
    close(vx @ vy, x @ y)
    close(linalg.inner(vx, vy), x @ y)
    close(linalg.norm(vx), np.linalg.norm(x))


def test_matrix_operators(case):
    (m, x, y), (sym, vx, vy) = case
    other = linalg.rank_one(linalg.identity(len(x)), 1.0, vy)
    close(sym @ vx, m @ x)
    close(linalg.quad(sym, vx), x @ m @ x)
    close(linalg.rank_one(sym, -0.3, vx), m - 0.3 * np.outer(x, x))
    close(linalg.shift(sym, 1.25), m + 1.25 * np.eye(len(x)))
    close(linalg.trace(sym), np.trace(m))
    close(sym + other, m + np.eye(len(x)) + np.outer(y, y))
    close(sym - other, m - np.eye(len(x)) - np.outer(y, y))
    close(2.5 * sym, 2.5 * m)
    close(sym * jnp.asarray(2.5), 2.5 * m)


def test_solve(case):
    (m, x, y), (sym, vx, vy) = case
    factored = linalg.factor(sym)
    close(linalg.solve(factored, vx), np.linalg.solve(m, x))
    close(linalg.solve(factored, vy), np.linalg.solve(m, y))


def test_sherman_morrison(case):
    (m, x, _), (_, vx, _) = case
    inverse = np.linalg.inv(m)
    updated, u, width_sq = linalg.sherman_morrison(linalg.symmetric(jnp.asarray(inverse)), 0.7, vx)
    close(updated, np.linalg.inv(m + 0.7 * np.outer(x, x)))
    close(u, inverse @ x)
    close(width_sq, x @ inverse @ x)


def test_where(case):
    (m, x, y), (sym, vx, vy) = case
    for condition in (True, False):
        np.testing.assert_array_equal(linalg.dense(linalg.where(condition, vx, vy)), x if condition else y)
        chosen = linalg.where(jnp.asarray(condition), sym, 2.0 * sym)
        np.testing.assert_array_equal(linalg.dense(chosen), m if condition else 2.0 * m)


def test_symmetric_reads_the_upper_triangle():
    upper = np.triu(np.arange(1.0, 10.0).reshape(3, 3))
    np.testing.assert_array_equal(linalg.dense(linalg.symmetric(jnp.asarray(upper))), np.triu(upper, 1).T + upper)
    sym = linalg.symmetric(jnp.asarray(upper))
    assert sym[0, 2] == sym[2, 0] == 3.0


@pytest.mark.parametrize("dim", [1, 2, 5, 12])
def test_leaves_of_k_vectors(dim, rng):
    """A `Vec` with leaves `[K]` is K vectors: every operator acts on each of them."""
    m, y, _ = draw(rng, dim)
    many = rng.standard_normal((7, dim))
    vecs, sym, vy = linalg.vectors(jnp.asarray(many)), linalg.symmetric(jnp.asarray(m)), linalg.vectors(jnp.asarray(y))
    assert vecs[0].shape == (7,)
    np.testing.assert_array_equal(linalg.dense(vecs), many)
    close(vecs @ vy, many @ y)
    close(sym @ vecs, many @ m)
    close(linalg.quad(sym, vecs), np.einsum("ki,ij,kj->k", many, m, many))
    close(linalg.norm(vecs), np.linalg.norm(many, axis=1))
    close(linalg.solve(linalg.factor(sym), vecs), np.linalg.solve(m, many.T).T)
    close(jnp.arange(7.0) * vecs, np.arange(7.0)[:, None] * many)
    mask = rng.random(7) < 0.5
    np.testing.assert_array_equal(linalg.dense(linalg.where(mask, vecs, -vecs)), np.where(mask[:, None], many, -many))


@pytest.mark.parametrize("dim", [2, 5, 20])
def test_the_same_program_under_vmap(dim, rng):
    """Batched over trials: one `Sym` and `Vec` for each."""
    cases = [draw(rng, dim) for _ in range(4)]
    m, x, y = (jnp.asarray(np.stack(column)) for column in zip(*cases, strict=True))

    def solve_updated(m, x, y):
        sym, vx, vy = linalg.symmetric(m), linalg.vectors(x), linalg.vectors(y)
        return linalg.dense(linalg.solve(linalg.factor(linalg.rank_one(sym, 0.5, vx)), vy))

    expected = [np.linalg.solve(a + 0.5 * np.outer(b, b), c) for a, b, c in cases]
    np.testing.assert_allclose(jax.jit(jax.vmap(solve_updated))(m, x, y), expected, **CLOSE)


@settings(max_examples=30)
@given(dim=st.integers(1, 12), log_condition=st.floats(0.0, 12.0), seed=st.integers(0, 2**32 - 1))
def test_solve_is_backward_stable(dim, log_condition, seed):
    """`||M x - b||` is rounding of `||M|| ||x||`, however badly conditioned M is; so is a Sherman-Morrison update of a
    moderate weight, relative to what the condition number permits."""
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.standard_normal((dim, dim)))
    m = (q * np.logspace(-log_condition, 0.0, dim)) @ q.T
    m = 0.5 * (m + m.T)
    b = rng.standard_normal(dim)
    sym, vec = linalg.symmetric(jnp.asarray(m)), linalg.vectors(jnp.asarray(b))
    x = np.asarray(linalg.dense(linalg.solve(linalg.factor(sym), vec)))
    assert np.linalg.norm(m @ x - b) <= 1e-14 * dim * (np.linalg.norm(m, 2) * np.linalg.norm(x) + np.linalg.norm(b))

    regular = m + 1e-4 * np.eye(dim)  # condition number at most 1e4
    inverse = np.linalg.inv(regular)
    updated, _, _ = linalg.sherman_morrison(linalg.symmetric(jnp.asarray(inverse)), 0.9, vec)
    error = np.asarray(linalg.dense(updated)) @ (regular + 0.9 * np.outer(b, b)) - np.eye(dim)
    assert np.abs(error).max() <= 1e-14 * dim * 1e4 * (1.0 + b @ b)
