"""Learners with beta posteriors over Bernoulli means against their references, and what the papers say of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats as st

from jaxbandits import simulate
from jaxbandits.algorithms.armed.ids import IDS
from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.algorithms.armed.knowledge_gradient import KnowledgeGradient
from jaxbandits.algorithms.armed.optimistic_gittins import OptimisticGittins
from jaxbandits.algorithms.armed.vids import VIDS
from jaxbandits.armed import BernoulliArms
from jaxbandits.types import ArmDecision, IndexObs, Reward
from tests.algorithms.armed.replay_armed import compare_with_reference, index, play
from tests.reference import bayesian_arms as reference

ROUNDS, ARMS, POINTS = 120, 4, 40


def shortfall_gain_and_weights(learner, key, t, state):
    mask = jnp.ones(ARMS, bool)
    found = learner.best_arm(state, mask)
    return jnp.concatenate([found.best - found.mean, learner.gain(found), learner.weights(state, mask)])


def make_recording(rng):
    rewards = (rng.uniform(size=(ROUNDS, ARMS)) < [0.6, 0.5, 0.4, 0.1]).astype(float)
    return rewards, np.ones((ROUNDS, ARMS), bool)


INDEX_POLICIES = {
    "knowledge_gradient": (
        KnowledgeGradient(n_arms=ARMS, horizon=ROUNDS), reference.KnowledgeGradient(ARMS, horizon=ROUNDS)
    ),
    "optimistic_gittins": (OptimisticGittins(n_arms=ARMS), reference.OptimisticGittins(ARMS)),
}  # fmt: skip


@pytest.mark.parametrize("name", INDEX_POLICIES)
def test_index_policies_against_their_references(name, rng, key):
    decisions, _ = compare_with_reference(*INDEX_POLICIES[name], *make_recording(rng), key, index)
    assert len(np.unique(decisions.index)) > 1


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", ["vids", "ids"])
def test_information_directed_sampling_against_its_reference(name, rng, key):
    """Regret and information of every arm, and the ratio that the weights attain: arms of one law make ties."""
    learner, theirs = {"vids": (VIDS, reference.VIDS), "ids": (IDS, reference.IDS)}[name]
    theirs = theirs(ARMS, n_points=POINTS)
    rewards, mask = make_recording(rng)
    decisions, found = play(learner(n_arms=ARMS, n_points=POINTS), rewards, mask, key, shortfall_gain_and_weights)
    for t, (arm, before) in enumerate(zip(np.asarray(decisions.index), np.asarray(found), strict=True)):
        wanted, p = theirs.index(t), before[2 * ARMS :]
        np.testing.assert_allclose(before[: 2 * ARMS], wanted, rtol=1e-9, atol=1e-12, err_msg=f"round {t}")
        delta, gain = wanted[:ARMS], wanted[ARMS:]
        np.testing.assert_allclose((p @ delta) ** 2 / (p @ gain), reference.least_ratio(delta, gain), rtol=1e-9)
        assert decisions.probability[t] == p[arm] and p.sum() == pytest.approx(1.0, rel=1e-12)
        theirs.update(arm, rewards[t, arm])
    assert len(np.unique(decisions.index)) > 1


def test_the_equation_of_gittins_indices_is_that_of_an_expectation():
    """E max(theta, lambda) in the reference and the docstring, by quadrature."""
    for a, b, level in ((1.0, 1.0, 0.6), (3.0, 7.0, 0.35), (40.0, 2.0, 0.97)):
        wanted, _ = scipy.integrate.quad(
            lambda x, a=a, b=b, level=level: max(x, level) * st.beta.pdf(x, a, b), 0, 1, points=[level]
        )
        found = a / (a + b) * st.beta.sf(level, a + 1, b) + level * st.beta.cdf(level, a, b)
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize(
    ("rounds", "n_steps", "least", "most"),
    [
        (10**4, 10, 0.0, 1e-6), (10**5, 10, 1e-3, 0.003), (10**6, 10, 0.05, 0.08), (10**7, 10, 0.15, 0.21),
        (10**6, 15, 0.0, 1e-6), (10**7, 20, 0.0, 1e-6),
    ],
)  # fmt: skip
def test_steps_of_optimistic_gittins_indices(rounds, n_steps, least, most):
    """The largest error of index - m, relative to index - m, over arms with few and with many plays."""
    plays = np.array([0, 1, 10, 1, 5, 40, 100, 30, 100, 1000, 1000, 1000])
    wins = np.array([0, 0, 0, 1, 5, 0, 0, 3, 50, 0, 30, 500])
    exact = reference.OptimisticGittins(len(plays))
    exact.posterior = lambda i: (1.0 + wins[i], 1.0 + plays[i] - wins[i])
    pulls = Pulls(jnp.asarray(plays, float), jnp.asarray(wins, float))
    found = OptimisticGittins(n_arms=len(plays), n_steps=n_steps).index(None, jnp.int32(rounds - 1), pulls)
    wanted, mean = exact.index(rounds - 1), (1.0 + wins) / (2.0 + plays)
    error = (wanted - np.asarray(found)) / (wanted - mean)
    assert least <= error.max() < most and error.min() > -1e-6


@pytest.mark.slow
@pytest.mark.parametrize("learner", [VIDS, IDS])
def test_laws_of_the_best_arm_against_draws(learner, rng):
    """Shortfall and information by 400,000 draws from the beta laws; the grid has 500 points."""
    counts = np.array([[3, 1], [5, 4], [1, 2]])
    policy = learner(n_arms=3, n_points=500)
    state = policy.init(None)
    update = jax.jit(policy.update)
    for arm, (success, failure) in enumerate(counts):
        for reward in [1.0] * success + [0.0] * failure:
            state = update(None, jnp.int32(0), state, IndexObs.of(3), ArmDecision(jnp.int32(arm), None), Reward(reward))
    found = policy.best_arm(state, jnp.ones(3, bool))
    draws = rng.beta(counts[:, 0] + 1, counts[:, 1] + 1, size=(400_000, 3))
    winner = draws.argmax(1)
    np.testing.assert_allclose(found.alpha, np.bincount(winner) / len(draws), atol=0.004)
    np.testing.assert_allclose(found.best, draws.max(1).mean(), atol=0.002)
    for i in range(3):
        np.testing.assert_allclose(found.conditional[i], draws[winner == i].mean(0), atol=0.005)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("learner", [VIDS, IDS])
def test_arms_that_are_not_available_are_never_drawn(learner, key):
    policy, mask = learner(n_arms=ARMS, n_points=POINTS), jnp.array([True, False, True, False])
    p = jax.jit(policy.weights)(policy.init(None), mask)
    np.testing.assert_array_equal(np.asarray(p)[[1, 3]], 0.0)
    np.testing.assert_allclose(p.sum(), 1.0, rtol=1e-12)


@pytest.mark.slow
def test_regret_of_information_directed_sampling_is_below_that_of_thompson_sampling():
    """Russo & Van Roy, 2018, Section 6.2: the Bayesian regret for uniform means, 18.1 against 28.1 with T = 1000."""
    from jaxbandits.armed import ThompsonBeta

    env, regret = BernoulliArms(n_arms=10), {}
    for learner in (VIDS(n_arms=10), ThompsonBeta(n_arms=10)):
        regret[type(learner)] = simulate(learner, env, 1000, 400, progress=False, record_points=1).final("regret")
    assert regret[VIDS].mean() < 0.8 * regret[ThompsonBeta].mean()
