"""A growing history: sums against NumPy slices, batched as the simulation batches, and a cost that follows t."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.estimation import history


def fill(values):
    rows = history.empty(len(values), jnp.zeros(values.shape[1:]))
    for t, row in enumerate(values):
        rows = history.append(rows, t, jnp.asarray(row))
    return rows


def test_rows_keep_shape_and_type():
    rows = history.empty(7, {"x": jnp.zeros((2, 3), jnp.float32), "k": jnp.zeros((), jnp.int32)})
    assert rows["x"].shape == (7, 2, 3) and rows["x"].dtype == jnp.float32
    after = history.append(rows, 2, {"x": jnp.ones((2, 3)), "k": 5})
    assert jax.tree.map(lambda a: (a.shape, a.dtype, a.weak_type), after) == jax.tree.map(
        lambda a: (a.shape, a.dtype, a.weak_type), rows
    )
    np.testing.assert_array_equal(after["k"], [0, 0, 5, 0, 0, 0, 0])


@pytest.mark.quick_cases("1-1", "7-3", "20-8", "7-128")
@pytest.mark.parametrize("block", [1, 3, 8, 20, 128])
@pytest.mark.parametrize("capacity", [1, 7, 20])
def test_sum_equals_the_sum_of_the_slice(capacity, block, rng):
    """Every count from none to all, blocks that do and do not divide the capacity; both ways of reducing."""
    values = rng.standard_normal((capacity, 2))
    rows = fill(values)

    def moments(rows, valid):
        weights = jnp.where(valid, rows[:, 0], 0.0)
        return rows.T @ weights, weights  # reduced by the block, and left to the caller

    total = jax.jit(lambda count: history.sum_over(rows, count, moments, block))
    for count in range(capacity + 1):
        reduced, lanes = total(count)
        assert lanes.shape == (min(block, capacity),)
        np.testing.assert_allclose(reduced, values[:count].T @ values[:count, 0], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(lanes.sum(), values[:count, 0].sum(), rtol=1e-12, atol=1e-13)


def test_each_valid_row_is_seen_once():
    rows = fill(np.arange(1.0, 12.0)[:, None])
    count = history.sum_over(rows, 9, lambda r, valid: jnp.zeros(12).at[r[:, 0].astype(int)].add(1.0 * valid), block=4)
    np.testing.assert_array_equal(count, [0] + [1] * 9 + [0] * 2)


def test_beyond_capacity_it_is_a_sliding_window():
    rows = history.empty(4, jnp.zeros(()))
    for t in range(10):
        rows = history.append(rows, t, jnp.asarray(float(t)))
    assert sorted(rows.tolist()) == [6, 7, 8, 9]
    assert history.sum_over(rows, 10, lambda r, valid: jnp.sum(jnp.where(valid, r, 0.0)), block=3) == 30


def test_trials_side_by_side_match_one_by_one(rng):
    """Under vmap over trials with t outside, as the simulation runs."""
    trials, rounds = 5, 23
    x, r = rng.standard_normal((trials, rounds, 3)), rng.standard_normal((trials, rounds))

    def one_round(t, rows, x, r):
        rows = history.append(rows, t, (x, r))
        return rows, history.sum_over(rows, t + 1, lambda row, valid: jnp.where(valid, row[1], 0.0) @ row[0], block=8)

    @jax.jit
    def run(x, r):
        rows = jax.vmap(lambda _: history.empty(rounds, (jnp.zeros(3), jnp.zeros(()))))(x)

        def step(rows, row):
            rows, total = jax.vmap(one_round, in_axes=(None, 0, 0, 0))(row[0], rows, row[1], row[2])
            return rows, total

        return jax.lax.scan(step, rows, (jnp.arange(rounds, dtype=jnp.int32), x.swapaxes(0, 1), r.T))[1]

    want = np.cumsum(x * r[..., None], axis=1)
    np.testing.assert_allclose(run(jnp.asarray(x), jnp.asarray(r)), want.swapaxes(0, 1), rtol=1e-11, atol=1e-12)


def test_work_follows_the_count_not_the_capacity():
    """The number of blocks that are visited, counted by the summand itself, also under vmap."""
    rows = jnp.zeros((3, 1000))
    one = lambda row, valid: jnp.where(row[0] == 0.0, 1.0, jnp.nan)  # noqa: E731
    blocks = jax.vmap(lambda r, c: history.sum_over(r, c, one, 10), in_axes=(0, None))
    for count, visited in ((0, 0), (1, 1), (10, 1), (11, 2), (1000, 100), (5000, 100)):
        np.testing.assert_array_equal(blocks(rows, count), visited)
    (loop,) = loops(jax.make_jaxpr(blocks)(rows, 7).jaxpr)
    bound = loop.params["cond_jaxpr"]
    assert all(v.aval.shape == () for v in bound.jaxpr.invars[:2])  # the counter and its bound carry no trial axis


def loops(jaxpr):
    """The `while` equations of a jaxpr and of those inside it."""
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "while":
            yield eqn
        else:
            for inner in eqn.params.values():
                yield from loops(inner.jaxpr) if hasattr(inner, "jaxpr") else ()
