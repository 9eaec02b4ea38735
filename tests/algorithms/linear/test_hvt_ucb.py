"""Hvt-UCB and its estimator: recorded golden numbers, the NumPy loop on fresh instances, identities of the analysis."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.linear.hvt_estimator import HvtEstimator
from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
from jaxbandits.algorithms.linear.multipliers import MULTIPLIERS
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.environments.linear.noise import Gaussian
from jaxbandits.numerics import inverse_factors
from jaxbandits.simulation import simulate
from jaxbandits.types import ArmObs, Reward, ScaledReward
from tests.reference import heavy_tailed_linear as reference

KEY = jax.random.key(0)

# The recorded trace and its numbers: d = 2, T = 100, eps = 0.5.
X = np.array([[0.6, 0.8], [1, 0], [-0.28, 0.96], [0.6, 0.8], [0.8, -0.6]])
R = np.array([1.1, -0.4, 60, 0.7, -25])
NU = np.array([1, 0.5, 2, 1, 1.5])
PAPER = {"dim": 2, "horizon": 100, "eps": 0.5}


@jax.jit
def _replay(estimator, xs, rewards, moments):
    """Every state and weight of a recorded trace; leaves `[T, ...]`."""

    def sample(state, row):
        t, x, reward, moment = row
        weights = estimator.weigh(t, state, x, reward, moment)
        state = estimator.update(t, state, x, reward, moment)
        row = {"theta": state.theta, "inverse": inverse_factors.to_dense(state.inverse)}
        return state, row | weights._asdict() | {"beta": estimator.radius(t + 1, state)}

    rows = (jnp.arange(len(rewards), dtype=jnp.int32), xs, rewards, moments)
    return jax.lax.scan(sample, estimator.init(), rows)[1]


def replay(estimator, xs=X, rewards=R, moments=NU):
    arrays = (jnp.asarray(a, dtype=float) for a in (xs, rewards, moments))
    return {name: np.asarray(value) for name, value in _replay(as_arrays(estimator), *arrays).items()}


@jax.jit
def _closed_loop(alg, arms, mask, theta_star, noise, moments):
    """Plays recorded arm sets and noise."""

    def play(state, row):
        t, arms, mask, noise, moment = row
        obs = ArmObs(arms, mask)
        decision = alg.select(KEY, t, state, obs)
        reward = decision.x @ theta_star + noise
        feedback = ScaledReward(reward, moment) if alg.feedback is ScaledReward else Reward(reward)
        state = alg.update(KEY, t, state, obs, decision, feedback)
        return state, (decision.index, state.theta, inverse_factors.to_dense(state.inverse))

    rows = (jnp.arange(len(noise), dtype=jnp.int32), arms, mask, noise, moments)
    return jax.lax.scan(play, alg.init(KEY), rows)[1]


def test_constants_of_the_golden_trace():
    state = HvtEstimator(**PAPER).init()
    np.testing.assert_allclose(state.tau0, 1.042990690792, rtol=1e-11)
    np.testing.assert_allclose(state.beta_start, 3.464101615138, rtol=1e-12)
    np.testing.assert_allclose(state.beta_slope / state.tau0 / 107, 16.588099280204, rtol=1e-12)  # ell
    beta = replay(HvtEstimator(**PAPER))["beta"]
    np.testing.assert_allclose(beta[[0, 4]], [1854.696046223323, 2424.246966022104], rtol=1e-13)
    assert HvtEstimator(**PAPER).radius(0, state) == state.beta_start


def test_golden_trace_theory_preset():
    got = replay(HvtEstimator(**PAPER))
    np.testing.assert_allclose(
        got["scale"], [1.2886651908, 27.7877197009, 28.4588180425, 28.0685319044, 29.2602273391], rtol=1e-10
    )
    np.testing.assert_allclose(
        got["threshold"], [3.9420721109, 93.2023111821, 102.1270849280, 108.1938363516, 112.8947535368], rtol=1e-10
    )
    np.testing.assert_allclose(got["theta"][-1], [0.161639539367, 0.289546637781], rtol=1e-11)


@pytest.mark.slow
def test_golden_trace_scaled_preset():
    got = replay(HvtEstimator(**PAPER, beta_scale=1e-3))
    np.testing.assert_allclose(got["scale"], [1, 0.8720290296, 2, 1, 1.5], rtol=1e-10)
    np.testing.assert_allclose(
        got["threshold"], [3.1289720724, 3.1711006951, 7.3939492317, 4.2650906372, 6.2794665632], rtol=1e-10
    )
    theta = [
        (0.293333333333, 0.391111111111),
        (-0.084661794568, 0.412110840439),
        (-0.267100161803, 0.963668772745),
        (-0.241457198566, 0.970411470079),
        (-0.615110296437, 0.788441071493),
    ]
    np.testing.assert_allclose(got["theta"], theta, atol=1e-11)
    np.testing.assert_allclose(
        np.linalg.inv(got["inverse"][-1]), [[2.584770468770, 0.169866666667], [0.169866666667, 2.4176]], rtol=1e-11
    )


def test_multipliers_act_where_they_say():
    both = replay(HvtEstimator(**PAPER, beta_scale=1e-3))
    only_sigma = replay(HvtEstimator(**PAPER, beta_scale=1.0, sigma_beta_scale=1e-3))
    np.testing.assert_array_equal(both["theta"], only_sigma["theta"])
    np.testing.assert_allclose(only_sigma["beta"], 1e3 * both["beta"], rtol=1e-14)
    half_tau = replay(HvtEstimator(**PAPER, tau_scale=0.5))
    np.testing.assert_allclose(half_tau["threshold"][0], 3.9420721109 / 2, rtol=1e-10)
    extra = replay(HvtEstimator(**PAPER, extra_sigma=True))
    np.testing.assert_allclose(extra["scale"][0], 2.0, rtol=1e-14)  # 2 sqrt(2) q, q = 1/sqrt(2)


def test_the_reference_reproduces_the_golden_trace_with_its_multipliers():
    got = reference.replay(reference.Hvt(2, 100, 0.5, beta_scale=1e-3), X, R, NU)
    np.testing.assert_allclose(got["mu"], [0, 0, 2.433189, 0.05122066, 3.824242], rtol=1e-6)
    np.testing.assert_allclose(got["theta"][-1], [-0.615110296437, 0.788441071493], atol=1e-12)
    np.testing.assert_allclose(reference.Hvt(2, 100, 0.5).kappa, 12.878700742200, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["student", "fisk"])
@pytest.mark.parametrize("dim", [8, 2, 3, 20])
def test_every_quantity_of_the_estimator_matches_the_reference(dim, law, rng):
    """All hyperparameters away from their defaults, noise scales over two decades; moments understated, so that
    samples are clipped and estimates projected."""
    arms, _, theta, noise, nu = reference.instance(rng, 150, 1, dim, law, decades=2.0)
    x, nu = arms[:, 0], nu / 30
    rewards = x @ theta + noise
    common = {"eps": 0.4, "sigma_min": 0.02, "delta": 0.03, "sigma_beta_scale": 3e-4, "tau_scale": 0.03}
    got = replay(
        HvtEstimator(
            dim=dim,
            horizon=150,
            norm_bound=0.7,
            arm_bound=1.5,
            ridge=0.8,
            step_size=2.5,
            beta_scale=0.01,
            extra_sigma=dim == 3,
            **common,
        ),
        x,
        rewards,
        nu,
    )
    learner = reference.Hvt(dim, 150, S=0.7, L=1.5, lam=0.8, alpha=2.5, beta_scale=0.01, extra_sigma=dim == 3, **common)
    want = reference.replay(learner, x, rewards, nu)
    assert (want["mu"] > 0).sum() > 5 and (np.abs(want["psi"]) == want["tau"]).sum() > 5  # both happen
    np.testing.assert_allclose(got["theta"], want["theta"], atol=1e-11)
    np.testing.assert_allclose(got["inverse"], np.linalg.inv(want["V"]), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(got["beta"], 0.01 * want["beta"], rtol=1e-12)
    for name, key in (("scale", "sigma"), ("leverage", "w"), ("threshold", "tau"), ("residual", "psi")):
        np.testing.assert_allclose(got[name], want[key], rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.slow
def test_a_moment_bound_is_that_scale_every_round(rng):
    data = reference.instance(rng, 250, 5, 2)
    told = HvtUCB.practical(dim=2, horizon=250, eps=0.99)
    bound = HvtUCB.practical(dim=2, horizon=250, eps=0.99, moment_bound=1.31)
    assert (told.feedback, bound.feedback) == (ScaledReward, Reward)
    data = [*map(jnp.asarray, data[:4]), jnp.full(250, 1.31)]
    chex.assert_trees_all_equal(_closed_loop(as_arrays(told), *data), _closed_loop(as_arrays(bound), *data))


@pytest.mark.slow
@pytest.mark.parametrize("dim", [3, 20])
def test_least_squares_limit_is_ridge_regression(dim, rng):
    """tau = inf, sigma = 1, alpha = 1, no projection: ridge at every t (no NaN from the infinite radius)."""
    x, rewards = rng.standard_normal((60, dim)), 100.0 * rng.standard_normal(60)
    estimator = HvtEstimator(
        dim=dim, horizon=60, norm_bound=jnp.inf, ridge=0.7, step_size=1.0, sigma_beta_scale=0.0, tau_scale=jnp.inf
    )
    got = replay(estimator, x, rewards, np.ones(60))
    for t in (1, 2, 7, 60):
        ridge = np.linalg.solve(0.7 * np.eye(dim) + x[:t].T @ x[:t], x[:t].T @ rewards[:t])
        np.testing.assert_allclose(got["theta"][t - 1], ridge, rtol=1e-9, atol=1e-9)
    assert np.isfinite(got["beta"]).all()


def test_one_dimension_weighs_recent_samples(rng):
    """d = 1, x = 1, alpha = 4: theta <- theta + (r - theta) / (lambda + t/alpha)."""
    rewards, theta = rng.standard_normal(50), 0.0
    estimator = HvtEstimator(dim=1, horizon=50, norm_bound=jnp.inf, sigma_beta_scale=0.0, tau_scale=jnp.inf)
    got = replay(estimator, np.ones((50, 1)), rewards, np.ones(50))["theta"][:, 0]
    for t, r in enumerate(rewards, start=1):
        theta += (r - theta) / (1.0 + t / 4.0)
        np.testing.assert_allclose(got[t - 1], theta, rtol=1e-12)


@pytest.mark.quick_cases("2.0-1.3333333333333333")
@pytest.mark.parametrize(("step_size", "ratio"), [(1.0, 1.0), (2.0, 4 / 3), (4.0, 16 / 7)])
def test_asymptotic_variance_of_the_step_sizes(step_size, ratio):
    """d = 1, x = 1: the weights of the rewards sum to one, their squares to alpha^2 / (2 alpha - 1) that of ridge."""
    T = 400
    estimator = as_arrays(
        HvtEstimator(
            dim=1,
            horizon=T,
            norm_bound=jnp.inf,
            sigma_beta_scale=0.0,
            tau_scale=jnp.inf,
            step_size=step_size,
            ridge=1e-3,
        )
    )
    one = jnp.ones((T, 1)), jnp.ones(T)
    replay_all = jax.jit(jax.vmap(lambda rewards: _replay(estimator, one[0], rewards, one[1])["theta"][-1, 0]))
    weights = np.asarray(replay_all(jnp.eye(T)))  # linear in the rewards: the effect of each one alone
    np.testing.assert_allclose(weights.sum(), 1.0, rtol=1e-3)
    np.testing.assert_allclose((weights**2).sum() * T, ratio, rtol=0.01)


@pytest.mark.quick_cases("1.0-2.0")
@pytest.mark.parametrize(("beta_scale", "step_size"), [(1.0, 4.0), (1.0, 2.0), (5e-3, 4.0)])
def test_identities_of_the_analysis(beta_scale, step_size, rng):
    arms, _, theta, noise, nu = reference.instance(rng, 150, 1, 3, "student", decades=2.0)
    x, nu = arms[:, 0], nu if beta_scale == 1.0 else nu / 300  # so that each term of the maximum sets some sigma_t
    estimator = HvtEstimator(dim=3, horizon=150, eps=0.8, beta_scale=beta_scale, step_size=step_size)
    got = replay(estimator, x, x @ theta + noise, nu)
    t, w2, state = np.arange(1, 151), got["leverage"] ** 2, estimator.init()
    growth = t ** (0.2 / 3.6)
    width = np.einsum("ti,tij,tj->t", x, got["inverse"], x) / got["scale"] ** 2  # in the new inverse
    np.testing.assert_allclose(width, step_size * w2 / (1 + w2), rtol=1e-9)
    third = got["scale"] > np.maximum(nu, 150**-0.5)
    beta_before = np.append(beta_scale * state.beta_start, got["beta"][:-1])
    want = state.tau0 * growth / (2 * np.sqrt(step_size) * beta_before)
    np.testing.assert_allclose(w2[third], want[third], rtol=1e-9)
    assert 20 < third.sum() < 150
    kappa = 3 * np.log(1 + 150 * 150 / (3 * step_size * 3))
    assert (w2 <= 1).all() and w2.sum() <= 2 * kappa
    assert (np.linalg.norm(got["theta"], axis=1) <= 1 + 1e-12).all()
    assert (np.abs(got["residual"]) <= got["threshold"]).all()


@pytest.mark.quick_cases("1.31-True", "0.01-True")
@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("moment", [1.31, 0.01])
def test_the_inverse_stays_exact_over_a_long_run(moment, settled, rng):
    """18000 rounds of Sherman-Morrison, arms spread out or nearly always the same one."""
    x, rewards, _ = reference.forced_trace(rng, 18_000, 2, 1, settled)
    got = replay(HvtUCB.practical(dim=2, horizon=18_000, eps=0.99).estimator, x, rewards, np.full(18_000, moment))
    weighted = x / got["scale"][:, None]
    matrix = 2 * np.eye(2) + weighted.T @ weighted / 4
    np.testing.assert_allclose(got["inverse"][-1] @ matrix, np.eye(2), atol=1e-9)


def test_one_huge_reward_has_bounded_influence():
    """Two rewards clipped to the same side are the same reward."""
    estimator = HvtEstimator(**PAPER, beta_scale=1e-3)
    big, huge = (replay(estimator, rewards=np.array([1.1, -0.4, r, 0.7, -25]))["theta"] for r in (1e3, 1e9))
    np.testing.assert_array_equal(big, huge)
    assert not np.allclose(big, replay(estimator, rewards=np.array([1.1, -0.4, 2.0, 0.7, -25]))["theta"])


def test_symmetries(rng):
    arms, _, theta, noise, nu = reference.instance(rng, 150, 1, 3, "student")
    x = arms[:, 0]
    rewards = x @ theta + noise
    estimator = HvtEstimator(dim=3, horizon=150, eps=0.8, beta_scale=2e-4)
    base = replay(estimator, x, rewards, nu)["theta"]
    np.testing.assert_allclose(replay(estimator, x, -rewards, nu)["theta"], -base, atol=1e-14)
    orthogonal = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    np.testing.assert_allclose(replay(estimator, x @ orthogonal, rewards, nu)["theta"], base @ orthogonal, atol=1e-11)


@pytest.mark.parametrize("tau_scale", [1.0, np.inf])
def test_degenerate_samples_stay_finite(tau_scale):
    """A zero arm changes nothing; no noise, a zero moment and rewards of 1e30 stay finite."""
    xs = np.array([[0.6, 0.8], [0, 0], [1, 0], [0, 1e-20], [1, 0]])
    got = replay(
        HvtEstimator(dim=2, horizon=1e6, eps=1.0, tau_scale=tau_scale, sigma_beta_scale=0.0),
        xs,
        np.array([1.0, 5.0, 1e30, -1e30, 0.0]),
        np.zeros(5),
    )
    assert all(np.isfinite(got[name]).all() for name in ("theta", "inverse", "scale", "leverage", "residual"))
    np.testing.assert_array_equal(got["theta"][1], got["theta"][0])
    np.testing.assert_array_equal(got["inverse"][1], got["inverse"][0])
    assert (np.linalg.norm(got["theta"], axis=1) <= 1 + 1e-12).all()


def test_with_a_variance_nothing_grows():
    """eps = 1: every t^e is 1, and the horizon's square does not overflow."""
    state = as_arrays(HvtEstimator(dim=2, horizon=2_000_000)).init()
    estimator = HvtEstimator(dim=2, horizon=2_000_000)
    assert float(estimator.radius(1, state)) == float(estimator.radius(10**6, state))
    np.testing.assert_allclose(state.beta_slope / state.tau0, 107 * np.log(16.0 * 2e6**3), rtol=1e-13)


