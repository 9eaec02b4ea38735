"""K-armed learners in float32: close to the float64 references, exact counts, bounds and weights at their precision."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize as opt
import scipy.special as sc
import scipy.stats as st

from jaxbandits.algorithms.armed.ao_ucb import AOUCB
from jaxbandits.algorithms.armed.bayes_ucb import BayesUCB
from jaxbandits.algorithms.armed.d_ucb import DUCB
from jaxbandits.algorithms.armed.exp3 import Exp3
from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.algorithms.armed.kl_ucb import KLUCB
from jaxbandits.algorithms.armed.knowledge_gradient import KnowledgeGradient
from jaxbandits.algorithms.armed.moments import Moments
from jaxbandits.algorithms.armed.moss import MOSS
from jaxbandits.algorithms.armed.optimistic_gittins import OptimisticGittins
from jaxbandits.algorithms.armed.sw_ucb import SWUCB
from jaxbandits.algorithms.armed.tsallis_inf import TsallisINF, tsallis_weights
from jaxbandits.algorithms.armed.ucb1 import UCB1
from jaxbandits.algorithms.armed.ucb_v import UCBV
from jaxbandits.numerics import bernoulli
from jaxbandits.numerics import rng as draws
from tests.algorithms.armed.replay_armed import compare_with_reference, index, weights
from tests.reference import armed as reference

ROUNDS, ARMS = 300, 4
CASES = {
    "ucb1": lambda: (UCB1(n_arms=ARMS), reference.UCB1(ARMS), index),
    "ao_ucb": lambda: (AOUCB(n_arms=ARMS), reference.AOUCB(ARMS, noise_scale=1.0), index),
    "moss": lambda: (MOSS(n_arms=ARMS, horizon=300.0), reference.MOSS(ARMS, horizon=300, noise_scale=1.0), index),
    "ucb_v": lambda: (UCBV(n_arms=ARMS), reference.UCBV(ARMS, zeta=1.2, c=1.0, reward_range=1.0), index),
    "kl_ucb": lambda: (KLUCB(n_arms=ARMS), reference.KLUCB(ARMS, c=0.0), index),
    "d_ucb": lambda: (
        DUCB(n_arms=ARMS, discount=0.9),
        reference.DUCB(ARMS, discount=0.9, reward_bound=1, xi=0.6),
        index,
    ),
    "sw_ucb": lambda: (SWUCB(n_arms=ARMS, window=40), reference.SWUCB(ARMS, window=40, reward_bound=1, xi=0.6), index),
    "exp3": lambda: (Exp3(n_arms=ARMS, learning_rate=0.1), reference.Exp3(ARMS, learning_rate=0.1), weights),
    "tsallis_inf": lambda: (TsallisINF(n_arms=ARMS), reference.TsallisINF(ARMS), weights),
}


@pytest.mark.parametrize("name", CASES)
def test_close_to_the_reference(name, rng, key):
    learner, theirs, seen = CASES[name]()
    rewards = rng.beta([2.1, 1.5, 1.2, 0.3], [0.9, 1.5, 1.8, 2.7], size=(ROUNDS, ARMS)).astype(np.float32)
    mask = np.ones((ROUNDS, ARMS), bool)
    found = compare_with_reference(learner, theirs, rewards, mask, key, seen, close=1e-4)[1]
    assert found.dtype == jnp.float32


def test_bounds_of_bernoulli_means():
    means = np.concatenate([[0.0, 1e-6, 1e-3], np.linspace(0.01, 0.99, 33), [0.999, 1.0]]).astype(np.float32)
    mean, level = (a.ravel() for a in np.meshgrid(means, np.logspace(-9, 2, 45).astype(np.float32)))
    wanted = [reference.kl_upper(float(m), float(d)) for m, d in zip(mean, level, strict=True)]
    np.testing.assert_allclose(jax.jit(bernoulli.upper)(mean, level), wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("n", [2, 10, 1000])
def test_tsallis_weights(n, rng):
    for scale in (0.0, 1.0, 10.0, 1e4):
        losses = (scale * rng.exponential(size=n)).astype(np.float32)
        wanted = reference.tsallis(losses.astype(float), 0.3)
        found = tsallis_weights(jnp.asarray(losses), jnp.float32(0.3))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-6)


def test_a_million_pulls_of_one_arm(rng):
    """Counts are exact up to 2^24, means within a hundredth of the width of UCB1."""
    rewards, n = rng.uniform(size=10**6).astype(np.float32), 10**6
    state = Pulls(jnp.zeros(2), jnp.zeros(2))
    state = jax.jit(lambda s: jax.lax.scan(lambda s, r: (s.add(jnp.int32(1), r), None), s, rewards)[0])(state)
    np.testing.assert_array_equal(state.count, [0.0, n])
    assert abs(float(state.mean[1]) - rewards.mean(dtype=float)) < 0.01 * np.sqrt(2.0 * np.log(n) / n)


@pytest.mark.parametrize(("reward", "plays", "least", "most"), [
    (1.0, 4 * 10**6, 0.0, 0.0), (0.1, 10**6, 0.005, 0.01), (0.1, 4 * 10**6, 0.03, 0.04),
])  # fmt: skip
def test_plain_sums_of_equal_rewards(reward, plays, least, most):
    """The errors that docs/precision.md states; if sums become more accurate, the page must follow."""
    zero = jnp.zeros(1)
    pulls = jax.lax.fori_loop(0, plays, lambda _, pulls: pulls.add(0, jnp.float32(reward)), Pulls(zero, zero))
    assert least <= abs(float(pulls.mean[0]) / reward - 1.0) <= most


def test_moments_of_ten_million_plays():
    """Plain sums of Welford's steps give a mean of 0.310 and a variance of 0.216 for these rewards."""
    n, period = 10**7, jnp.array([1, 0, 0, 1, 0, 0, 1, 0, 0, 0], jnp.float32)
    add = jax.jit(lambda moments: jax.lax.fori_loop(0, n, lambda i, m: m.add(0, period[i % 10]), moments))
    moments = add(Moments.init(1))
    np.testing.assert_allclose([moments.mean[0], moments.variance[0]], [0.3, 0.21], rtol=1e-6)


