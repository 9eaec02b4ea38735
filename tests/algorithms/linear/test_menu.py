"""MENU: recorded golden numbers, the NumPy loop on fresh instances, the search for the most central estimate."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.linear import menu
from jaxbandits.algorithms.linear.menu import MENU
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.numerics import inverse_factors
from jaxbandits.types import ArmObs, FixedArmObs, Reward
from tests.algorithms.linear import replay_linear
from tests.algorithms.linear.replay_linear import KEY, closed_loop
from tests.reference import menu_tofu as reference
from tests.reference.heavy_tailed_linear import instance

X = np.array([[0.6, 0.8], [1, 0], [-0.28, 0.96]])
R = np.array([[1.1, -0.4, 60, 0.7, -25], [0.2, 0.3, -9, 0.1, 4], [-1, -0.2, 0.4, 33, 0]])


def replay(alg, xs, rewards):
    return replay_linear.replay(alg, xs, rewards, replay_linear.estimate_radius_and_inverse)


def test_golden_trace():
    """Three epochs of five pulls: d = 2, eps = 0.5, c = 1, lambda = 1."""
    theta, radius, inverse = replay(as_arrays(MENU(dim=2, reps=5, eps=0.5)), jnp.repeat(X, 5, axis=0), R.ravel())
    np.testing.assert_allclose(theta[-1], [0.065350877193, -0.205263157895], rtol=1e-10)
    np.testing.assert_allclose(radius[-1], 27.7451334660, rtol=1e-11)
    np.testing.assert_allclose(inverse[-1], np.linalg.inv(np.eye(2) + X.T @ X), rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize(("dim", "reps"), [(5, 3), (1, 51), (2, 2), (2, 6), (2, 51), (5, 12), (8, 11), (16, 11)])
def test_estimate_and_radius_match_the_reference(dim, reps, rng):
    """Eight epochs and a cut one."""
    x = np.repeat(rng.standard_normal((9, dim)), reps, axis=0)[: 8 * reps + 1]
    rewards = x @ rng.standard_normal(dim) + rng.standard_t(2.1, len(x))
    alg = MENU(dim=dim, reps=reps, eps=0.4, noise_scale=1.7, norm_bound=2.0, ridge=0.3, beta_scale=0.6)
    theta, radius, inverse = replay(as_arrays(alg), jnp.asarray(x), jnp.asarray(rewards))
    learner = reference.Menu(dim, reps, 0.4, nu=1.7, S=2.0, lam=0.3, beta_scale=0.6)
    want = reference.replay(learner, x, rewards, hints=theta)
    np.testing.assert_allclose(theta, want["theta"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(radius, want["radius"], rtol=1e-12)
    np.testing.assert_allclose(inverse, np.linalg.inv(want["V"]), rtol=1e-9, atol=1e-12)


def test_an_available_arm_is_held_for_a_whole_epoch(rng):
    T, reps = 60, 6
    arms, mask, theta, noise, _ = instance(rng, T, 8, 3, fixed=True)
    alg = as_arrays(MENU(dim=3, reps=reps))  # the radius of the theory: no arm wins every epoch
    index = np.asarray(closed_loop(alg, *map(jnp.asarray, (arms, mask, theta, noise)))[0]).reshape(-1, reps)
    assert (index == index[:, :1]).all() and len(set(index[:, 0])) > 1


@pytest.mark.slow
@pytest.mark.parametrize(("k", "dim"), [(4, 2), (2, 2), (3, 2), (51, 2), (12, 16)])
def test_most_central_estimate_equals_sorting_every_row(k, dim, rng):
    """Side by side in one batch: heavy tails, exact duplicates, all equal, medians all but tied, integers."""
    moments = rng.standard_t(1.1, (40, k, dim))
    moments[10:20, : (k + 1) // 2] = moments[10:20, :1]
    moments[20:22] = 1.5
    turns = 2.0 * np.pi * np.arange(k) / k
    moments[22:25] = 0.0  # on a circle but for 1e-10: float32 cannot tell one median from another
    moments[22:25, :, :2] = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    moments[22:25] += 1e-10 * rng.standard_normal((3, k, dim))
    moments[25:] = rng.integers(-1, 2, (15, k, dim))
    factors = rng.standard_normal((40, dim, dim))
    inverse = factors @ factors.swapaxes(1, 2) + np.eye(dim)
    inverse[22:] = np.eye(dim)
    coarse = np.asarray(jax.jit(jax.vmap(lambda v, m: menu._squared_distances(v, m)))(inverse, moments))
    gaps = moments[:, :, None] - moments[:, None]
    square = np.asarray(jax.jit(jax.vmap(lambda v, g: inverse_factors.quadratic_forms(v, g)))(inverse, gaps))
    off = ~np.eye(k, dtype=bool)
    np.testing.assert_allclose(square, np.einsum("wjsa,wab,wjsb->wjs", gaps, inverse, gaps), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(coarse[:, off], square[:, off], rtol=2.0**-23)
    assert np.isinf(coarse[:, ~off]).all() and coarse.dtype == np.float32
    medians = np.median(np.sqrt(square[:, off]).reshape(40, k, k - 1), axis=2)
    search = jax.jit(jax.vmap(lambda v, m, g: menu._most_central(v, m, g)))
    for guess in (np.zeros(40), rng.integers(0, k, 40)):  # the guess changes nothing
        got = search(inverse, moments, jnp.asarray(guess, jnp.int32))
        np.testing.assert_array_equal(got, medians.argmin(axis=1))


@pytest.mark.slow
def test_a_minority_of_corrupted_pulls_moves_nothing_far(rng):
    """With fewer than half of the pulls of every epoch at 1e12 the estimate is that of a clean pull."""
    x = np.repeat(rng.standard_normal((6, 2)), 11, axis=0)
    clean = (x @ [0.6, -0.8] + rng.standard_normal(66)).reshape(6, 11)
    dirty = clean.copy()
    dirty[:, [1, 4, 8, 10]] = 1e12
    alg = as_arrays(MENU(dim=2, reps=11))
    theta = np.asarray(replay(alg, jnp.asarray(x), jnp.asarray(dirty.ravel()))[0][-1])
    design = x[::11]
    estimates = np.linalg.solve(np.eye(2) + design.T @ design, design.T @ clean)[:, [0, 2, 3, 5, 6, 7, 9]]
    assert np.abs(estimates.T - theta).max(axis=1).min() < 1e-9


def test_first_epoch_is_hand_computed():
    """V = lambda I, theta = 0 and radius sqrt(lambda) S: the longest arm; then its neighbour when it is missing."""
    alg = as_arrays(MENU(dim=2, reps=3, ridge=4.0, norm_bound=3.0, beta_scale=0.5))
    np.testing.assert_allclose(alg.radius(jnp.arange(3), None), 3.0, rtol=1e-14)
    np.testing.assert_allclose(alg.radius(3, None), 0.5 * 3 * (np.sqrt(18.0) + 6.0), rtol=1e-14)
    arms = jnp.asarray([[0.5, 0.5], [0.0, 0.9], [0.9, 0.0]])
    state = alg.init(KEY)
    obs = ArmObs(arms, jnp.asarray([True, True, True]))
    select, update = jax.jit(type(alg).select), jax.jit(type(alg).update)
    first = select(alg, KEY, jnp.int32(0), state, obs)
    assert int(first.index) == 1  # the first of two equal ones
    state = update(alg, KEY, jnp.int32(0), state, obs, first, Reward(jnp.asarray(1.0)))
    assert int(select(alg, KEY, jnp.int32(1), state, obs).index) == 1
    chex.assert_trees_all_equal(
        select(alg, KEY, jnp.int32(1), state, FixedArmObs(arms)), first
    )  # found without a search
    without = obs._replace(mask=jnp.asarray([True, False, True]))
    second = select(alg, KEY, jnp.int32(1), state, without)
    assert int(second.index) == 0
    state = update(alg, KEY, jnp.int32(1), state, without, second, Reward(jnp.asarray(1.0)))
    state = update(alg, KEY, jnp.int32(2), state, without, second, Reward(jnp.asarray(1.0)))
    np.testing.assert_allclose(state.theta, [0.0, 0.9 / (4.0 + 0.81)], rtol=1e-14)  # credited to the held


def test_presets_and_bad_values():
    assert MENU.theory(dim=2, horizon=100, delta=0.01).reps == int(np.ceil(24 * (1 + np.log(100 / 0.01))))
    assert MENU.theory(dim=2, horizon=100).reps == MENU.theory(dim=2, horizon=100, delta=0.01).reps
    preset = MENU.practical(dim=3, horizon=100, beta_scale=0.7)
    assert (preset.reps, preset.ridge, preset.beta_scale) == (51, 3.0, 0.7)
    with pytest.raises(InputError, match=r"MENU\.reps must lie in \[2, inf\), got 1"):
        validate(MENU(dim=2, reps=1))
    with pytest.raises(InputError, match=r"MENU\.eps must lie in \(0, 1\], got 1.49"):
        validate(MENU(dim=2, eps=1.49))
