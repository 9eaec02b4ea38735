"""`numerics.inverse_factors` against NumPy, in few dimensions, in many, and beyond what sums write out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.numerics import inverse_factors, linalg
from jaxbandits.numerics.projection import project_ball
from tests.cholesky_factors import factors

SAMPLES = 3
DIMS = [3, inverse_factors.WRITTEN_OUT + 2, 1, 2, inverse_factors.WRITTEN_OUT, linalg.UNROLLED + 2]
DIMS_SHRUNK = [3, 1, 2, inverse_factors.WRITTEN_OUT, inverse_factors.WRITTEN_OUT + 2, linalg.UNROLLED + 2]  # dear


def inverse_of(xs, weights):
    """Of `2 I + sum_k w_k x_k x_k'`."""
    return jax.lax.fori_loop(
        0,
        SAMPLES,
        lambda k, now: inverse_factors.add(now, weights[k], inverse_factors.image(now, xs[k])),
        inverse_factors.init(xs.shape[1], 2.0),
    )


def results_of_one_trial(xs, weights, y, rows):
    """The result of every function but `shrunk`."""
    inverse = inverse_of(xs, weights)
    image = inverse_factors.image(inverse, y)
    return {
        "dense": inverse_factors.to_dense(inverse),
        "image": image.u,
        "width_sq": image.width_sq,
        "matvec": inverse_factors.matvec(inverse, y),
        "solve": inverse_factors.solve(inverse, y),
        "norm_sq": inverse_factors.norm_sq(inverse, y),
        "quads": inverse_factors.quadratic_forms(inverse, rows),
    }


everything = jax.jit(jax.vmap(results_of_one_trial))


@pytest.fixture
def problem(dim, rng):
    """Two trials of samples, weights, a point and rows, and the matrix of the first one."""
    xs, y, rows = (rng.standard_normal((2, *shape, dim)) for shape in ((SAMPLES,), (), (4,)))
    weights = rng.uniform(0.1, 3.0, (2, SAMPLES))
    weights[1, 0] = 1e12  # far above the others, in one step: no pivot may fall
    return xs, weights, y, rows, 2.0 * np.eye(dim) + (xs[0].T * weights[0]) @ xs[0]


@pytest.mark.quick_cases("3", "14")
@pytest.mark.parametrize("dim", DIMS)
def test_against_numpy(problem):
    xs, weights, y, rows, v = problem
    rows[1, 0] = xs[1, 0]
    got = everything(*map(jnp.asarray, (xs, weights, y, rows)))
    p = np.linalg.inv(v)
    want = {
        "dense": p,
        "image": p @ y[0],
        "width_sq": y[0] @ p @ y[0],
        "matvec": p @ y[0],
        "solve": v @ y[0],
        "norm_sq": y[0] @ v @ y[0],
        "quads": np.einsum("ki,ij,kj->k", rows[0], p, rows[0]),
    }
    for name, value in want.items():
        np.testing.assert_allclose(got[name][0], value, rtol=1e-11, atol=1e-11 * np.abs(value).max(), err_msg=name)
    np.testing.assert_allclose(got["quads"][1, 0], 1e-12, rtol=1e-9)
    assert np.all(np.asarray(got["quads"]) > 0.0)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", DIMS_SHRUNK)
def test_shrunk_against_numpy(dim, problem):
    xs, weights, y, _, v = problem
    mu = weights[0, 0]

    @jax.jit
    @jax.vmap
    def shrunk(xs, weights, y):
        return jnp.stack(inverse_factors.solve_shifted(inverse_factors.shifted_system(inverse_of(xs, weights), y), mu))

    x = np.linalg.solve(v + mu * np.eye(dim), v @ y[0])
    want = np.stack([x, np.linalg.solve(v + mu * np.eye(dim), x)])
    np.testing.assert_allclose(shrunk(xs, weights, y)[0], want, rtol=1e-11, atol=1e-11 * np.abs(want).max())


@pytest.mark.slow
@pytest.mark.parametrize("dim", [7, 6, 8, 12])
def test_blocks_give_what_is_written_out(dim, problem, monkeypatch):
    """Both forms on the same samples, and the blocks without `vmap`, too."""
    xs, weights, y, rows, _ = map(jnp.asarray, problem)

    def results():
        by_trials = jax.jit(jax.vmap(lambda *args: results_of_one_trial(*args)))(xs, weights, y, rows)
        alone = jax.jit(lambda *args: results_of_one_trial(*args))(xs[0], weights[0], y[0], rows[0])
        shrunk = inverse_factors.solve_shifted(inverse_factors.shifted_system(inverse_of(xs[0], weights[0]), y[0]), 0.7)
        return by_trials, jax.tree.map(lambda a: a[None], alone), shrunk

    written_out = results()
    monkeypatch.setattr(inverse_factors, "WRITTEN_OUT", 0)
    assert isinstance(inverse_factors.init(dim, 2.0).sums, inverse_factors.ColumnBlocks)
    for got, want in zip(jax.tree.leaves(results()), jax.tree.leaves(written_out), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-11 * np.abs(want).max())


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [inverse_factors.WRITTEN_OUT + 2, 1, 3, inverse_factors.WRITTEN_OUT, 40, 70])
def test_factors_of_a_matrix_are_those_of_its_samples(dim, rng):
    """One factorisation against rank-one updates; matrices above 32 rows are factored in halves."""
    xs = jnp.asarray(rng.normal(size=(2, SAMPLES, dim)))
    weights = jnp.ones(SAMPLES)

    def both(xs):
        return inverse_factors.from_matrix(2.0 * jnp.eye(dim) + xs.T @ xs), inverse_of(xs, weights)

    found, expected = jax.jit(jax.vmap(both))(xs)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10), found, expected)
    pivots = jax.vmap(inverse_factors.pivots)(found)
    determinants = np.linalg.slogdet(2.0 * np.eye(dim) + np.swapaxes(xs, 1, 2) @ xs)[1]
    np.testing.assert_allclose(np.log(pivots).sum(1), determinants, rtol=1e-10)


def test_arms_and_factors_may_be_the_same_for_all_trials(rng):
    v = np.diag([1.0, 4.0, 9.0]) + 0.5
    ys, inverse = jnp.asarray(rng.standard_normal((5, 3))), factors(v)
    image = jax.jit(jax.vmap(lambda y: inverse_factors.add(inverse, 1.0, inverse_factors.image(inverse, y))))(ys)
    for k, y in enumerate(np.asarray(ys)):
        got = inverse_factors.to_dense(jax.tree.map(lambda leaf, k=k: leaf[k], image))
        np.testing.assert_allclose(got, np.linalg.inv(v + np.outer(y, y)), rtol=1e-12)


def test_projection_by_the_factors_is_the_one_by_the_inverse(rng):
    """Inside, outside, and with a V of condition number 1e10."""
    root = rng.standard_normal((3, 3))
    v = root @ root.T + np.diag([1e-4, 1.0, 1e6])
    for y in (0.1 * np.ones(3), np.array([1.0, -2.0, 30.0])):
        by_factors = project_ball(factors(v), jnp.asarray(y), 1.0)
        np.testing.assert_allclose(by_factors, project_ball(jnp.linalg.inv(v), jnp.asarray(y), 1.0), rtol=1e-6)
