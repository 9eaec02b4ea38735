"""System identification: the estimators against NumPy in matrix form, and what they have in common."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.linear.hvt_estimator import HvtEstimator
from jaxbandits.algorithms.linear.hvt_identification import HvtIdentification
from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
from jaxbandits.algorithms.linear.recursive_least_squares import RecursiveLeastSquares
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.numerics import inverse_factors
from jaxbandits.types import NextState, ScaledNextState, SystemObs
from tests.reference import identification as reference

KEY = jax.random.key(0)


def _dense(inverse):
    """`[p, p]`, or `[n, p, p]` where each coordinate has its own."""
    own = jax.tree.leaves(inverse)[-1].ndim == 2
    return jax.vmap(inverse_factors.to_dense)(inverse) if own else inverse_factors.to_dense(inverse)


@jax.jit
def _replay(alg, Z, X, nu):
    def sample(state, row):
        t, z, x, nu = row
        obs = SystemObs(z)
        decision = alg.select(KEY, t, state, obs)
        told = NextState(x) if alg.feedback is NextState else ScaledNextState(x, nu)
        state = alg.update(KEY, t, state, obs, decision, told)
        return state, (alg.recommend(state), decision.next_state, _dense(state.inverse))

    return jax.lax.scan(sample, alg.init(KEY), (jnp.arange(len(Z), dtype=jnp.int32), Z, X, nu))[1]


def replay(alg, Z, X, nu=1.0):
    """Estimates [T, p, n], predictions [T, n] and inverses of a recorded trajectory."""
    nu = np.broadcast_to(nu, X.shape)
    return tuple(map(np.asarray, _replay(*as_arrays((alg, np.asarray(Z), np.asarray(X), nu)))))


@pytest.fixture
def data(rng, request):
    """A trajectory of 150 samples under Student noise."""
    n, m = getattr(request, "param", (2, 1))
    A, B = reference.system(rng, n, m)
    return reference.trajectory(rng, 150, A, B, 0.3 * rng.standard_t(2.1, (150, n)))


@pytest.mark.slow_after_first
@pytest.mark.parametrize("data", [(1, 0), (2, 1), (4, 3), (3, 14)], indirect=True)
def test_hvt_matches_the_matrix_form(data):
    """All hyperparameters away from their defaults; coordinates are clipped, columns projected."""
    Z, X = data
    n, p = X.shape[1], Z.shape[1]
    common = {"eps": 0.6, "sigma_min": 0.03, "delta": 0.02, "beta_scale": 2e-3, "tau_scale": 0.02}
    alg = HvtIdentification(
        n_states=n, n_inputs=p - n, horizon=150, norm_bound=0.45, arm_bound=2.0, ridge=0.7, step_size=2.5, **common
    )
    learner = reference.HvtIdentification(p, n, 150, S=0.45, L=2.0, lam=0.7, alpha=2.5, **common)
    estimates, predictions, inverse = replay(alg, Z, X, 0.2)
    for z, x, estimate, prediction in zip(Z, X, estimates, predictions, strict=True):
        np.testing.assert_allclose(prediction, learner.Theta.T @ z, atol=1e-9)
        learner.update(z, x, 0.2)
        np.testing.assert_allclose(estimate, learner.Theta, atol=1e-9)
    np.testing.assert_allclose(inverse[-1], np.linalg.inv(learner.V), rtol=1e-8, atol=1e-11)
    assert learner.clipped > 5 and learner.projected > 5


@pytest.mark.slow
@pytest.mark.parametrize("data", [(2, 1), (3, 2)], indirect=True)
def test_own_designs_are_separate_estimators(data):
    """`shared = False` with a moment scale for each coordinate: n times `HvtEstimator` on (z, x_i, nu_i)."""
    Z, X = data
    n, p = X.shape[1], Z.shape[1]
    nu = 0.1 * 3.0 ** np.arange(n)
    settings = {"horizon": 150, "eps": 0.99, "beta_scale": 2e-4, "tau_scale": 0.1, "norm_bound": 2.0}
    estimates, _, inverse = replay(HvtIdentification(n_states=n, n_inputs=p - n, shared=False, **settings), Z, X, nu)
    assert inverse.shape == (150, n, p, p)
    estimator = as_arrays(HvtEstimator(dim=p, **settings))
    for i in range(n):
        state, update = estimator.init(), jax.jit(estimator.update)
        for t in range(150):
            x = jnp.asarray(Z[t])
            state = update(jnp.int32(t), state, x, jnp.asarray(X[t, i]), jnp.asarray(nu[i]))
        np.testing.assert_allclose(estimates[-1][:, i], state.theta, atol=1e-12)
        np.testing.assert_allclose(inverse[-1, i], inverse_factors.to_dense(state.inverse), rtol=1e-10, atol=1e-13)


@pytest.mark.slow
def test_sharing_is_nothing_but_sharing(data):
    """With one scale, separate designs are copies of the shared one; with several, the shared one uses the largest."""
    settings = {"n_states": 2, "n_inputs": 1, "horizon": 150, "eps": 0.99, "norm_bound": 2.0}
    shared, separate = (HvtIdentification.practical(shared=s, **settings) for s in (True, False))
    ours = replay(shared, *data, 0.5)
    theirs = replay(separate, *data, 0.5)
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-13)
    for i in range(2):
        np.testing.assert_allclose(ours[2], theirs[2][:, i], rtol=1e-12)
    np.testing.assert_allclose(ours[0], replay(shared, *data, np.array([0.1, 0.5]))[0], atol=1e-13)
    bound = HvtIdentification.practical(moment_bound=0.5, **settings)
    assert (bound.feedback, shared.feedback) == (NextState, ScaledNextState)
    np.testing.assert_allclose(ours[0], replay(bound, *data, 99.0)[0], atol=1e-13)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("data", [(1, 0), (2, 1), (3, 14)], indirect=True)
def test_recursive_least_squares_is_batch_ridge_at_every_t(data):
    Z, X = data
    n, p = X.shape[1], Z.shape[1]
    estimates, predictions, _ = replay(RecursiveLeastSquares(n_states=n, n_inputs=p - n, ridge=0.7), Z, X)
    for t in (0, 1, 4, 40, 149):
        np.testing.assert_allclose(estimates[t], reference.batch_ridge(Z[: t + 1], X[: t + 1], 0.7), atol=1e-10)
        before = estimates[t - 1] if t else np.zeros((p, n))
        np.testing.assert_allclose(predictions[t], before.T @ Z[t], atol=1e-12)


@pytest.mark.slow
def test_hvt_without_clipping_is_recursive_least_squares(data):
    """tau = inf, sigma = 1, alpha = 1, no projection."""
    hvt = HvtIdentification(
        n_states=2, n_inputs=1, horizon=150, ridge=0.7, step_size=1.0, moment_bound=1.0, sigma_beta_scale=0.0,
        tau_scale=np.inf, norm_bound=np.inf,
    )  # fmt: skip
    rls = RecursiveLeastSquares(n_states=2, n_inputs=1, ridge=0.7)
    for ours, theirs in zip(replay(hvt, *data), replay(rls, *data), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_one_coordinate_does_not_move_another(data):
    """Clipping and projection are by coordinate: a wild second coordinate leaves the first estimate as it was."""
    Z, X = data
    wild = X * np.array([1.0, 1e6])
    for alg in (
        HvtIdentification.practical(n_states=2, n_inputs=1, horizon=150, eps=0.99),
        RecursiveLeastSquares(n_states=2, n_inputs=1),
    ):
        a, b = replay(alg, Z, X, 0.5)[0], replay(alg, Z, wild, 0.5)[0]
        np.testing.assert_allclose(a[..., 0], b[..., 0], atol=1e-13)
        assert not np.allclose(a[..., 1], b[..., 1])


def test_a_wild_state_has_bounded_influence(data):
    Z, X = data
    jumps = [np.where(np.arange(150)[:, None] == 100, size, X) for size in (1e4, 1e9)]
    hvt = HvtIdentification.practical(n_states=2, n_inputs=1, horizon=150, eps=0.99, norm_bound=np.inf)
    a, b = (replay(hvt, Z, x, 0.5)[0] for x in jumps)
    np.testing.assert_array_equal(a, b)
    rls = RecursiveLeastSquares(n_states=2, n_inputs=1)
    a, b = (replay(rls, Z, x)[0] for x in jumps)
    assert np.abs(b[100] - a[100]).max() > 1e5


def test_columns_stay_in_the_ball_and_signs_are_symmetric(data):
    alg = HvtIdentification.practical(n_states=2, n_inputs=1, horizon=150, eps=0.99, norm_bound=0.3)
    estimates = replay(alg, *data, 0.5)[0]
    norms = np.linalg.norm(estimates, axis=1)
    assert (norms <= 0.3 * (1 + 1e-12)).all() and (norms > 0.3 * (1 - 1e-12)).sum() > 5
    np.testing.assert_allclose(replay(alg, data[0], -data[1], 0.5)[0], -estimates, atol=1e-13)


def test_presets_and_radius():
    theory, practical = (
        f(n_states=2, n_inputs=1, horizon=3000, eps=0.99)
        for f in (HvtIdentification.theory, HvtIdentification.practical)
    )
    assert (theory.beta_scale, theory.tau_scale) == (1.0, 1.0)
    bandit = HvtUCB.practical(dim=3, horizon=1500)
    assert (practical.beta_scale, practical.tau_scale) == (bandit.beta_scale, bandit.tau_scale)
    learner = reference.HvtIdentification(3, 2, 3000, 0.99)
    state = as_arrays(theory).init(KEY)
    for t in (0, 1, 3000):
        np.testing.assert_allclose(theory.radius(jnp.int32(t), state), learner.beta(t), rtol=1e-12)


@pytest.mark.parametrize(
    ("alg", "message"),
    [
        (HvtIdentification(n_states=0, n_inputs=1, horizon=9), r"HvtIdentification\.n_states must lie in \[1, inf\)"),
        (HvtIdentification(n_states=1, n_inputs=1, horizon=9, eps=0.0), r"HvtIdentification\.eps must lie in \(0, 1\]"),
        (RecursiveLeastSquares(n_states=1, n_inputs=-1), r"RecursiveLeastSquares\.n_inputs must lie in \[0, inf\)"),
        (RecursiveLeastSquares(n_states=1, n_inputs=1, ridge=0.0), r"RecursiveLeastSquares\.ridge must lie in \(0"),
    ],
)
def test_bad_values_are_refused(alg, message):
    with pytest.raises(InputError, match=message):
        validate(alg)