def _coverage(trials, T, rng):
    """The largest ||theta_{t+1} - theta*||_{V_t} / beta_t of each trial under Student noise, theory preset."""
    arms, _, _, noise, _ = reference.instance(rng, trials * T, 1, 2, "student")
    x, noise = arms.reshape(trials, T, 2), noise.reshape(trials, T)
    theta = rng.standard_normal((trials, 2))
    theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    rewards = np.einsum("std,sd->st", x, theta) + noise
    estimator = as_arrays(HvtEstimator(dim=2, horizon=T, eps=0.99))
    got = jax.vmap(_replay, in_axes=(None, 0, 0, None))(estimator, x, rewards, jnp.full(T, 4.387787))
    error = got["theta"] - theta[:, None, :]
    norm = np.sqrt(np.einsum("sti,sti->st", error, np.linalg.solve(got["inverse"], error[..., None])[..., 0]))
    return (norm / got["beta"]).max(axis=1)


@pytest.mark.slow
def test_confidence_sets_cover(rng):
    """Lemma 1 with a margin: the paper's radius is thousands of times the error."""
    ratio = _coverage(trials=40, T=400, rng=rng)
    assert ratio.max() < 2e-3


@pytest.mark.slow
def test_confidence_sets_cover_long(rng):
    ratio = _coverage(trials=200, T=2000, rng=rng)
    assert ratio.max() < 1e-3  # 0.00038 over 20 runs


