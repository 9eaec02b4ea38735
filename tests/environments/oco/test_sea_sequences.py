"""Sequences of means: every round against a NumPy list, sums and paths against brute force."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.environments.oco.sequences import Alternating, Constant, Drift, IsolatedFlips, Piecewise


def constant(rng, horizon, dim):
    return Constant(), np.tile(np.eye(dim)[0], (horizon, 1))


def alternating(rng, horizon, dim):
    period = int(rng.integers(1, 20))
    sign = [(-1.0) ** (t // period) for t in range(horizon)]
    return Alternating(period=period), np.outer(sign, np.eye(dim)[0])


def corrupted_sequence(rng, horizon, dim):
    count = int(rng.integers(0, (horizon - 3) // 2 + 1))
    sign = np.ones(horizon)
    sign[[i * (horizon - 1) // (count + 1) for i in range(1, count + 1)]] = -1.0
    return IsolatedFlips(count=count, horizon=horizon), np.outer(sign, np.eye(dim)[0])


def drift(rng, horizon, dim):
    turns = rng.uniform(-3.0, 3.0)
    angle = 2.0 * np.pi * turns / horizon * np.arange(horizon)
    rows = np.zeros((horizon, dim))
    rows[:, 0], rows[:, 1] = np.cos(angle), np.sin(angle)
    return Drift(turns=turns, horizon=horizon), rows


def piecewise(rng, horizon, dim):
    vectors = rng.standard_normal((int(rng.integers(1, 6)), dim))
    starts = np.concatenate([[0], np.sort(rng.choice(np.arange(1, horizon), len(vectors) - 1, replace=False))])
    ends = np.append(starts[1:], horizon)
    return Piecewise(vectors=vectors, starts=starts), np.repeat(vectors, ends - starts, axis=0)


MAKERS = [constant, alternating, corrupted_sequence, drift, piecewise]


@functools.partial(jax.jit, static_argnums=2)
def tabulate(sequence, steps, dim):
    """Directions and sums `[n, dim]`, squared paths and lengths `[n]`, at `steps`."""

    def one(t):
        both = (f(t, dim) for f in (sequence.at, sequence.sum))
        return *both, sequence.squared_path(t), sequence.length_sum(t)

    return jax.vmap(one)(steps)


@pytest.mark.quick_cases("constant-2", "corrupted_sequence-2", "drift-2")
@pytest.mark.parametrize("dim", [2, 20])
@pytest.mark.parametrize("make", MAKERS)
def test_rounds_sums_and_paths(make, dim, rng):
    horizon = 301
    for _ in range(3 if make is not piecewise else 1):
        sequence, rows = make(rng, horizon, dim)
        validate(sequence)
        at, sums, paths, lengths = tabulate(as_arrays(sequence), np.arange(horizon + 1, dtype=np.int32), dim)
        np.testing.assert_allclose(at[:-1], rows, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(sums[1:], np.cumsum(rows, axis=0), rtol=0.0, atol=1e-9)
        np.testing.assert_array_equal(sums[0], np.zeros(dim))
        moves = np.sum(np.diff(rows, axis=0, prepend=np.zeros((1, dim))) ** 2, axis=1)
        norms = np.linalg.norm(rows, axis=1)
        np.testing.assert_allclose(paths[1:], np.cumsum(moves), rtol=1e-11)
        np.testing.assert_allclose(lengths[1:], np.cumsum(norms), rtol=1e-11)
        np.testing.assert_allclose(sequence.bound, norms.max(), rtol=1e-12)


def test_corrupted_rounds_are_those_of_linspace(rng):
    """The rule is usually written with `linspace`, whose rounding loses a round where the quotient is whole."""
    steps = np.arange(4000, dtype=np.int32)
    for _ in range(30):
        count = int(rng.integers(0, 80))
        horizon = int(2 * count + 3 + rng.integers(0, 3000))
        expected = np.linspace(0, horizon - 1, count + 2).astype(int)[1:-1]
        signs = tabulate(as_arrays(IsolatedFlips(count=count, horizon=horizon)), steps, 1)[0][:, 0]
        found = np.flatnonzero(np.asarray(signs) < 0)
        assert len(found) == count
        whole = np.arange(1, count + 1) * (horizon - 1) % (count + 1) == 0
        np.testing.assert_array_equal(found[~whole], expected[~whole])
        assert np.isin(found[whole] - expected[whole], (0, 1)).all()


@pytest.mark.slow
def test_corrupted_is_exact_where_products_overflow():
    count, horizon = 1_000_003, 16_000_000  # 1.6e13, far beyond int32
    sequence = as_arrays(IsolatedFlips(count=count, horizon=horizon))
    rounds = np.arange(1, count + 1) * (horizon - 1) // (count + 1)
    around = np.unique(np.clip(np.concatenate([rounds[-2000:] + k for k in (-1, 0, 1)]), 0, horizon - 1))
    signs = np.asarray(tabulate(sequence, around.astype(np.int32), 1)[0][:, 0])
    np.testing.assert_array_equal(signs < 0, np.isin(around, rounds))
    assert int(sequence.count_corrupted(horizon)) == count
    with pytest.warns(DeprecationWarning, match="use count_corrupted"):
        assert int(sequence.corrupted(horizon)) == count


def test_drift_without_turns_stands_still():
    sequence = as_arrays(Drift(turns=0.0, horizon=10))
    np.testing.assert_array_equal(sequence.sum(jnp.int32(7), 2), [7.0, 0.0])
    assert sequence.squared_path(10) == 1.0


def test_evenly():
    sequence = Piecewise.equal_segments([[1.0], [2.0], [3.0]], 10)
    np.testing.assert_array_equal(sequence.starts, [0, 3, 6])


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_jumps_of_integer_types_do_not_overflow(kind):
    sequence = Piecewise(vectors=np.array([[100, 0], [0, 100]], kind), starts=np.array([0, 3]))
    assert float(sequence.squared_path(5)) == 10_000.0 + 20_000.0


def test_lengths_of_float16_do_not_overflow():
    sequence = Piecewise(vectors=np.array([[300.0, 400.0], [0.0, 1.0]], np.float16), starts=np.array([0, 3]))
    assert float(sequence.bound) == 500.0 and float(sequence.length_sum(5)) == 1502.0


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.uint32])
def test_starts_of_integer_types_do_not_overflow(kind):
    sequence = Piecewise(vectors=np.eye(2), starts=np.array([0, 100], kind))
    assert float(sequence.length_sum(60)) == 60.0
    assert float(sequence.length_sum(300)) == 300.0
    assert float(sequence.squared_path(60)) == 1.0
    assert float(sequence.squared_path(300)) == 3.0


def test_parameters_are_batched():
    """A sweep over a field of a sequence: one program, different periods."""
    periods = jnp.array([1.0, 2.0, 3.0])
    signs = jax.jit(jax.vmap(lambda p: Alternating(period=p).at(jnp.int32(2), 1)[0]))(periods)
    np.testing.assert_array_equal(signs, [1.0, -1.0, 1.0])


def test_rejects():
    for wrong in (
        Alternating(period=0),
        Alternating(period=1.5),
        IsolatedFlips(count=4, horizon=10),
        IsolatedFlips(count=np.uint8(200), horizon=300),
        IsolatedFlips(count=-1, horizon=10),
        Drift(turns=np.nan, horizon=10),
        Piecewise(vectors=np.ones((2, 3)), starts=np.array([0, 0])),
        Piecewise(vectors=np.ones((2, 3)), starts=np.array([1, 2])),
        Piecewise(vectors=np.ones((3, 3)), starts=np.array([0, 2, 1], np.uint32)),
        Piecewise(vectors=np.ones((2, 3)), starts=np.array([0])),
        Piecewise(vectors=np.ones(3), starts=np.array([0])),
    ):
        with pytest.raises(InputError) as error:
            validate(wrong)
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="dim >= 2"):
        Drift(horizon=10).at(jnp.int32(0), 1)
    with pytest.raises(InputError, match="shape"):
        Piecewise(vectors=np.ones((2, 3)), starts=np.array([0, 5])).at(jnp.int32(0), 2)


@pytest.mark.parametrize("turns", [20.0, -40.0, 19.0, 21.0, 10.0])
def test_sums_of_a_drift_by_whole_turns_in_a_round(turns):
    sequence = as_arrays(Drift(turns=turns, horizon=20))
    rows, sums, *_ = tabulate(sequence, jnp.arange(1, 2000, dtype=jnp.int32), 2)
    expected = np.cumsum(np.vstack([[1.0, 0.0], rows[:-1]]), axis=0)
    np.testing.assert_allclose(sums, expected, atol=1e-8)


def test_equal_segments_of_a_long_run():
    starts = Piecewise.equal_segments(np.eye(5), 2**31 - 1).starts
    np.testing.assert_array_equal(starts, [k * (2**31 - 1) // 5 for k in range(5)])