@pytest.mark.parametrize(("policy", "most"), [(OptimisticGittins, 20_000), (BayesUCB, 1_000_000)])
def test_bonuses_keep_their_digits(policy, most):
    """The excess of the index over the posterior mean, against SciPy in float64."""
    bonus_index = jax.jit(policy(n_arms=1).index)
    for n in np.geomspace(10, most, 7).round():
        for wins in np.round(n * np.array([0.02, 0.3, 0.5, 0.9])):
            a, b, rounds = 1.0 + wins, 1.0 + n - wins, 2 * n + 1
            pulls = Pulls(jnp.full(1, n, jnp.float32), jnp.full(1, wins, jnp.float32))
            found, mean = float(bonus_index(None, jnp.int32(2 * n), pulls)[0]), a / (a + b)

            def excess(level, a=a, b=b, mean=mean, rounds=rounds):
                larger = mean * sc.betaincc(a + 1.0, b, level) + level * sc.betainc(a, b, level)
                return mean / rounds + (1.0 - 1.0 / rounds) * larger - level

            exact = st.beta(a, b).isf(1.0 / rounds) if policy is BayesUCB else opt.brentq(excess, mean, 1.0)
            assert abs(found - exact) < 0.05 * (exact - mean), (n, wins)


def test_betas(key):
    pairs = np.array([(1, 1), (0.5, 0.5), (3, 400), (5000, 3), (2e4, 3e4)], float)
    a, b = jnp.asarray(pairs.T, jnp.float32)
    drawn = np.asarray(jax.jit(jax.vmap(lambda k: draws.betas(k, a, b)))(jax.random.split(key, 30_000)))
    assert drawn.dtype == np.float32
    for i, pair in enumerate(pairs):
        assert st.kstest(drawn[:, i], st.beta(*pair).cdf).pvalue > 1e-4, pair


def exact_gains(success, failure):
    """Expected gains of the knowledge gradient by its definition, in rational numbers."""
    a, b = ([Fraction(float(x)) for x in row] for row in (success, failure))
    mean, gains = [x / (x + y) for x, y in zip(a, b, strict=True)], []
    for k in range(len(a)):
        rival, n = max(m for j, m in enumerate(mean) if j != k), a[k] + b[k] + 1
        after = mean[k] * max((a[k] + 1) / n, rival) + (1 - mean[k]) * max(a[k] / n, rival)
        gains.append(float(after - max(mean)))
    return np.array(gains)


@pytest.mark.parametrize("plays", [10, 10**3, 10**5, 10**7])
def test_knowledge_gradient_keeps_the_digits_of_small_gains(plays, rng):
    """Means as close as their resolution 1 / n; differences of rounded means are 5 % off at 10^5 plays."""
    counts = rng.integers(plays // 2, plays, (60, ARMS)).astype(float)
    success = np.floor(counts * np.clip(0.5 + 0.7 * rng.standard_normal((60, ARMS)) / plays, 0.0, 1.0)) + 1.0
    success, failure = success.astype(np.float32), (counts + 2.0 - success).astype(np.float32)
    found = np.asarray(jax.jit(jax.vmap(KnowledgeGradient(n_arms=ARMS).gain))(success, failure))
    assert found.dtype == np.float32
    wanted = np.array([exact_gains(*rows) for rows in zip(success, failure, strict=True)])
    assert 0.1 < (wanted > 0.0).mean() < 0.9
    np.testing.assert_allclose(found, wanted, rtol=1e-6)  # rtol alone: zeros are exact