def test_regret_is_below_the_explicit_bound(rng):
    """Theorem 1's proof, corrected: 4 beta_T (sqrt(2 kappa (sum nu^2 + 1)) + 4 c L kappa / sqrt(lambda))."""
    T = 250
    arms, mask, theta, noise, nu = reference.instance(rng, T, 5, 2)
    alg = as_arrays(HvtUCB.theory(dim=2, horizon=T, eps=0.99))
    data = map(jnp.asarray, (arms, mask, theta, noise, nu))
    index, *_ = _closed_loop(alg, *data)
    means = arms @ theta
    regret = (means.max(1) - means[np.arange(T), index]).sum()
    learner = reference.Hvt(2, T, 0.99)
    c = np.sqrt(learner.lam * 6) / learner.tau0 + 107 * learner.ell
    bound = (
        4
        * learner.beta(T)
        * (np.sqrt(2 * learner.kappa * ((nu**2).sum() + 1)) + 4 * c * learner.kappa / np.sqrt(learner.lam))
    )
    assert 0 <= regret <= bound


def test_presets():
    theory = HvtUCB.theory(dim=3, horizon=1000, eps=0.5, norm_bound=2.0)
    practical = HvtUCB.practical(dim=3, horizon=1000, tau_scale=0.3)
    assert (theory.beta_scale, theory.tau_scale, theory.norm_bound, theory.step_size) == (1.0, 1.0, 2.0, 4.0)
    assert (practical.tau_scale, practical.eps) == (0.3, 1.0)
    assert practical.beta_scale == MULTIPLIERS["hvt_ucb"]["beta_scale"]
    assert practical.estimator.tau_scale == 0.3 and practical.estimator.dim == 3


