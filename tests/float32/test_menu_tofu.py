"""MENU and TOFU in float32 (a process without x64): how far sums of heavy-tailed rewards can be trusted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.linear.menu import MENU
from jaxbandits.algorithms.linear.tofu import TOFU
from jaxbandits.base.pytree import as_arrays
from tests.algorithms.linear import replay_linear
from tests.reference import menu_tofu as reference
from tests.reference.heavy_tailed_linear import forced_trace, instance

pytestmark = pytest.mark.float32


def replay(alg, xs, rewards):
    theta, _, inverse = replay_linear.replay(alg, xs, rewards, replay_linear.estimate_radius_and_inverse)
    return theta, inverse


def single(*arrays):
    return [jnp.asarray(a, jnp.float32) for a in arrays]


def trace(rng, T, dim, law, reps=1):
    """Arms and rewards, already rounded to float32 so that both precisions see the same numbers."""
    arms, _, theta, noise, _ = instance(rng, T, 1, dim, law)
    x = np.repeat(arms[: T // reps, 0], reps, axis=0)
    return [np.asarray(a, float) for a in single(x, x @ theta + noise[: len(x)])]


@pytest.mark.quick_cases("5")
@pytest.mark.parametrize("dim", [2, 5, 16])
def test_menu_follows_the_float64_loop(dim, rng):
    """An epoch in which two estimates are central to within rounding may end at either; all others agree."""
    x, rewards = trace(rng, 600, dim, "student", reps=12)
    theta, inverse = replay(as_arrays(MENU(dim=dim, reps=12)), *single(x, rewards))
    assert theta.dtype == inverse.dtype == jnp.float32
    want = reference.replay(reference.Menu(dim, 12, 1.0), x, rewards, hints=np.asarray(theta, float))
    error = np.abs(theta - want["theta"]).max(axis=1)
    assert np.mean(error > 1e-4) <= 0.05
    np.testing.assert_allclose(inverse, np.linalg.inv(want["V"]), rtol=1e-4, atol=1e-5)


@pytest.mark.quick_cases("5")
@pytest.mark.parametrize("dim", [2, 5, 16])
def test_tofu_follows_the_float64_loop(dim, rng):
    """`b_t` is a jump: a sample within rounding of it may fall on the other side, for a few rounds."""
    x, rewards = trace(rng, 400, dim, "student")
    alg = TOFU(dim=dim, capacity=400, horizon=400, reward_moment=1.0)
    theta, inverse = replay(as_arrays(alg), *single(x, rewards))
    assert theta.dtype == inverse.dtype == jnp.float32
    want = reference.replay(reference.Tofu(dim, 400, 1.0, 1.0), x, rewards)
    assert want["dropped"].max() > 0
    error = np.abs(theta - want["theta"]).max(axis=1)
    assert np.mean(error > 1e-4) <= 0.05
    np.testing.assert_allclose(inverse, np.linalg.inv(want["V"]), rtol=1e-4, atol=1e-5)


def test_one_enormous_reward_costs_no_digits_of_the_others(rng):
    """Neither needs float64 sums: it is dropped (TOFU), or stays in one of k regressions, never the central one (MENU).

    A running sum of all rewards in float32 would lose every reward of size 1 beside 1e9.
    """
    reps = 12
    x, rewards = trace(rng, 600, 2, "gauss", reps)
    rewards[40] = 1e9
    menu = replay(as_arrays(MENU(dim=2, reps=reps)), *single(x, rewards))[0]
    tofu = replay(as_arrays(TOFU(dim=2, capacity=600, horizon=600, reward_moment=4.0)), *single(x, rewards))[0]
    want = reference.replay(reference.Menu(2, reps, 1.0), x, rewards, hints=np.asarray(menu, float))["theta"]
    assert np.mean(np.abs(menu - want).max(axis=1) > 1e-4) <= 0.05
    want = reference.replay(reference.Tofu(2, 600, 1.0, 4.0), x, rewards)["theta"]
    assert np.mean(np.abs(tofu - want).max(axis=1) > 1e-4) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("figure", [1, 4])
@pytest.mark.parametrize("settled", [False, True])
def test_estimates_over_a_long_run(settled, figure, rng):
    """18000 rounds; rewards of 1e4 and more in Fig. 4."""
    T, eps, nu = 18_000, *((0.99, 1.31) if figure == 1 else (0.69, 18.711180 * 10**2.5))
    x, rewards, _ = forced_trace(rng, T, 2, figure, settled)
    theta = np.asarray(replay(as_arrays(MENU(dim=2)), *single(x, rewards))[0], float)
    want = reference.replay(reference.Menu(2, 51, 1.0), x, rewards, hints=theta)["theta"]
    largest = np.maximum.accumulate(np.abs(want).max(axis=1))
    error = np.abs(theta - want).max(axis=1) / np.maximum(largest, 1.0)
    assert np.mean(error > 1e-4) <= 0.05  # epochs with two estimates central to within rounding

    alg = TOFU(dim=2, capacity=T, horizon=T, eps=eps, noise_scale=nu)
    theta = replay(as_arrays(alg), *single(x, rewards))[0][-1]
    learner = reference.Tofu(2, T, eps, (nu + 1.0) ** (1 + eps))
    for t in range(T):
        learner.update(x[t], rewards[t], fit=t == T - 1)
    size = max(1.0, np.abs(learner.theta).max())
    np.testing.assert_allclose(theta, learner.theta, atol=1e-4 * size)


@pytest.mark.slow
def test_a_sample_at_the_threshold_of_tofu(rng):
    """Kept in one precision and dropped in the other: theta is off by b ||V^{-1/2} e_1||, in that round alone.

    In each of 90 records one sample is put within a rounding of where the truncation ends in round `late`.
    """
    T, late = 42, 40
    x, rewards = trace(rng, T, 2, "gauss")
    alg, threshold = as_arrays(TOFU(dim=2, capacity=T, horizon=T, reward_moment=1.0)), np.log(2 * T * T) ** -0.5

    def root(t):
        values, frame = np.linalg.eigh(np.eye(2) + x[: t + 1].T @ x[: t + 1])
        return (frame / np.sqrt(values)) @ frame.T

    records = np.tile(0.1 * rewards.astype(np.float32), (90, 1))
    for k, record in enumerate(records):
        sample = k // 3
        ends = np.float32(threshold / abs((root(late) @ x[sample])[0]))
        record[sample] = ends * np.float32(1.0 + (k % 3 - 1) * np.finfo(np.float32).eps)
    over_records = jax.vmap(lambda rewards: replay(alg, *single(x), rewards)[0])
    found, flipped = np.asarray(over_records(jnp.asarray(records)), float), 0
    for theta, record in zip(found, records.astype(float), strict=True):
        for t in (late - 1, late, late + 1):
            z = (root(t) @ x[: t + 1].T) * record[: t + 1]
            error = np.linalg.norm(theta[t] - root(t) @ np.where(np.abs(z) <= threshold, z, 0.0).sum(axis=1))
            if t == late and error > 1e-5:
                flipped += 1
                assert error == pytest.approx(threshold * np.linalg.norm(root(late)[0]), rel=1e-3)
            else:
                assert error < 1e-5
    assert 0 < flipped < 45
