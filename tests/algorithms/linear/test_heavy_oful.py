"""HEAVY-OFUL: recorded golden numbers, a Newton solver on fresh instances, properties of Eq. (6) and of the passes."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from jaxbandits.algorithms.linear import heavy_oful
from jaxbandits.algorithms.linear.heavy_oful import HeavyOFUL
from jaxbandits.algorithms.linear.multipliers import MULTIPLIERS
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.numerics import inverse_factors
from jaxbandits.types import ArmDecision, ArmObs, Reward, ScaledReward
from tests.reference import heavy_oful as reference
from tests.reference.heavy_tailed_linear import instance
from tests.reference.heavy_tailed_linear import replay as reference_replay

KEY = jax.random.key(0)

# The recorded trace and its numbers: d = 2, T = 100, eps = 0.5.
X = np.array([[0.6, 0.8], [1, 0], [-0.28, 0.96], [0.6, 0.8], [0.8, -0.6]])
R = np.array([1.1, -0.4, 60, 0.7, -25])
NU = np.array([1, 0.5, 2, 1, 1.5])
PRACTICAL = {"beta_scale": 1e-3, "tau_scale": 0.1, "c0": 1.0, "c1": 1.0}


def make_feedback(alg, reward, moment):
    return ScaledReward(reward, moment) if alg.feedback is ScaledReward else Reward(reward)


@jax.jit
def _replay(alg, xs, rewards, moments):
    """The estimates of a recorded trace and the last state."""

    def sample(state, row):
        t, x, reward, moment = row
        decision = ArmDecision(jnp.int32(0), x)
        state = alg.update(KEY, t, state, None, decision, make_feedback(alg, reward, moment))
        return state, (alg.recommend(state), alg.radius(t + 1, state))

    rows = (jnp.arange(len(rewards), dtype=jnp.int32), xs, rewards, moments)
    return jax.lax.scan(sample, alg.init(KEY), rows)


def replay(alg, xs=X, rewards=R, moments=NU):
    state, (theta, beta) = _replay(as_arrays(alg), *(jnp.asarray(a, dtype=float) for a in (xs, rewards, moments)))
    return state, np.asarray(theta), np.asarray(beta)


def stored_scales(state, xs):
    """sigma and tau of every sample, read back from the history."""
    n, design = len(xs), np.asarray(state.samples.design)
    largest = np.abs(xs).argmax(axis=1)
    sigma = xs[np.arange(n), largest] / design[np.arange(n), largest]
    return sigma, 1 / np.asarray(state.samples.steepness)[:n]


@jax.jit
def _closed_loop(alg, arms, mask, theta_star, noise, moments):
    def play(state, row):
        t, arms, mask, noise, moment = row
        obs = ArmObs(arms, mask)
        decision = alg.select(KEY, t, state, obs)
        reward = decision.x @ theta_star + noise
        state = alg.update(KEY, t, state, obs, decision, make_feedback(alg, reward, moment))
        return state, (decision.index, state.theta, inverse_factors.to_dense(state.inverse))

    rows = (jnp.arange(len(noise), dtype=jnp.int32), arms, mask, noise, moments)
    return jax.lax.scan(play, alg.init(KEY), rows)[1]


def clipped_data(rng, n, dim, law="student", understated=5.0):
    """A recorded trace whose told moments are too small, so that samples are clipped and estimates projected."""
    arms, _, theta, noise, nu = instance(rng, n, 1, dim, law, decades=1.0)
    return arms[:, 0], arms[:, 0] @ theta + noise, nu / understated


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("constants", "want"),
    [
        ({}, (-0.107882069620, 0.220655181528)),
        ({"c0": 1.0, "c1": 1.0}, (-0.455902313163, 0.890029820204)),
    ],
)
def test_golden_trace(constants, want):
    state, theta, beta = replay(HeavyOFUL.theory(dim=2, horizon=100, eps=0.5, **constants))
    np.testing.assert_allclose(theta[-1], want, atol=1e-12)
    np.testing.assert_allclose(beta[-1], 576.64217618, rtol=1e-11)
    if constants:
        np.testing.assert_allclose(stored_scales(state, X)[0], [1, 0.6633249581, 2, 1, 1.5], rtol=1e-10)
    assert reference.HeavyOful(2, 100, 0.5).kappa == pytest.approx(15.6488918618, rel=1e-11)


def test_the_reference_solves_eq_6(rng):
    """Against SciPy's constrained minimiser, which knows nothing of multipliers."""
    x, r, nu = clipped_data(rng, 60, 3)
    problem = x / nu[:, None], r / nu, np.full(60, 0.7), 1.3
    radius = 0.6 * np.linalg.norm(reference.solve(np.zeros(3), *problem, np.inf)[0])  # the ball binds
    theta, mu = reference.solve(np.zeros(3), *problem, radius)
    ball = {"type": "ineq", "fun": lambda th: radius**2 - th @ th, "jac": lambda th: -2 * th}
    slow = minimize(
        reference.objective,
        np.zeros(3),
        problem,
        jac=reference.gradient,
        constraints=ball,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert mu > 0
    np.testing.assert_allclose(theta, slow.x, atol=1e-6)
    assert reference.objective(theta, *problem) <= slow.fun * (1 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["fisk", "student"])
@pytest.mark.parametrize("dim", [5, 1, 16])
def test_every_quantity_matches_the_reference(dim, law, rng):
    """All hyperparameters away from their defaults; samples are clipped, estimates projected."""
    data = clipped_data(rng, 80, dim, law, understated=50.0)
    common = {"eps": 0.4, "sigma_min": 0.02, "delta": 0.03, "c0": 0.7, "c1": 0.02, "tau_scale": 0.1}
    alg = HeavyOFUL(
        dim=dim, capacity=90, horizon=80, norm_bound=0.5, arm_bound=1.5, ridge=0.8, beta_scale=0.01, **common
    )
    state, theta, beta = replay(alg, *data)
    learner = reference.HeavyOful(dim, 80, S=0.5, L=1.5, lam=0.8, beta_scale=0.01, **common)
    want = reference_replay(learner, *data)
    assert (want["mu"] > 0).sum() > 5 and want["clipped"][-1] > 0
    np.testing.assert_allclose(theta, want["theta"], atol=1e-10)
    np.testing.assert_allclose(beta, want["beta"], rtol=1e-12)
    np.testing.assert_allclose(
        inverse_factors.to_dense(state.inverse), np.linalg.inv(want["H"][-1]), rtol=1e-9, atol=1e-13
    )
    sigma, tau = stored_scales(state, data[0])
    np.testing.assert_allclose(sigma, want["sigma"], rtol=1e-10)
    np.testing.assert_allclose(tau, want["tau"], rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("dim", [2, 14])
def test_histories_of_several_blocks(dim, rng):
    """600 samples, three blocks, the last one incomplete: the estimate at and around the edges of blocks."""
    data = clipped_data(rng, 600, dim)
    _, theta, _ = replay(HeavyOFUL.theory(dim=dim, horizon=600, eps=0.99, **PRACTICAL), *data)
    learner = reference.HeavyOful(dim, 600, 0.99, **PRACTICAL)
    for row in zip(*data, strict=True):
        learner.update(*row, fit=False)
    xs, rewards, taus = map(np.array, (learner.X, learner.r, learner.tau))
    for t in (1, 255, 256, 257, 511, 512, 513, 600):
        want, _ = reference.solve(np.zeros(dim), xs[:t], rewards[:t], taus[:t], learner.lam, 1.0)
        np.testing.assert_allclose(theta[t - 1], want, atol=1e-10, err_msg=str(t))
    _, roomy, _ = replay(HeavyOFUL.theory(dim=dim, horizon=600, eps=0.99, capacity=1000, **PRACTICAL), *data)
    np.testing.assert_allclose(roomy, theta, atol=1e-12)


@pytest.mark.slow
def test_the_estimate_is_stationary_in_the_interior(rng):
    """The gradient of Eq. (6) vanishes inside the ball, and points inwards along theta on its surface."""
    xs, rewards, nu = clipped_data(rng, 300, 3)
    alg = HeavyOFUL.practical(dim=3, horizon=300, eps=0.99)
    state, theta, _ = replay(alg, xs, rewards, nu)
    sigma, tau = stored_scales(state, xs)
    inside = 0
    for t in range(1, 301, 7):
        design, response = xs[:t] / sigma[:t, None], rewards[:t] / sigma[:t]
        gradient = reference.gradient(theta[t - 1], design, response, tau[:t], 3.0)
        norm = np.linalg.norm(theta[t - 1])
        assert norm <= 1 + 1e-15
        if norm < 1 - 1e-9:
            inside += 1
            assert np.abs(gradient).max() < 1e-8
        else:
            mu = -gradient @ theta[t - 1]
            assert mu >= 0
            np.testing.assert_allclose(gradient, -mu * theta[t - 1], atol=1e-8)
    assert inside > 10


@pytest.mark.slow
@pytest.mark.parametrize("norm_bound", [0.4, 10.0])
def test_no_pass_increases_the_objective(norm_bound, rng):
    xs, rewards, nu = clipped_data(rng, 300, 2)
    alg = HeavyOFUL.practical(dim=2, horizon=300, eps=0.99, ridge=0.5, norm_bound=norm_bound)
    state, theta, _ = replay(alg, xs, rewards, nu)
    sigma, tau = stored_scales(state, xs)
    problem = xs / sigma[:, None], rewards / sigma, tau, 0.5
    one_pass = jax.jit(as_arrays(alg).one_pass)
    for start in norm_bound * rng.uniform(-0.7, 0.7, (5, 2)):
        point, values = jnp.asarray(start), []
        for _ in range(150):
            values.append(reference.objective(np.asarray(point), *problem))
            point, matters = one_pass(300, state, point)
        values = np.array(values)
        assert (np.diff(values) <= 1e-12 * values[0]).all() and values[-1] < values[0] - 1e-3
        assert not matters
        np.testing.assert_allclose(point, theta[-1], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("dim", [3, 16])
def test_least_squares_limit_is_weighted_ridge_regression(dim, rng):
    """tau = inf: ridge with weights 1/sigma^2 at every t; H is its matrix."""
    xs, rewards, nu = clipped_data(rng, 60, dim)
    alg = HeavyOFUL(dim=dim, capacity=60, horizon=60, ridge=0.7, tau_scale=jnp.inf, c0=1.0, c1=1.0, norm_bound=1e9)
    state, theta, _ = replay(alg, xs, rewards, nu)
    sigma = np.linalg.norm(xs, axis=1) / np.linalg.norm(state.samples.design, axis=1)
    for t in (1, 2, 7, 60):
        weighted = xs[:t].T / sigma[:t] ** 2
        matrix = 0.7 * np.eye(dim) + weighted @ xs[:t]
        np.testing.assert_allclose(theta[t - 1], np.linalg.solve(matrix, weighted @ rewards[:t]), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(inverse_factors.to_dense(state.inverse) @ matrix, np.eye(dim), atol=1e-9)


def test_eps_one_has_no_growth_factors():
    """eps = 1: tau_t sqrt(w^2 / (1 + w^2)) = tau0 and beta_t the same for all t >= 1; beta_0 = sqrt(lambda) S."""
    alg = HeavyOFUL.theory(dim=2, horizon=100, norm_bound=3.0)
    state, _, beta = replay(alg)
    assert (beta == beta[0]).all()
    np.testing.assert_allclose(as_arrays(alg).radius(0, state), np.sqrt(2.0), rtol=1e-15)
    sigma, tau = stored_scales(state, X)
    inverse = np.eye(2) * 9 / 2  # lambda = d / S^2
    for x, s, threshold in zip(X, sigma, tau, strict=True):
        w2 = x @ inverse @ x / s**2
        np.testing.assert_allclose(threshold, state.tau0 * np.sqrt((1 + w2) / w2), rtol=1e-10)
        inverse = np.linalg.inv(np.linalg.inv(inverse) + np.outer(x, x) / s**2)


@pytest.mark.slow
def test_a_trial_does_not_depend_on_its_company(rng):
    """Side by side, every trial stops at its own convergence: the same bits beside easy and beside hard trials."""
    mine = clipped_data(rng, 100, 2)
    easy, hard = clipped_data(rng, 100, 2, understated=1.0), clipped_data(rng, 100, 2, "pareto", understated=3000.0)
    alg = as_arrays(HeavyOFUL.practical(dim=2, horizon=100, eps=0.9))

    @jax.jit
    def run(*data):
        return jax.vmap(lambda *trial: _replay(alg, *trial)[1][0])(*data)

    def run_beside(other):
        return run(*(jnp.asarray(np.stack([b, a, b, b])) for a, b in zip(mine, other, strict=True)))

    alone, with_easy, with_hard = run_beside(mine), run_beside(easy), run_beside(hard)
    np.testing.assert_array_equal(alone[1], with_easy[1])
    np.testing.assert_array_equal(alone[1], with_hard[1])
    assert not np.array_equal(with_easy[0], with_hard[0])


@pytest.mark.slow
def test_only_the_blocks_written_so_far_are_read(rng):
    """What lies beyond the block of round t cannot matter: a round costs O(t), not O(capacity)."""
    xs, rewards, nu = clipped_data(rng, 600, 2)
    alg = as_arrays(HeavyOFUL.practical(dim=2, horizon=600, eps=0.99))
    state, _, _ = replay(alg, xs, rewards, nu)
    one_pass = jax.jit(jax.vmap(alg.one_pass, (None, 0, 0)))
    poisoned = state._replace(samples=jax.tree.map(lambda a: a.at[512:].set(jnp.nan), state.samples))
    both = jax.tree.map(lambda *leaves: jnp.stack(leaves), state, poisoned)
    for count, finite in ((256, True), (512, True), (600, False)):
        theta = one_pass(count, both, both.theta)[0]
        assert np.isfinite(theta[0]).all() and np.isfinite(theta[1]).all() == finite
        assert np.array_equal(theta[0], theta[1]) == finite


@pytest.mark.slow
def test_work_and_memory_grow_with_the_samples(rng, monkeypatch):
    """A pass visits ceil(t / 256) blocks, and the state holds d + 2 numbers a sample: O(t) time, O(T) memory."""
    visits = []
    original = heavy_oful.history.sum_over

    def counting(samples, count, terms, block):
        def count_visit(rows, written):
            jax.debug.callback(lambda _: visits.append(1), written[0])
            return terms(rows, written)

        return original(samples, count, count_visit, block=block)

    alg = as_arrays(HeavyOFUL.practical(dim=2, horizon=1200, eps=0.99))
    xs, rewards, nu = clipped_data(rng, 1200, 2)
    state, _, _ = replay(alg, xs, rewards, nu)
    monkeypatch.setattr(heavy_oful.history, "sum_over", counting)
    one_pass = jax.jit(alg.one_pass)
    for t, blocks in ((1, 1), (256, 1), (257, 2), (512, 2), (600, 3), (1200, 5)):
        visits.clear()
        jax.block_until_ready(one_pass(jnp.int32(t), state, state.theta))
        jax.effects_barrier()
        assert len(visits) == blocks
    sizes = [
        sum(leaf.size for leaf in jax.tree.leaves(as_arrays(HeavyOFUL.practical(dim=2, horizon=T)).init(KEY)))
        for T in (100, 200, 300)
    ]
    assert np.diff(sizes).tolist() == [400, 400]


def test_symmetry_and_bounded_influence():
    alg = HeavyOFUL.practical(dim=2, horizon=100, eps=0.5)
    _, theta, _ = replay(alg)
    np.testing.assert_array_equal(replay(alg, rewards=-R)[1], -theta)
    huge = [replay(alg, rewards=np.array([1.1, -0.4, size, 0.7, -25]))[1] for size in (1e3, 1e9)]
    np.testing.assert_allclose(huge[0], huge[1], atol=1e-9)  # clipped to the same side
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    np.testing.assert_allclose(replay(alg, xs=X @ turn)[1], theta @ turn, atol=1e-12)
    _, still, _ = replay(alg, xs=np.zeros((5, 2)))
    np.testing.assert_array_equal(still, np.zeros((5, 2)))  # w = 0


@pytest.mark.slow
def test_a_moment_bound_is_that_scale_every_round(rng):
    data = instance(rng, 120, 5, 2)
    options = {"dim": 2, "horizon": 120, "eps": 0.99}
    told_scale, bound = HeavyOFUL.practical(**options), HeavyOFUL.practical(**options, moment_bound=1.31)
    assert (told_scale.feedback, bound.feedback) == (ScaledReward, Reward)
    data = [*map(jnp.asarray, data[:4]), jnp.full(120, 1.31)]
    chex.assert_trees_all_equal(_closed_loop(as_arrays(told_scale), *data), _closed_loop(as_arrays(bound), *data))


@pytest.mark.slow
def test_confidence_set_covers(rng):
    """Theory preset, exact moments: ||theta_t - theta*||_{H_t} <= beta_t for all t in every trial (very loose)."""
    trials, T = 32, 100
    xs = rng.standard_normal((trials, T, 2))
    xs /= np.linalg.norm(xs, axis=-1, keepdims=True)
    star = np.array([0.6, -0.8])
    rewards = xs @ star + rng.standard_t(2.1, (trials, T))
    alg = as_arrays(HeavyOFUL.theory(dim=2, horizon=T, eps=0.99))
    state, (theta, beta) = jax.vmap(_replay, (None, 0, 0, None))(
        alg, jnp.asarray(xs), jnp.asarray(rewards), jnp.full(T, 4.387787)
    )
    design = np.asarray(state.samples.design)
    matrices = 2 * np.eye(2) + np.cumsum(np.einsum("sti,stj->stij", design, design), axis=1)
    error = np.asarray(theta) - star
    ratio = np.sqrt(np.einsum("sti,stij,stj->st", error, matrices, error)) / beta
    assert 1e-5 < ratio.max() <= 1


def test_capacity_presets_and_bad_values(rng):
    theory = HeavyOFUL.theory(dim=2, horizon=50.5, eps=0.5)
    assert (theory.capacity, theory.beta_scale, theory.tau_scale, theory.c0, theory.c1) == (51, 1.0, 1.0, None, None)
    practical = HeavyOFUL.practical(dim=2, horizon=np.array([50.0, 70.0]), c0=2.0, tau_scale=0.5)
    assert (practical.capacity, practical.tau_scale) == (70, 0.5)
    assert practical.beta_scale == MULTIPLIERS["heavy_oful"]["beta_scale"]
    assert (practical.c0, practical.c1) == (2.0, 1.0)
    with pytest.raises(InputError, match=r"HeavyOFUL\.capacity must be at least the horizon 50, got 40"):
        validate(HeavyOFUL(dim=2, capacity=40, horizon=50))
    with pytest.raises(InputError, match=r"HeavyOFUL\.norm_bound must lie in \(0, inf\), got inf"):
        validate(HeavyOFUL.theory(dim=2, horizon=50, norm_bound=np.inf))
    _, theta, _ = replay(HeavyOFUL(dim=2, capacity=4, horizon=4))
    assert np.isfinite(theta[:4]).all() and np.isnan(theta[4]).all()  # a lost sample is not passed over in silence
