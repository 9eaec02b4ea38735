"""The heavy-tailed linear bandit: noise laws and their moments, instances, feedback, regret, users' own arms."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.special as sp
import scipy.stats as st

from jaxbandits.algorithms.linear.uniform import Uniform
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, pytree, validate
from jaxbandits.environments.linear import heavy_tailed, noise
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.environments.linear.noise import Fisk, Gaussian, Lomax, Pareto, StudentT
from jaxbandits.simulation import simulate
from jaxbandits.types import ArmDecision

T0 = jnp.int32(0)
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}  # compiles in half the time


# Noise ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("noise", "eps", "scale"),
    [
        (StudentT(df=2.1), 0.99, 4.387787),
        (StudentT(df=1.7), 0.69, 18.711180),
        (StudentT(df=3.0), 1.0, np.sqrt(3)),
        (Pareto(shape=1.5), 0.49, 28.603659),
        (Lomax(shape=1.5), 0.49, 28.603659),
        (Fisk(shape=1.5), 0.49, 28.644800),
        (Gaussian(), 1.0, 1.0),
    ],
)
def test_recorded_moment_scales(noise, eps, scale):
    np.testing.assert_allclose(noise.scale(eps), scale, rtol=5e-8)


def pareto_scale(b, p):
    """In closed form: beta functions above and (incomplete, by 2F1) below the mean."""
    m = b / (b - 1)
    above = b * m ** (p - b) * sp.beta(b - p, p + 1)
    below = b * m ** (p - b) * b ** -(p + 1) / (p + 1) * sp.hyp2f1(p + 1, b + 1, p + 2, 1 / b)
    return (above + below) ** (1 / p)


def fisk_scale(c, p):
    """By adaptive quadrature over x = m w^{-1/(c-p)} above the mean and over log x below."""
    m, k = np.pi / c / np.sin(np.pi / c), c - p

    def above(w):
        u = w ** (1 / k)
        return (1 - u) ** p * c * m ** (p + c) / (u**c + m**c) ** 2 / k

    def below(y):
        return (m - np.exp(y)) ** p * c * np.exp(c * y) / (1 + np.exp(c * y)) ** 2

    total = sum(
        scipy.integrate.quad(f, a, b, epsabs=0, epsrel=1e-10, limit=500)[0]
        for f, a, b in ((above, 0, 0.5), (above, 0.5, 1), (below, -60 / c, 0), (below, 0, np.log(m)))
    )
    return total ** (1 / p)


@pytest.mark.parametrize(("index", "order"), [(1.05, 1.001), (1.2, 1.1), (1.5, 1.3), (2.5, 2.0), (4.0, 1.5)])
def test_moment_scales_against_other_formulas(index, order):
    for law in (Pareto, Lomax):
        np.testing.assert_allclose(law(shape=index).scale(order - 1), pareto_scale(index, order), rtol=1e-9)
    np.testing.assert_allclose(Fisk(shape=index).scale(order - 1), fisk_scale(index, order), rtol=1e-7)


def light_scale(index, order, excess, z, density):
    """By the trapezoidal rule for |exp(z / index) - mean|^order with mean = 1 + excess."""
    return np.trapezoid(np.abs(np.expm1(z / index) - excess) ** order * density(z), z) ** (1 / order)


@pytest.mark.parametrize("order", [1.001, 1.5, 2.0])
@pytest.mark.parametrize("index", [101.0, 1e3, 1e5, 1e8])
def test_moment_scales_of_light_tails(index, order):
    z = np.linspace(0.0, 80.0, 400_001)
    pareto = light_scale(index, order, 1 / (index - 1), z, lambda z: np.exp(-z))
    angle = np.pi / index
    fisk = light_scale(
        index,
        order,
        angle**2 / 6 + 7 * angle**4 / 360,
        np.concatenate([-z[:0:-1], z]),
        lambda z: np.exp(-np.abs(z)) / (1 + np.exp(-np.abs(z))) ** 2,
    )
    for law, exact in ((Pareto, pareto), (Lomax, pareto), (Fisk, fisk)):
        np.testing.assert_allclose(law(shape=index).scale(order - 1), exact, rtol=1e-7)


@pytest.mark.parametrize("df", [1.001e3, 1e5, 1e8, 1e12, 1e30])
def test_moment_scales_of_student_tend_to_those_of_the_normal_law(df):
    np.testing.assert_allclose(StudentT(df=df).scale(1.0), np.sqrt(df / (df - 2)), rtol=1e-12)
    for eps in (1e-3, 0.5):
        np.testing.assert_allclose(StudentT(df=df).scale(eps), Gaussian().scale(eps), rtol=2 / df + 1e-12)


@pytest.mark.quick_cases("law0", "law1")
@pytest.mark.parametrize("law", [StudentT(df=5.0), Pareto(shape=6.0), Lomax(shape=6.0), Fisk(shape=6.0), Gaussian()])
def test_samples_are_centred_and_have_that_scale(law, key):
    x = np.asarray(jax.jit(jax.vmap(law.sample))(jax.random.split(key, 2**20)))
    scale = float(law.scale(1.0))
    assert abs(x.mean()) < 5 * scale / 2**10
    np.testing.assert_allclose(np.sqrt((x**2).mean()), scale, rtol=0.03)
    np.testing.assert_allclose((np.abs(x) ** 1.3).mean() ** (1 / 1.3), law.scale(0.3), rtol=0.01)


@pytest.mark.quick_cases("StudentT-rv_continuous_frozen", "Pareto-rv_continuous_frozen")
@pytest.mark.parametrize(
    ("law", "exact"),
    [
        (StudentT(df=1.7, spread=2.0), st.t(1.7, scale=2.0)),
        (Pareto(shape=1.5), st.pareto(1.5, loc=-3.0)),
        (Lomax(shape=1.5, spread=2.0), st.lomax(1.5, loc=-4.0, scale=2.0)),
        (Fisk(shape=1.5), st.fisk(1.5, loc=-st.fisk(1.5).mean())),
        (Gaussian(spread=0.1), st.norm(scale=0.1)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_samples_have_the_centred_law(law, exact, key):
    assert abs(exact.mean()) < 1e-9
    x = np.asarray(jax.jit(jax.vmap(law.sample))(jax.random.split(key, 2**19)))
    assert st.kstest(x, exact.cdf).pvalue > 1e-6
    for level in (1e-4, 1e-3):
        hits = (x > exact.isf(level)).sum()
        assert abs(hits - level * len(x)) < 5 * np.sqrt(level * len(x))


@pytest.mark.slow
def test_pareto_and_lomax_are_the_same_centred_noise(key):
    draw = jax.vmap(lambda k: (Pareto(shape=1.5).sample(k), Lomax(shape=1.5).sample(k)))
    np.testing.assert_allclose(*draw(jax.random.split(key, 1000)), rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_spread_multiplies_and_missing_moments_are_infinite():
    for law in (StudentT, Pareto, Lomax, Fisk, Gaussian):
        np.testing.assert_allclose(law(spread=3.0).scale(0.4), 3.0 * law().scale(0.4), rtol=1e-14)
    for law in (StudentT(df=1.7), Pareto(shape=1.5), Fisk(shape=1.5)):
        assert float(law.scale(law.tail_index - 1.0)) == np.inf == float(law.scale(1.0))
    grid = np.array([1.6, 2.0, 2.5])
    each = [float(Fisk(shape=s).scale(0.5)) for s in grid]
    np.testing.assert_allclose(Fisk(shape=grid).scale(0.5), each, rtol=1e-14)


# Instances ------------------------------------------------------------------------------------------------------------


def states(env, key, trials=64):
    return jax.jit(jax.vmap(as_arrays(env).init), compiler_options=QUICK)(jax.random.split(key, trials))


def arms_of(state):
    """[S, K, d]"""
    return np.asarray(state.arms)


@pytest.mark.slow
@pytest.mark.parametrize("dim", [3, 1, 13])
def test_drawn_instances_lie_in_the_ball(dim, key):
    for unit_arms in (False, True):
        state = states(HeavyTailed(dim=dim, n_arms=4, unit_arms=unit_arms, theta_norm=2.0), key)
        norms, theta = np.linalg.norm(arms_of(state), axis=-1), np.asarray(state.theta)
        np.testing.assert_allclose(norms.max(axis=1), 1.0, rtol=1e-12)
        if unit_arms:
            np.testing.assert_allclose(norms, 1.0, rtol=1e-12)
        elif dim > 1:
            assert norms.min() < 0.8
        np.testing.assert_allclose(np.linalg.norm(theta, axis=-1), 2.0, rtol=1e-12)
        np.testing.assert_allclose(state.best, np.einsum("skd,sd->sk", arms_of(state), theta).max(1), rtol=1e-12)
    assert len(np.unique(arms_of(state)[:, 0, 0])) > 1  # trials differ


@pytest.mark.slow
def test_coordinates_are_uniform_before_rescaling(key):
    """Directions of 'max' arms are those of a uniform square: P(|y| < tan(pi/8) |x|) = tan(pi/8)/2."""
    arms = arms_of(states(HeavyTailed(dim=2, n_arms=8), key, 4096)).reshape(-1, 2)
    share = (np.abs(arms[:, 1]) < np.tan(np.pi / 8) * np.abs(arms[:, 0])).mean()
    assert abs(share - np.tan(np.pi / 8) / 2) < 5 * 0.41 / np.sqrt(len(arms))


# Rounds ---------------------------------------------------------------------------------------------------------------


def rounds(env, key, n=4000, dim=2):
    """n rounds of uniform play on one instance: masks, indices, feedback, outcome."""
    env, alg = as_arrays((env, Uniform(dim=dim)))
    state = jax.jit(env.init, compiler_options=QUICK)(key)

    def one(k):
        for_obs, for_select, for_step = jax.random.split(k, 3)
        obs = env.observe(for_obs, T0, state)
        decision = alg.select(for_select, T0, (), obs)
        _, feedback, outcome = env.step(for_step, T0, state, obs, decision)
        mask = jnp.ones(env.n_arms, bool) if obs.mask is None else jnp.stack(jnp.asarray(obs.mask))
        return mask, decision.index, feedback, outcome.regret, env.noise.sample(for_step)

    run = jax.jit(jax.vmap(one), compiler_options=QUICK)
    mask, index, feedback, regret, noise = run(jax.random.split(jax.random.fold_in(key, 1), n))
    arms, theta = np.asarray(state.arms), np.asarray(state.theta)
    return arms @ theta, *map(np.asarray, (mask, index, feedback.reward, feedback.noise_scale, regret, noise))


def test_reward_is_mean_plus_noise_and_regret_uses_means(key):
    env = HeavyTailed(dim=2, n_arms=4, noise=StudentT(df=2.1), eps=0.99)
    means, _, index, reward, scale, regret, noise = rounds(env, key)
    np.testing.assert_allclose(reward, means[index] + noise, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(scale, 4.387787, rtol=1e-7)
    np.testing.assert_allclose(regret, means.max() - means[index], atol=1e-14)
    assert (np.abs(regret[index == means.argmax()]) < 1e-15).all()


@pytest.mark.slow_after_first
@pytest.mark.parametrize("longest", [1, 128])
def test_regret_is_against_the_best_available_arm(longest, key, monkeypatch):
    """However the available arms are drawn: one by one, or as a permutation."""
    monkeypatch.setattr(heavy_tailed, "_SUBSET_ARMS", longest)
    means, mask, index, _, _, regret, _ = rounds(HeavyTailed(dim=2, n_arms=5, available=2), key)
    assert (mask.sum(axis=1) == 2).all() and mask[np.arange(len(index)), index].all()
    best = np.where(mask, means, -np.inf).max(axis=1)
    np.testing.assert_allclose(regret, best - means[index], atol=1e-14)
    assert np.abs(mask.mean(axis=0) - 0.4).max() < 5 * np.sqrt(0.24 / len(mask))
    assert regret.min() > -1e-15 and (best < means.max()).any()


def test_an_arm_that_is_not_available_is_inadmissible(key):
    """Its regret may be negative, so that it must not pass unnoticed."""
    env = HeavyTailed(dim=2, n_arms=5, available=2)
    state = env.init(key)
    obs = env.observe(key, T0, state)
    found = [bool(env.admits(state, obs, ArmDecision(jnp.int32(k), state.arms[k % 5]))) for k in range(-1, 6)]
    np.testing.assert_array_equal(found, [False, *np.asarray(obs.mask), False])


def test_all_available_needs_no_mask(key):
    env = HeavyTailed(dim=2, n_arms=5, available=5)
    assert jax.eval_shape(lambda: env.observe(key, T0, env.init(key))).mask is None


@pytest.mark.slow
def test_scale_varies_over_decades(key):
    """log10 a_t is uniform on (0, 1.5), multiplies noise and nu_t alike, and does not depend on the noise."""
    env = HeavyTailed(dim=2, n_arms=4, noise=StudentT(df=1.7), eps=0.69, noise_decades=1.5)
    means, _, index, reward, scale, _, noise = rounds(env, key, 20_000)
    factor = scale / 18.711180
    np.testing.assert_allclose(reward, means[index] + factor * noise, rtol=1e-6, atol=1e-6)
    assert st.kstest(np.log10(factor) / 1.5, "uniform").pvalue > 1e-6
    assert abs(st.spearmanr(factor, noise).statistic) < 5 / np.sqrt(len(noise))
    assert abs(st.spearmanr(factor, np.abs(noise)).statistic) < 5 / np.sqrt(len(noise))


def test_moment_scale_replaces_the_exact_one(key):
    state = jax.jit(HeavyTailed(dim=2, n_arms=3, moment_scale=1.31).init)(key)
    np.testing.assert_allclose(state.noise_scale, 1.31)


def test_estimation_error_at_record(key):
    env = HeavyTailed(dim=3, n_arms=4)
    state = jax.jit(env.init, compiler_options=QUICK)(key)
    off = state.theta + jnp.asarray([3.0, 0.0, 4.0])
    np.testing.assert_allclose(env.at_record(state, off)["estimation_error"], 5.0, rtol=1e-12)
    assert env.at_record(state, None) == {}


@pytest.mark.slow
def test_own_noise_law(key):
    @pytree
    class Coin:
        tail_index = np.inf

        def sample(self, key):
            return jnp.where(jax.random.bernoulli(key), 1.0, -1.0)

        def scale(self, eps):
            return jnp.ones(()) * (1.0 + eps) / (1.0 + eps)

    env = HeavyTailed(dim=2, n_arms=3, noise=Coin())
    validate(env)
    means, _, index, reward, scale, *_ = rounds(env, key, 100)
    np.testing.assert_allclose(np.abs(reward - means[index]), 1.0, rtol=1e-12)
    np.testing.assert_allclose(scale, 1.0)


# A user's arms --------------------------------------------------------------------------------------------------------


def test_own_arms_are_the_same_in_every_trial(key):
    arms, theta = np.array([[1.0, 0.0], [0.0, 0.5], [-0.6, 0.8]]), np.array([0.6, 0.8])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = HeavyTailed.from_arms(arms, theta, noise=Gaussian(spread=0.1), eps=1.0)
    state = states(env, key, 3)
    np.testing.assert_array_equal(arms_of(state), np.broadcast_to(arms, (3, 3, 2)))
    np.testing.assert_allclose(state.best, 0.6)
    x = jnp.asarray(arms[1])
    _, feedback, outcome = env.step(key, T0, env.init(key), None, ArmDecision(jnp.int32(1), x))
    np.testing.assert_allclose(outcome.regret, 0.2, rtol=1e-12)
    np.testing.assert_allclose(feedback.reward, 0.4 + 0.1 * Gaussian().sample(key), rtol=1e-12)


@pytest.mark.parametrize(
    ("arms", "theta", "message"),
    [
        ([1.0, 2.0, 3.0], [1.0, 0.0], r"arms must have shape \(K, d\), got \(3,\)"),
        ([[1.0, np.nan]], [1.0, 0.0], r"arms must be finite, but row 0, column 1 \(from 0\) is not"),
        ([[1.0, 0.0]], [1.0, 0.0, 0.0], r"HeavyTailed\.theta must have shape \(2,\), got \(3,\)"),
        ([[1.0, 0.0]], [[1.0, 0.0]], r"theta must have shape \(d,\), got \(1, 2\)"),
        ([[1.0, 0.0]], [np.inf, 0.0], r"theta must be finite, but row 0 \(from 0\) is not"),
        ([["a", "b"]], [1.0, 0.0], r"arms must be numbers of shape \(K, d\), got \[\["),
        ([[1.0], [1.0, 2.0]], [1.0, 0.0], r"arms must be numbers of shape \(K, d\), got \[\["),
        (np.zeros((0, 2)), [1.0, 0.0], r"arms must have shape \(K, d\), got \(0, 2\)"),
    ],
)
def test_bad_arms_are_refused_in_one_line(arms, theta, message):
    with pytest.raises(InputError, match=message) as error:
        HeavyTailed.from_arms(arms, theta)
    assert "\n" not in str(error.value)


def test_arms_outside_the_ball_are_reported():
    with pytest.warns(UserWarning, match=r"an arm has norm 5, outside the unit ball .* pass arm_bound=5"):
        HeavyTailed.from_arms([[3.0, 4.0]], [1.0, 0.0])
    with pytest.warns(UserWarning, match=r"theta has norm 2, .* pass norm_bound=2"):
        HeavyTailed.from_arms([[1.0, 0.0]], [0.0, 2.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"available": 6}, r"HeavyTailed\.available must lie in \[1, n_arms = 5\], got 6"),
        ({"available": 0}, r"HeavyTailed\.available must lie in \[1, inf\), got 0"),
        ({"n_arms": 0}, r"HeavyTailed\.n_arms must lie in \[1, inf\)"),
        ({"eps": 1.49}, r"HeavyTailed\.eps must lie in \(0, 1\]"),
        (
            {"noise": StudentT(df=1.7)},
            r"HeavyTailed\.eps must lie below 0\.7, .* StudentT noise has no moment .*, got 0\.99",
        ),
        ({"noise": StudentT(df=1.0)}, r"HeavyTailed\.noise\.df must lie in \(1, inf\), got 1"),
        ({"arms": np.ones((4, 2))}, r"HeavyTailed\.arms must have shape \(5, 2\), got \(4, 2\)"),
        ({"arms": np.full((5, 2), np.inf)}, r"HeavyTailed\.arms must lie in \(-inf, inf\), got inf"),
    ],
)
def test_bad_settings_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        validate(HeavyTailed(**{"dim": 2, "n_arms": 5} | change))


def test_a_given_moment_scale_admits_any_eps():
    validate(HeavyTailed(dim=2, n_arms=5, noise=StudentT(df=1.7), eps=0.99, moment_scale=1.31))


@pytest.mark.slow_after_first
@pytest.mark.parametrize("unit_arms", [False, True])
def test_arms_and_theta_are_drawn_independently(unit_arms, key):
    env = HeavyTailed(dim=3, n_arms=4, unit_arms=unit_arms)
    n = 4000
    state = jax.jit(jax.vmap(as_arrays(env).init))(jax.random.split(key, n))
    arms, theta = (
        np.concatenate([np.reshape(leaf, (n, -1)) for leaf in jax.tree.leaves(part)], axis=1)
        for part in (state.arms, state.theta)
    )
    correlations = np.corrcoef(arms, theta, rowvar=False)[:12, 12:]
    assert arms.shape == (n, 12) and theta.shape == (n, 3)
    assert np.abs(correlations).max() < 5.0 / np.sqrt(n)  # the largest of 36 of standard error 1 / sqrt(n)


def test_an_index_that_is_no_arm_is_not_admitted(key):
    environment = as_arrays(HeavyTailed(dim=2, n_arms=3))
    state = environment.init(key)
    obs = environment.observe(key, 0, state)
    admitted = [bool(environment.admits(state, obs, ArmDecision(jnp.int32(k), obs.arms[0]))) for k in (-1, 0, 2, 3)]
    assert admitted == [False, True, True, False]


def test_a_process_may_change_its_precision(monkeypatch):
    """JAX keeps what it makes of a NumPy constant: the nodes of the integral must not stay in single precision."""
    monkeypatch.setattr(noise, "_RULES", tuple(map(np.copy, noise._RULES)))  # which JAX has not seen
    found = []
    for double in (False, True):
        jax.config.update("jax_enable_x64", double)
        problem = HeavyTailed(dim=2, n_arms=3, noise=Pareto(shape=1.5), eps=0.4)
        result = simulate(Uniform(dim=2), problem, 3, 2, progress=False, compile="fast")
        found.append(result.get("regret"))
    assert np.isfinite(found).all()
