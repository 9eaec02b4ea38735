"""CRMM: recorded golden numbers, the NumPy loop on fresh instances, epochs, medians and held arms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.linear import crmm
from jaxbandits.algorithms.linear.crmm import CRMM
from jaxbandits.algorithms.linear.multipliers import MULTIPLIERS
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.types import ArmObs, Reward
from tests.algorithms.linear import replay_linear
from tests.algorithms.linear.replay_linear import KEY, closed_loop
from tests.reference import crtm_crmm as reference
from tests.reference.heavy_tailed_linear import instance

# Three epochs of five pulls, T = 100, eps = 0.5, v = 1.
ARMS = np.array([[0.6, 0.8], [1, 0], [-0.28, 0.96]])
X = np.repeat(ARMS, 5, axis=0)
R = np.array([1.1, -0.4, 60, 0.7, -25, 0.2, 0.3, -9, 0.1, 4, -1, -0.2, 0.4, 33, 0])
TRACE = {"dim": 2, "horizon": 100, "eps": 0.5, "reps": 5}


def replay(alg, xs=X, rewards=R):
    """Estimates `[T, d]` and inverses `[T, d, d]` after every pull of a recorded trace."""
    arrays = (jnp.asarray(a, dtype=float) for a in (xs, rewards))
    return tuple(map(np.asarray, _inverses(as_arrays(alg), *arrays)))


def _inverses(alg, xs, rewards):
    return replay_linear.replay(alg, xs, rewards, replay_linear.estimate_and_inverse)


def test_golden_trace_of_the_newton_step():
    alg = CRMM(**TRACE)
    np.testing.assert_allclose(alg.radius(0, as_arrays(alg).init(KEY)), 15.3862613901, rtol=1e-11)
    theta, _ = replay(alg)
    np.testing.assert_allclose(theta[-1], [0.290556866859, 0.215774106128], rtol=2e-12)
    np.testing.assert_array_equal(theta[:4], 0.0)
    np.testing.assert_array_equal(theta[4], theta[8])  # only the last pull of an epoch teaches


def test_least_squares_on_the_medians_by_hand():
    """Medians 0.7, 0.2, 0 of the trace; theta = (I + X'X)^{-1} X'y."""
    theta, inverse = replay(CRMM(mode="ls", **TRACE))
    matrix = np.eye(2) + ARMS.T @ ARMS
    np.testing.assert_allclose(theta[-1], np.linalg.solve(matrix, ARMS.T @ [0.7, 0.2, 0.0]), rtol=1e-13)
    np.testing.assert_allclose(inverse[-1], np.linalg.inv(matrix), rtol=1e-13)


@pytest.mark.quick_cases("4-45-ls")
@pytest.mark.parametrize("mode", ["ons", "ls"])
@pytest.mark.parametrize(("dim", "reps"), [(4, 45), (1, 1), (4, 6), (16, 3)])
def test_estimates_match_the_reference(dim, reps, mode, rng):
    """All hyperparameters away from their defaults; arms that change within an epoch; the last epoch cut short."""
    T = 137
    x, rewards = rng.standard_normal((T, dim)) / np.sqrt(dim), 3.0 * rng.standard_t(1.6, T)
    common = {"mode": mode, "eps": 0.4, "delta": 0.03, "beta_scale": 0.7, "reps": reps}
    alg = CRMM(dim=dim, horizon=T, noise_scale=1.8, norm_bound=0.2, arm_bound=1.5, ridge=0.3, **common)
    learner = reference.Crmm(dim, T, v=1.8**1.4, S=0.2, L=1.5, lam=0.3, **common)
    theta, inverse = replay(alg, x, rewards)
    np.testing.assert_allclose(theta, reference.replay(learner, x, rewards), atol=1e-10)
    np.testing.assert_allclose(inverse[-1], np.linalg.inv(learner.fit.V), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(alg.radius(0, as_arrays(alg).init(KEY)), learner.radius, rtol=1e-12)
    if mode == "ons":
        norms = np.linalg.norm(theta, axis=1)
        assert (norms <= 0.2 * (1 + 1e-12)).all() and (norms > 0.2 * (1 - 1e-12)).any()


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [3, 20])
def test_arm_sets_that_change_altogether(dim, rng):
    """Fresh arms every round: the nearest one is played, the median is credited to the held one."""
    arms, mask, theta, noise, _ = instance(rng, 120, 6, dim, "student")
    alg = CRMM.practical(dim=dim, horizon=120, reps=4, beta_scale=3e-2)
    learner = reference.Crmm(dim, 120, 1.0, v=1.0, reps=4, mode="ls", lam=float(dim), beta_scale=3e-2)
    played, want = reference.closed_loop(learner, arms, mask, theta, noise)
    index, estimate = closed_loop(as_arrays(alg), *map(jnp.asarray, (arms, mask, theta, noise)))
    np.testing.assert_array_equal(index, played)
    np.testing.assert_allclose(estimate, want, atol=1e-9)


@pytest.mark.slow
def test_the_held_arm_and_its_stand_in():
    """Round 0 holds the longest arm (theta = 0); later that one where available, else the nearest, first on ties."""
    alg = as_arrays(CRMM.theory(dim=2, horizon=100))
    arms = jnp.asarray([[0.0, 0.5], [0.0, 0.9], [0.3, 0.9], [-0.3, 0.9], [0.1, -0.5]])

    def play(t, state, available):
        mask = jnp.asarray([k in available for k in range(5)])
        return alg.select(KEY, jnp.int32(t), state, ArmObs(arms, mask))

    first = play(0, alg.init(KEY), {0, 1, 4})
    assert int(first.index) == 1
    state = alg.update(KEY, jnp.int32(0), alg.init(KEY), None, first, Reward(jnp.asarray(1.0)))
    for available, expected in (({0, 1, 2, 3, 4}, 1), ({0, 2, 3}, 2), ({3, 2}, 2), ({0, 3}, 3), ({0, 4}, 0), ({4}, 4)):
        stand_in = play(1, state, available)
        assert int(stand_in.index) == expected
        np.testing.assert_array_equal(stand_in.x, arms[expected])
    state = alg.update(KEY, jnp.int32(1), state, None, play(1, state, {4}), Reward(jnp.asarray(1.0)))
    np.testing.assert_array_equal(state.epoch_arm, arms[1])


@pytest.mark.parametrize("n", [1, 2, 3, 4, 11, 32, 33, 100])
def test_median(n, rng):
    values = np.stack([rng.standard_cauchy(n) for _ in range(50)] + [rng.integers(0, 3, n) for _ in range(50)])
    np.testing.assert_allclose(jax.jit(jax.vmap(crmm._median))(values), np.median(values, axis=1), rtol=1e-15)


@pytest.mark.parametrize("mode", ["ons", "ls"])
def test_outliers_have_bounded_influence(mode):
    """Fewer than half of an epoch's rewards, however large, move the estimate no further than its other rewards."""
    alg = CRMM(mode=mode, **TRACE)
    wild = R.copy()
    wild[[2, 4, 7, 9, 13]] = [1e30, -1e30, -1e9, 1e12, 1e300]  # on the sides of the median on which they were
    np.testing.assert_array_equal(replay(alg, rewards=wild)[0], replay(alg)[0])


def test_an_unfinished_epoch_teaches_nothing():
    theta, inverse = replay(CRMM(**TRACE), X[:13], R[:13])
    np.testing.assert_array_equal(theta[9], theta[12])
    np.testing.assert_array_equal(inverse[9], inverse[12])


@pytest.mark.slow
def test_symmetries(rng):
    x, rewards = rng.standard_normal((90, 3)) / 2, rng.standard_t(2.1, 90)
    orthogonal = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    for mode in ("ons", "ls"):
        alg = CRMM(dim=3, horizon=90, mode=mode, reps=3, norm_bound=0.4)
        base = replay(alg, x, rewards)[0]
        np.testing.assert_allclose(replay(alg, x, -rewards)[0], -base, atol=1e-14)
        np.testing.assert_allclose(replay(alg, x @ orthogonal, rewards)[0], base @ orthogonal, atol=1e-11)
        within = rewards.reshape(30, 3)[:, ::-1].ravel()  # x of the first pull is held: order within an epoch is free
        np.testing.assert_array_equal(replay(alg, x, within)[0][2::3], base[2::3])


@pytest.mark.slow
def test_confidence_sets_cover(rng):
    """||theta_n - theta*||_{V_n} <= radius in every trial under Student noise, theory preset."""
    trials, epochs = 40, 8
    alg = CRMM.theory(dim=2, horizon=1200, eps=0.99, noise_scale=4.387787)
    x = rng.standard_normal((trials, epochs, 2))
    x = np.repeat(x / np.linalg.norm(x, axis=-1, keepdims=True), alg.reps, axis=1)
    star = np.array([0.6, -0.8])
    rewards = x @ star + rng.standard_t(2.1, x.shape[:2])
    theta, inverse = jax.vmap(_inverses, in_axes=(None, 0, 0))(as_arrays(alg), jnp.asarray(x), jnp.asarray(rewards))
    error = np.asarray(theta) - star
    norm = np.sqrt(np.einsum("sti,sti->st", error, np.linalg.solve(inverse, error[..., None])[..., 0]))
    assert 1e-3 < (norm / as_arrays(alg).init(KEY).radius).max() < 0.2


def test_asymmetric_noise_leaves_a_bias(rng):
    """Centred Pareto noise has median 2^{2/3} - 3 = -1.4126: that is what CRMM learns for an arm of mean 0."""
    rewards = (1 - rng.uniform(size=11 * 400)) ** (-1 / 1.5) - 3.0
    theta, _ = replay(CRMM.practical(dim=1, horizon=len(rewards)), np.ones((len(rewards), 1)), rewards)
    medians = np.median(rewards.reshape(-1, 11), axis=1)
    np.testing.assert_allclose(theta[-1, 0], medians.sum() / 401, rtol=1e-9)
    assert -1.5 < theta[-1, 0] < -1.1


def test_presets():
    theory = CRMM.theory(dim=3, horizon=18_000, eps=0.5, norm_bound=2.0)
    practical = CRMM.practical(dim=3, horizon=18_000, eps=0.5, noise_scale=1.31)
    assert (theory.mode, theory.ridge, theory.beta_scale, theory.norm_bound) == ("ons", 1.0, 1.0, 2.0)
    assert theory.reps == int(np.ceil(16 * np.log(4 * 18_000**2)))  # 336
    assert CRMM.theory(dim=3, horizon=100, delta=0.05).reps == int(np.ceil(16 * np.log(8000)))
    assert (practical.mode, practical.ridge, practical.reps) == ("ls", 3.0, 11)
    assert practical.beta_scale == MULTIPLIERS["crmm"]["beta_scale"]
    assert CRMM.practical(dim=3, horizon=10, reps=5).reps == CRMM.theory(dim=3, horizon=10, reps=5).reps == 5


@pytest.mark.parametrize("reps", [3, 49, 51])
def test_epochs_are_counted_exactly(reps):
    """N = floor(T / reps) on both sides of a multiple; with delta given, the radius depends on T through N only."""

    def radius(T):
        return float(as_arrays(CRMM(dim=2, horizon=T, reps=reps, delta=0.1)).init(KEY).radius)

    for epochs in (1, 7, 980):
        assert radius(epochs * reps - 1) < radius(epochs * reps) == radius(epochs * reps + reps - 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mode": "omd"}, r"CRMM\.mode"),
        ({"reps": 0}, r"CRMM\.reps must lie in \[1, inf\), got 0"),
        ({"reps": 2.5}, r"CRMM\.reps must be a whole number"),
        ({"eps": 0.0}, r"CRMM\.eps must lie in \(0, 1\], got 0"),
        ({"noise_scale": -1.0}, r"CRMM\.noise_scale must lie in \[0, inf\)"),
        ({"norm_bound": np.inf}, r"CRMM\.norm_bound must lie in \(0, inf\)"),
        ({"delta": 0.0}, r"CRMM\.delta must lie in \(0, 1\)"),
    ],
)
def test_bad_values_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        validate(CRMM(**{"dim": 2, "horizon": 10} | change))