def test_cost_does_not_grow_with_time():
    """One program, one state size and one flop count for every horizon and round."""
    x = jnp.asarray([0.6, 0.8])
    obs = ArmObs(jnp.asarray([[0.6, 0.8], [1.0, 0.0], [-0.8, 0.6]]))

    def one_round(alg, t, state):
        decision = alg.select(KEY, t, state, obs)
        return alg.update(KEY, t, state, obs, decision._replace(x=x), ScaledReward(jnp.ones(()), jnp.ones(())))

    traced = jax.jit(chex.assert_max_traces(one_round, n=1))
    flops = []
    for horizon, t in ((10, 9), (10**6, 10**6 - 1)):
        alg = as_arrays(HvtUCB.theory(dim=2, horizon=horizon))
        state = traced(alg, jnp.int32(t), alg.init(KEY))
        assert sum(leaf.size for leaf in jax.tree.leaves(state)) == 2 + 6 + 2 + 4
        # T and t as constants of the program, where no dependence on them could hide behind tracing.
        program = jax.jit(lambda state, alg=alg, t=t: one_round(alg, jnp.int32(t), state)).lower(state).compile()
        flops.append(program.cost_analysis()["flops"])
    assert flops[0] == flops[1] > 50


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"eps": 0.0}, r"HvtUCB\.eps must lie in \(0, 1\], got 0"),
        ({"eps": 1.49}, r"HvtUCB\.eps must lie in \(0, 1\], got 1\.49"),
        ({"tau_scale": 0.0}, r"HvtUCB\.tau_scale must lie in \(0, inf\]"),
        ({"delta": 1.0}, r"HvtUCB\.delta must lie in \(0, 1\)"),
        ({"horizon": 0}, r"HvtUCB\.horizon must lie in \[1, inf\)"),
        ({"dim": 0}, r"HvtUCB\.dim must lie in \[1, inf\)"),
    ],
)
def test_bad_values_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        validate(HvtUCB(**{"dim": 2, "horizon": 10} | change))


def test_infinite_tau_scale_is_admissible():
    validate(HvtUCB(dim=2, horizon=10, tau_scale=np.inf))
    validate(HvtEstimator(dim=2, horizon=10, norm_bound=np.inf))


@pytest.mark.slow
@pytest.mark.parametrize(("spread", "low", "high"), [(0.3, 0.03, 0.19), (0.1, 0.2, 0.46), (0.03, 0.34, 0.62)])
def test_practical_needs_noise_of_the_scale_of_the_rewards(spread, low, high):
    """The shares of trials with linear regret in the docstring: more than 10 in the second half of 20000 rounds.

    Within four standard errors of 256 trials.
    """
    environment = HeavyTailed(dim=2, n_arms=20, noise=Gaussian(spread=spread))
    learner = HvtUCB.practical(dim=2, horizon=20_000, eps=0.99)
    regret = simulate(learner, environment, 20_000, 256, record_points=[10_000, 20_000], progress=False).get("regret")[
        0
    ]
    share = np.mean(regret[:, 1] - regret[:, 0] > 10.0)
    assert low <= share <= high
