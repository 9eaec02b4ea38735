"""TOFU: recorded golden numbers, the NumPy loop on fresh instances, identities of the truncation, its cost."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.linear import tofu
from jaxbandits.algorithms.linear.tofu import TOFU
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.types import ArmObs
from tests.algorithms.linear import replay_linear
from tests.algorithms.linear.replay_linear import KEY
from tests.reference import menu_tofu as reference
from tests.reference.heavy_tailed_linear import instance

X = np.array([[0.6, 0.8], [1, 0], [-0.28, 0.96], [0.6, 0.8], [0.8, -0.6]])
R = np.array([1.1, -0.4, 60, 0.7, -25])


def run(alg, x=X, rewards=R):
    seen = replay_linear.estimate_radius_and_inverse
    return [np.asarray(a) for a in replay_linear.replay(as_arrays(alg), jnp.asarray(x), jnp.asarray(rewards), seen)]


def test_golden_trace():
    theta, radius, inverse = run(TOFU.theory(dim=2, horizon=100, eps=0.5, reward_moment=2.0))
    np.testing.assert_allclose(theta[-1], [0.180940574611, 0.151928977644], rtol=1e-11)
    np.testing.assert_allclose(radius[-1], 26.791660796725, rtol=1e-13)
    np.testing.assert_allclose(inverse[-1], np.linalg.inv(np.eye(2) + X.T @ X), rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize(("dim", "law"), [(3, "student"), (1, "student"), (2, "pareto"), (8, "fisk"), (16, "pareto")])
def test_estimate_and_radius_match_the_reference(dim, law, rng):
    """More samples than one block of the history; all hyperparameters away from their defaults."""
    T = 300
    arms, _, theta, noise, _ = instance(rng, T, 1, dim, law)
    x, rewards = arms[:, 0], arms[:, 0] @ theta + noise
    common = {"delta": 0.02, "beta_scale": 0.6, "threshold_scale": 0.1}
    alg = TOFU(dim=dim, capacity=330, horizon=T, eps=0.4, reward_moment=1.7, norm_bound=2.0, ridge=0.3, **common)
    got = run(alg, x, rewards)
    want = reference.replay(reference.Tofu(dim, T, 0.4, 1.7, S=2.0, lam=0.3, **common), x, rewards)
    assert want["dropped"][-1] > 5 and want["margin"].min() > 1e-9  # samples are dropped, none by rounding
    np.testing.assert_allclose(got[0], want["theta"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(got[1], want["radius"], rtol=1e-12)
    np.testing.assert_allclose(got[2], np.linalg.inv(want["V"]), rtol=1e-9, atol=1e-12)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [3, 1, 2, 6, 16])
def test_root_is_the_symmetric_one(dim, rng):
    factor = rng.standard_normal((dim, dim))
    m = factor @ factor.T + 1e-3 * np.eye(dim)
    root = np.asarray(tofu._root(jnp.asarray(m)))
    np.testing.assert_allclose(root @ root, m, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(root, root.T, rtol=1e-12, atol=1e-14)
    assert np.linalg.eigvalsh(root).min() > 0


@pytest.mark.slow
def test_without_truncation_it_is_ridge_regression(rng):
    x, rewards = rng.standard_normal((150, 3)), 100 * rng.standard_normal(150)
    theta = run(TOFU(dim=3, capacity=150, horizon=150, ridge=0.7, threshold_scale=np.inf), x, rewards)[0]
    np.testing.assert_allclose(theta[-1], np.linalg.solve(0.7 * np.eye(3) + x.T @ x, x.T @ rewards), rtol=1e-10)


def test_a_huge_reward_counts_as_none():
    """Dropped in both coordinates, whatever its size or sign; but not forgotten by the design."""
    alg = TOFU(dim=2, capacity=5, horizon=100, eps=0.5, reward_moment=2.0)
    base = run(alg, rewards=np.array([1.1, -0.4, 0.0, 0.7, 0.2]))
    for huge in (1e3, -1e9):
        got = run(alg, rewards=np.array([1.1, -0.4, huge, 0.7, 0.2]))
        np.testing.assert_allclose(got[0], base[0], rtol=1e-14)
        np.testing.assert_array_equal(got[2], base[2])


def test_estimates_do_not_depend_on_the_capacity_and_end_with_it(rng):
    x, rewards = rng.standard_normal((40, 2)), rng.standard_t(2.1, 40)
    exact, roomy, tight = (run(TOFU(dim=2, capacity=n, horizon=30), x, rewards)[0] for n in (40, 700, 30))
    np.testing.assert_allclose(roomy, exact, rtol=1e-13)
    np.testing.assert_allclose(tight[:30], exact[:30], rtol=1e-13)
    assert np.isnan(tight[30:]).all()


def test_radius_before_the_first_round_is_the_ball():
    alg = as_arrays(TOFU(dim=2, capacity=9, horizon=9, ridge=4.0, norm_bound=3.0, beta_scale=0.5))
    np.testing.assert_allclose(alg.radius(0, alg.init(KEY)), 3.0, rtol=1e-14)
    obs = ArmObs(jnp.asarray([[0.5, 0.5], [0.0, 0.9], [0.9, 0.0]]))
    assert int(alg.select(KEY, jnp.int32(0), alg.init(KEY), obs).index) == 1  # the longest; the first of two


def test_presets_and_bad_values():
    preset = TOFU.practical(dim=3, horizon=100, beta_scale=0.7)
    assert (preset.capacity, preset.ridge, preset.beta_scale) == (100, 3.0, 0.7)
    assert TOFU.theory(dim=3, horizon=np.array([50, 70]), capacity=90).capacity == 90
    validate(TOFU.theory(dim=3, horizon=np.array([50, 70])))
    with pytest.raises(InputError, match=r"TOFU\.capacity must be at least the horizon 100, got 99"):
        validate(TOFU.theory(dim=2, horizon=100, capacity=99))
    with pytest.raises(InputError, match=r"TOFU\.reward_moment must lie in \(0, inf\), got 0"):
        validate(TOFU.theory(dim=2, horizon=100, reward_moment=0.0))
