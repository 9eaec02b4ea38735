"""CRTM: recorded golden numbers, the NumPy loop on fresh instances, what truncation promises."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.linear.crtm import CRTM
from jaxbandits.algorithms.linear.multipliers import MULTIPLIERS
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.types import ArmObs
from tests import compiled
from tests.algorithms.linear import replay_linear
from tests.algorithms.linear.replay_linear import KEY
from tests.reference import crtm_crmm as reference

# The recorded trace: T = 100, eps = 0.5, u = 2.
X = np.array([[0.6, 0.8], [1, 0], [-0.28, 0.96], [0.6, 0.8], [0.8, -0.6]])
R = np.array([1.1, -0.4, 60, 0.7, -25])
TRACE = {"dim": 2, "horizon": 100, "eps": 0.5, "reward_moment": 2.0}


def replay(alg, xs=X, rewards=R):
    """Estimates `[T, d]` and inverses `[T, d, d]` after every sample of a recorded trace."""
    arrays = (jnp.asarray(a, dtype=float) for a in (xs, rewards))
    return tuple(map(np.asarray, _inverses(as_arrays(alg), *arrays)))


def _inverses(alg, xs, rewards):
    return replay_linear.replay(alg, xs, rewards, replay_linear.estimate_and_inverse)


def test_golden_trace_of_the_newton_step():
    alg = CRTM.theory(**TRACE)
    state = as_arrays(alg).init(KEY)
    np.testing.assert_allclose(state.threshold, 3.619108931971, rtol=1e-12)
    np.testing.assert_allclose(alg.radius(0, state), 574.250004063716, rtol=1e-12)
    np.testing.assert_allclose(replay(alg)[0][-1], [0.216845010165, 0.411837720415], rtol=2e-12)


def test_golden_trace_of_least_squares():
    alg = CRTM(mode="ls", **TRACE)
    np.testing.assert_allclose(as_arrays(alg).init(KEY).threshold, 3.975729294319, rtol=1e-12)
    np.testing.assert_allclose(replay(alg)[0][-1], [0.173564122738, 0.394020456334], rtol=2e-12)


@pytest.mark.quick_cases("4-ls")
@pytest.mark.parametrize("mode", ["ons", "ls"])
@pytest.mark.parametrize("dim", [4, 1, 16])
def test_estimates_match_the_reference(dim, mode, rng):
    """All hyperparameters away from their defaults; samples are dropped, and estimates projected."""
    x, rewards = rng.standard_normal((120, dim)) / np.sqrt(dim), 3.0 * rng.standard_t(1.6, 120)
    common = {"mode": mode, "eps": 0.4, "delta": 0.03, "beta_scale": 0.7, "threshold_scale": 0.25}
    alg = CRTM(dim=dim, horizon=120, reward_moment=2.5, norm_bound=0.1, arm_bound=1.5, ridge=0.3, **common)
    learner = reference.Crtm(dim, 120, u=2.5, S=0.1, L=1.5, lam=0.3, **common)
    theta, inverse = replay(alg, x, rewards)
    np.testing.assert_allclose(theta, reference.replay(learner, x, rewards), atol=1e-11)
    np.testing.assert_allclose(inverse[-1], np.linalg.inv(learner.fit.V), rtol=1e-9, atol=1e-12)
    state = as_arrays(alg).init(KEY)
    np.testing.assert_allclose([state.threshold, state.radius], [learner.gamma, learner.radius], rtol=1e-12)
    assert 5 < sum(learner.kept) < 115  # some are dropped
    if mode == "ons":
        norms = np.linalg.norm(theta, axis=1)
        assert (norms <= 0.1 * (1 + 1e-12)).all() and (norms > 0.1 * (1 - 1e-12)).sum() > 5


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [3, 20])
def test_without_truncation_it_is_ridge_regression(dim, rng):
    x, rewards = rng.standard_normal((60, dim)), 100.0 * rng.standard_normal(60)
    theta, _ = replay(CRTM(dim=dim, horizon=60, mode="ls", ridge=0.7, threshold_scale=np.inf), x, rewards)
    for t in (1, 2, 7, 60):
        ridge = np.linalg.solve(0.7 * np.eye(dim) + x[:t].T @ x[:t], x[:t].T @ rewards[:t])
        np.testing.assert_allclose(theta[t - 1], ridge, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("mode", ["ons", "ls"])
def test_a_huge_reward_counts_as_zero(mode):
    """Truncation, not clipping: 1e3, 1e30 and 0 are the same reward, and V grows all the same."""
    alg = CRTM(mode=mode, **TRACE)
    seen = [replay(alg, rewards=np.array([1.1, -0.4, r, 0.7, -2.0])) for r in (1e3, -1e30, 0.0, 2.0)]
    np.testing.assert_array_equal(seen[0][0], seen[1][0])
    np.testing.assert_array_equal(seen[0][0], seen[2][0])
    assert not np.allclose(seen[0][0], seen[3][0])
    np.testing.assert_array_equal(seen[0][1], seen[3][1])


def test_the_threshold_is_met_with_the_arm_already_in_the_design():
    """d = 1, x = 1, lambda = 1: ||x|| is 1/sqrt(2) with V_1 = 2 (1 with V_0); rewards around Gamma sqrt(2)."""
    alg = CRTM(dim=1, horizon=50, mode="ls")
    edge = float(as_arrays(alg).init(KEY).threshold) * 2.0**0.5
    just_kept, just_dropped = (replay(alg, np.ones((1, 1)), [edge * f])[0][0, 0] for f in (1 - 1e-12, 1 + 1e-12))
    np.testing.assert_allclose(just_kept, edge / 2, rtol=1e-9)
    assert just_dropped == 0.0


@pytest.mark.slow
def test_symmetries(rng):
    x, rewards = rng.standard_normal((100, 3)) / 2, rng.standard_t(2.1, 100)
    orthogonal = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    for mode in ("ons", "ls"):
        alg = CRTM(dim=3, horizon=100, mode=mode, threshold_scale=0.5)
        base = replay(alg, x, rewards)[0]
        np.testing.assert_allclose(replay(alg, x, -rewards)[0], -base, atol=1e-14)
        np.testing.assert_allclose(replay(alg, x @ orthogonal, rewards)[0], base @ orthogonal, atol=1e-11)


def test_a_zero_arm_teaches_nothing():
    theta, inverse = replay(CRTM.theory(dim=2, horizon=10), [[0.6, 0.8], [0.0, 0.0]], [1.0, 5.0])
    np.testing.assert_array_equal(theta[1], theta[0])
    np.testing.assert_array_equal(inverse[1], inverse[0])


def test_the_first_arm_wins_a_tie():
    alg = as_arrays(CRTM.theory(dim=2, horizon=10))
    obs = ArmObs(jnp.asarray([[0.5, 0.5], [0.0, 0.9], [0.9, 0.0]]))
    assert int(compiled.select(alg, KEY, jnp.int32(0), compiled.init(alg, KEY), obs).index) == 1


@pytest.mark.slow
def test_confidence_sets_cover(rng):
    """||theta_t - theta*||_{V_t} <= radius in every trial under Student noise; the theory is far on the safe side."""
    trials, T = 40, 400
    x = rng.standard_normal((trials, T, 2))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    star = np.array([0.6, -0.8])
    rewards = x @ star + rng.standard_t(2.1, (trials, T))
    alg = as_arrays(CRTM.theory(dim=2, horizon=T, eps=0.99, noise_scale=4.387787))
    theta, inverse = jax.vmap(_inverses, in_axes=(None, 0, 0))(alg, jnp.asarray(x), jnp.asarray(rewards))
    error = np.asarray(theta) - star
    norm = np.sqrt(np.einsum("sti,sti->st", error, np.linalg.solve(inverse, error[..., None])[..., 0]))
    assert 1e-3 < (norm / alg.init(KEY).radius).max() < 0.2


def test_a_moment_of_the_reward_follows_from_the_noise():
    """u = (nu + L S)^{1+eps}."""
    derived = CRTM(dim=2, horizon=100, eps=0.5, noise_scale=1.31, norm_bound=2.0, arm_bound=0.5)
    given = CRTM(dim=2, horizon=100, eps=0.5, reward_moment=2.31**1.5, norm_bound=2.0, arm_bound=0.5)
    a, b = (as_arrays(alg).init(KEY) for alg in (derived, given))
    np.testing.assert_allclose([a.threshold, a.radius], [b.threshold, b.radius], rtol=1e-13)


def test_presets():
    theory = CRTM.theory(dim=3, horizon=1000, eps=0.5, norm_bound=2.0)
    practical = CRTM.practical(dim=3, horizon=1000, eps=0.5, noise_scale=1.31)
    assert (theory.mode, theory.ridge, theory.beta_scale, theory.norm_bound) == ("ons", 1.0, 1.0, 2.0)
    assert (practical.mode, practical.ridge, practical.noise_scale) == ("ls", 3.0, 1.31)
    assert {name: getattr(practical, name) for name in MULTIPLIERS["crtm"]} == MULTIPLIERS["crtm"]
    assert CRTM.practical(dim=3, horizon=10, beta_scale=0.1, mode="ons").beta_scale == 0.1


def test_long_horizons_do_not_overflow():
    """4 T^2 and T^2 stay logarithms; eps = 1 has T^e = 1."""
    state = as_arrays(CRTM.theory(dim=2, horizon=2e9, reward_moment=1.0)).init(KEY)
    log_level, potential = np.log(4.0) + 2 * np.log(2e9), 2 * np.log1p(5e8)
    np.testing.assert_allclose(state.threshold, 2 * np.sqrt(potential / log_level), rtol=1e-12)
    np.testing.assert_allclose(state.radius**2, 896 * potential * log_level + 2 + 48 * potential, rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mode": "sgd"}, r"CRTM\.mode"),
        ({"eps": 1.49}, r"CRTM\.eps must lie in \(0, 1\], got 1\.49"),
        ({"noise_scale": -1.0}, r"CRTM\.noise_scale must lie in \[0, inf\)"),
        ({"reward_moment": 0.0}, r"CRTM\.reward_moment must lie in \(0, inf\)"),
        ({"ridge": 0.0}, r"CRTM\.ridge must lie in \(0, inf\)"),
        ({"delta": 1.0}, r"CRTM\.delta must lie in \(0, 1\)"),
        ({"horizon": 0}, r"CRTM\.horizon must lie in \[1, inf\)"),
        ({"threshold_scale": 0.0}, r"CRTM\.threshold_scale must lie in \(0, inf\]"),
    ],
)
def test_bad_values_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        validate(CRTM(**{"dim": 2, "horizon": 10} | change))
