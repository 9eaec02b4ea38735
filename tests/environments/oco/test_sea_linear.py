"""SEA environments with linear losses: moving means, stated comparators, random order; constants of the theory."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.domains.ball import L2Ball
from jaxbandits.environments.oco.linear_losses import LinearLosses
from jaxbandits.environments.oco.random_order import RandomOrder
from jaxbandits.environments.oco.sequences import Alternating, Drift, IsolatedFlips, Piecewise
from jaxbandits.types import PointDecision


@jax.jit
def run(environment, key, points, queries):
    """One trial: feedback, the oracle's slopes, outcomes, states after every round, values at the end."""

    def round_(state, inputs):
        t, point, query = inputs
        decision = PointDecision(play=point, query=query)
        state, feedback, outcome = environment.step(jax.random.fold_in(key, t), t, state, None, decision)
        rows = (feedback.loss, feedback.grad, feedback.oracle.slope)
        return state, (rows, outcome, environment.at_record(state, None))

    begin = environment.init(jax.random.fold_in(key, 2**31 - 1))
    steps = jnp.arange(len(points), dtype=jnp.int32)
    return begin, jax.lax.scan(round_, begin, (steps, points, queries))[1]


def play_rounds(environment, key, rng, horizon, n_queries=2) -> Any:
    points = rng.standard_normal((horizon, environment.dim))
    queries = rng.standard_normal((horizon, n_queries, environment.dim))
    begin, (rows, outcome, snapshots) = run(as_arrays(environment), key, points, queries)
    return points, queries, begin, *map(np.asarray, rows), outcome, snapshots


@pytest.mark.quick_cases("drift-2")
@pytest.mark.parametrize("dim", [2, 20])
@pytest.mark.parametrize("kind", ["alternating", "corrupted", "drift", "piecewise"])
def test_moving_means(kind, dim, key, rng):
    horizon, m, s, c = 200, -0.6, 0.4, 2.5
    t = np.arange(horizon)
    means = np.zeros((horizon, dim))
    if kind == "alternating":
        sequence = Alternating(period=7)
        means[:, 0] = (-1.0) ** (t // 7)
    elif kind == "corrupted":
        sequence = IsolatedFlips(count=12, horizon=horizon)
        means[:, 0] = 1.0
        means[np.linspace(0, horizon - 1, 14).astype(int)[1:-1], 0] = -1.0
    elif kind == "drift":
        sequence = Drift(turns=0.25, horizon=horizon)
        angle = 2 * np.pi * 0.25 / horizon * t
        means[:, 0], means[:, 1] = np.cos(angle), np.sin(angle)
    else:
        vectors = rng.standard_normal((3, dim))
        sequence = Piecewise(vectors=vectors, starts=np.array([0, 50, 170]))
        means = np.repeat(vectors, [50, 120, 30], axis=0)
    means *= m
    u = rng.standard_normal(dim)
    settings = {"dim": dim, "mean": m, "noise_scale": s, "loss_scale": c, "sequence": sequence}
    environment = LinearLosses(**settings, comparator=u)
    validate(environment)
    points, queries, _, loss, grad, slope, outcome, snapshots = play_rounds(environment, key, rng, horizon)

    np.testing.assert_allclose(np.linalg.norm(slope / c - means, axis=1), s, rtol=1e-11)  # the noise, and only it
    np.testing.assert_array_equal(grad, np.repeat(slope[:, None], 2, axis=1))
    np.testing.assert_allclose(loss, np.einsum("tqd,td->tq", queries, slope), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(outcome.loss, np.sum(points * slope, axis=1), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(outcome.mean_loss, c * np.sum(points * means, axis=1), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(snapshots["comparator_loss"], np.cumsum(slope @ u), rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(snapshots["mean_comparator_loss"], c * np.cumsum(means @ u), rtol=0.0, atol=1e-9)
    # Without a stated point: the best one of the ball in hindsight, at every record point.
    in_hindsight = LinearLosses(**settings, domain=L2Ball(radius=1.5))
    _, _, _, _, _, slope, _, snapshots = play_rounds(in_hindsight, key, rng, horizon)
    best = -1.5 * np.linalg.norm(np.cumsum(slope, axis=0), axis=1)
    np.testing.assert_allclose(snapshots["comparator_loss"], best, rtol=1e-11)
    best = -1.5 * c * np.linalg.norm(np.cumsum(means, axis=0), axis=1)
    np.testing.assert_allclose(snapshots["mean_comparator_loss"], best, rtol=1e-9, atol=1e-10)

    # The constants of the theory, from the means and the noise alone.
    moves = np.diff(means, axis=0, prepend=np.zeros((1, dim)))
    for n in (1, 60, horizon):
        np.testing.assert_allclose(environment.cumulative_variation(n), c**2 * np.sum(moves[:n] ** 2), rtol=1e-11)
        lengths = np.linalg.norm(c * means[:n], axis=1)
        np.testing.assert_allclose(environment.cumulative_mean_gradients(n), lengths.sum(), rtol=1e-11)
        np.testing.assert_allclose(environment.cumulative_variance(n), n * (c * s) ** 2)
        np.testing.assert_allclose(environment.cumulative_deviation(n), n * c * s)
    assert np.linalg.norm(grad, axis=2).max() <= environment.lipschitz
    assert environment.lipschitz == pytest.approx(c * (np.linalg.norm(means, axis=1).max() + s))


def test_closed_forms_by_hand():
    """The published values: corrupted m^2 (1 + 8 C), adversarial m^2 (1 + 4 (ceil(T/P) - 1)), drift 4 sin^2(w/2)."""
    assert LinearLosses(dim=2).cumulative_variation(2048) == pytest.approx(0.01)
    corrupted = LinearLosses(dim=2, sequence=IsolatedFlips(count=64, horizon=2048))
    assert corrupted.cumulative_variation(2048) == pytest.approx(0.01 * (1 + 8 * 64))
    for period, flips in ((1, 2047), (8, 255), (64, 31), (2047, 1), (2048, 0)):
        adversarial = LinearLosses(dim=2, mean=1.0, noise_scale=0.0, sequence=Alternating(period=period))
        assert adversarial.cumulative_variation(2048) == pytest.approx(1 + 4 * flips)
    drift = LinearLosses(dim=2, sequence=Drift(horizon=2048))
    angle = 2 * np.pi * 0.25 / 2048
    assert drift.cumulative_variation(2048) == pytest.approx(0.01 * (1 + 2047 * 4 * np.sin(angle / 2) ** 2))


@pytest.mark.slow
def test_a_number_stands_for_a_multiple_of_the_first_axis(key, rng):
    for u in (-2.0, np.array([-2.0, 0.0, 0.0])):
        environment = LinearLosses(dim=3, comparator=u)
        *_, slope, _, snapshots = play_rounds(environment, key, np.random.default_rng(0), 50)
        np.testing.assert_allclose(snapshots["comparator_loss"], -2.0 * np.cumsum(slope[:, 0]), rtol=0.0, atol=1e-12)


def test_scaling_losses_scales_everything(key, rng):
    """E4 of the theory needs the same draws at every scale."""
    one, hundred = (LinearLosses(dim=2, loss_scale=c, comparator=1.0) for c in (1.0, 100.0))
    a, b = (play_rounds(e, key, np.random.default_rng(1), 30) for e in (one, hundred))
    for x, y in ((a[3], b[3]), (a[4], b[4]), (a[6].loss, b[6].loss), (a[6].mean_loss, b[6].mean_loss)):
        np.testing.assert_allclose(100.0 * x, y, rtol=1e-13, atol=1e-13)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [2, 20])
def test_random_order(dim, key, rng):
    n, passes, rest = 9, 5, 4
    horizon = n * passes + rest
    environment = RandomOrder(dim=dim, pool_size=n, mean=0.3, noise_scale=0.8, loss_scale=1.7, comparator=1.3)
    points, _, begin, _, grad, slope, outcome, snapshots = play_rounds(environment, key, rng, horizon)
    pool = np.asarray(begin.pool)
    np.testing.assert_allclose(np.linalg.norm(pool / 1.7 - 0.3 * np.eye(dim)[0], axis=1), 0.8, rtol=1e-12)
    drawn = np.array([np.flatnonzero((pool == row).all(axis=1)).item() for row in slope])  # bit for bit from the pool
    for start in range(0, n * passes, n):
        assert sorted(drawn[start : start + n]) == list(range(n))
    assert len(set(drawn[n * passes :])) == rest
    assert len({tuple(drawn[k * n : k * n + n]) for k in range(passes)}) == passes  # another order every pass

    means = np.empty((horizon, dim))
    for t in range(horizon):
        left = sorted(set(range(n)) - set(drawn[t - t % n : t]))
        means[t] = pool[left].mean(axis=0)
    np.testing.assert_allclose(outcome.loss, np.sum(points * slope, axis=1), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(outcome.mean_loss, np.sum(points * means, axis=1), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(snapshots["comparator_loss"], 1.3 * np.cumsum(slope[:, 0]), rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(snapshots["mean_comparator_loss"], 1.3 * np.cumsum(means[:, 0]), rtol=0.0, atol=1e-11)
    assert np.linalg.norm(grad, axis=2).max() <= environment.lipschitz
    hindsight = RandomOrder(dim=dim, pool_size=n, domain=L2Ball(radius=2.0))
    *_, slope, _, snapshots = play_rounds(hindsight, key, rng, horizon)
    best = -2.0 * np.linalg.norm(np.cumsum(slope, axis=0), axis=1)
    np.testing.assert_allclose(snapshots["comparator_loss"], best, rtol=1e-12)


@functools.partial(jax.jit, static_argnums=(2, 3))
def orders(key, pool, horizon, trials):
    """`[trials, horizon, dim]` slopes met from one pool."""
    environment = as_arrays(RandomOrder(dim=2, pool_size=len(pool)))

    def trial(key):
        state = environment.init(key)._replace(pool=pool, pool_sum=pool.sum(axis=0))

        def round_(state, t):
            decision = PointDecision.at(jnp.zeros(2))
            state, feedback, _ = environment.step(jax.random.fold_in(key, t), t, state, None, decision)
            return state, feedback.grad[0]

        return jax.lax.scan(round_, state, jnp.arange(horizon, dtype=jnp.int32))[1]

    return jax.vmap(trial)(jax.random.split(key, trials))


@pytest.mark.slow
def test_random_order_is_uniform_and_has_the_stated_variances(key, rng):
    """All n! orders of a pass alike; sigma^2 and Sigma^2 of simulated orders against the closed forms."""
    n, passes, trials = 4, 3, 24_000
    pool = jnp.asarray(rng.standard_normal((n, 2)))
    for horizon in (n * passes, n * passes - 1, n * (passes - 1) + 1):
        met = np.asarray(orders(key, pool, horizon, trials))  # [S, T, 2]
        index = np.argmin(np.abs(met[:, :, None, 0] - np.asarray(pool)[:, 0]), axis=2)
        left = np.ones((trials, horizon, n), bool)
        for t in range(horizon):
            for back in range(t - t % n, t):
                left[np.arange(trials), t, index[:, back]] = False
        means = left @ np.asarray(pool) / left.sum(axis=2)[..., None]  # [S, T, 2]
        spread = left[..., None] * (np.asarray(pool) - means[:, :, None])
        variance = (np.sum(spread**2, axis=(2, 3)) / left.sum(axis=2)).sum(axis=1)
        moves = np.diff(means, axis=1, prepend=np.zeros((trials, 1, 2)))
        variation = np.sum(moves**2, axis=(1, 2))
        environment = RandomOrder(dim=2, pool_size=n)
        for sample, exact in (
            (variance, environment.cumulative_variance(horizon, pool)),
            (variation, environment.cumulative_variation(horizon, pool)),
        ):
            error = 5.0 * sample.std() / np.sqrt(trials) + 1e-12
            assert abs(sample.mean() - exact) <= error, (horizon, sample.mean(), exact)
            assert error < 0.1 * exact  # the test can tell
        for start in range(0, horizon - n + 1, n):
            codes = index[:, start : start + n] @ 10 ** np.arange(n)
            _, counts = np.unique(codes, return_counts=True)
            assert len(counts) == 24
            assert np.abs(counts - trials / 24).max() <= 5.0 * np.sqrt(trials / 24)


@pytest.mark.slow
def test_random_order_constants(rng):
    """Whole passes: P S^2 (n - H_n) and ||vbar||^2 + (2P - 1)(n - 1)/n S^2; and averaged over the pool."""
    n, passes = 16, 8
    environment = RandomOrder(dim=5, pool_size=n, mean=0.7, noise_scale=0.9, loss_scale=2.0)
    pool = rng.standard_normal((n, 5))
    s2 = np.sum((pool - pool.mean(axis=0)) ** 2) / (n - 1)
    harmonic = sum(1.0 / k for k in range(1, n + 1))
    np.testing.assert_allclose(environment.cumulative_variance(n * passes, pool), passes * s2 * (n - harmonic))
    expected = np.sum(pool.mean(axis=0) ** 2) + (2 * passes - 1) * (n - 1) / n * s2
    np.testing.assert_allclose(environment.cumulative_variation(n * passes, pool), expected)
    keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), 1000)
    pools = jax.jit(jax.vmap(lambda k: as_arrays(environment).init(k).pool))(keys)
    for exact, sample in (
        (environment.cumulative_variance(40), [environment.cumulative_variance(40, p) for p in np.asarray(pools)]),
        (environment.cumulative_variation(40), [environment.cumulative_variation(40, p) for p in np.asarray(pools)]),
    ):
        assert abs(np.mean(sample) - exact) <= 5.0 * np.std(sample) / np.sqrt(len(sample)), (np.mean(sample), exact)
