"""Every promise of a docstring to clip rewards, means or losses, on data that break a sum which is clipped instead."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.algorithms.dro.players import clip_losses
from jaxbandits.algorithms.explore.proportions import optimal_proportions
from jaxbandits.armed import (
    DKLUCB,
    IDS,
    KLUCB,
    SWKLUCB,
    VIDS,
    BayesUCB,
    BernoulliArms,
    BetaArms,
    ChernoffUCB,
    DiscountedTS,
    KnowledgeGradient,
    OptimisticGittins,
    PerItem,
    ThompsonBeta,
)
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.explore import KLLUCB, TopTwoThompson, TrackAndStop
from jaxbandits.types import ArmDecision, FixedArmObs, Reward
from tests.reference import armed as reference
from tests.reference import explore
from tests.reference.explore import proportions

ARMS = 3
PAID = {  # rewards of arm 0; arm 1 pays 0.25, 1, arm 2 is not played
    "below": [-5.0, 1.0, 1.0, 1.0],
    "above": [5.0, 0.0, 0.0, 0.0],
    "both": [3.0, -2.0, 0.5, 0.0, 1.0],
    "tied": [0.5] * 6,
    "none": [],
    "huge": [1e30, -1e30, 1e300, 0.0, 1.0],
    "many": np.random.default_rng(1).standard_cauchy(300),
    "fractions": np.random.default_rng(2).uniform(size=300),
}
MOST = 301
BOTH_PARAMETERS = {
    "armed/thompson_beta": ThompsonBeta(n_arms=ARMS),
    "armed/discounted_ts": DiscountedTS(n_arms=ARMS, discount=1.0),
    "armed/bayes_ucb": BayesUCB(n_arms=ARMS),
    "armed/knowledge_gradient": KnowledgeGradient(n_arms=ARMS),
    "armed/optimistic_gittins": OptimisticGittins(n_arms=ARMS),
    "explore/top_two_thompson": TopTwoThompson(n_arms=ARMS, prior_success=0.5, prior_failure=2.0),
}
ON_A_GRID = {"armed/ids": IDS(n_arms=ARMS, n_points=400), "armed/vids": VIDS(n_arms=ARMS, n_points=400)}
# Promises that other tests hold: the learner's own reference clips, or the parameter `clip` is a case there.
ELSEWHERE = {
    "dro/anytime_atkro_1", "dro/anytime_online", "dro/atkro_k", "dro/online", "oco/cla_oons",
    "oco/clipped_parameter_free_md", "linear/heavy_oful", "combinatorial/cascade_kl_ucb", "combinatorial/cascade_ts",
    "combinatorial/cts", "teams/sic_mmab",
}  # fmt: skip


@jax.jit
def _update(learner, state, arm, rewards, count):
    def update(t, state):
        return learner.update(None, t, state, OBS, ArmDecision(arm, OBS.arms[0]), Reward(rewards[t]))

    return jax.lax.fori_loop(0, count, update, state)


@jax.jit
def _index(learner, t, state):
    return learner.index(None, t, state)


@jax.jit
def _bounds(learner, state):
    return learner.upper(state), jax.vmap(lambda arm: learner.lower(state, arm))(jnp.arange(ARMS))


_proportions = jax.jit(optimal_proportions)
OBS = FixedArmObs(jnp.eye(ARMS))


def feed(learner, paid):
    """Return the state after the rewards of arm 0 and the two of arm 1."""
    state = learner.init(jax.random.key(0))
    for arm, rewards in enumerate((paid, [0.25, 1.0])):
        padded = np.resize(np.append(rewards, 0.0), MOST)  # one compiled program for all data
        state = _update(learner, state, jnp.int32(arm), jnp.asarray(padded), len(rewards))
    return state


@pytest.mark.parametrize("law", PAID)
@pytest.mark.parametrize("name", BOTH_PARAMETERS)
def test_each_reward_is_clipped_before_it_is_added(name, law):
    learner, paid = BOTH_PARAMETERS[name], np.clip(PAID[law], 0.0, 1.0)
    state = feed(learner, PAID[law])
    assert (state.total >= 0.0).all() and (state.total <= state.count).all()
    found = np.asarray(learner.posterior(state))
    successes, failures = np.asarray([paid.sum(), 1.25, 0.0]), np.asarray([(1.0 - paid).sum(), 0.75, 0.0])
    wanted = learner.prior_success + successes, learner.prior_failure + failures
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    if name == "armed/bayes_ucb":
        np.testing.assert_allclose(_index(learner, jnp.int32(9), state), st.beta.isf(0.1, *wanted), rtol=1e-6)
    if name == "armed/thompson_beta":
        of_items = feed(PerItem(policy=learner), PAID[law])
        np.testing.assert_array_equal(of_items.pulls.total, state.total)


@pytest.mark.parametrize("law", ["below", "both", "huge"])
@pytest.mark.parametrize("name", ON_A_GRID)
def test_each_reward_is_clipped_before_it_changes_a_law(name, law):
    paid = np.clip(PAID[law], 0.0, 1.0)
    state = feed(ON_A_GRID[name], PAID[law])
    np.testing.assert_allclose(state.pulls.total, [paid.sum(), 1.25, 0.0], rtol=1e-12)
    successes, failures = 1.0 + np.asarray([paid.sum(), 1.25, 0.0]), 1.0 + np.asarray([(1 - paid).sum(), 0.75, 0.0])
    np.testing.assert_allclose(state.laws.mean, successes / (successes + failures), atol=1e-3)


@pytest.mark.parametrize("law", [law for law in PAID if law != "none"])
def test_means_are_clipped(law):
    """KL-UCB, KL-LUCB, Track-and-Stop and the likelihood ratio clip means; Chernoff's bound those below 0."""
    paid, t = np.asarray(PAID[law], float), 50
    rewards = (paid, np.asarray([0.25, 1.0]))
    learner, theirs = KLUCB(n_arms=ARMS), reference.KLUCB(ARMS, c=0.0)
    state = feed(learner, paid)
    index = np.asarray(_index(learner, jnp.int32(t), state))
    np.testing.assert_allclose(index[:2], [theirs.of(t, x) for x in rewards], rtol=1e-9)
    assert (index[:2] >= 0.0).all() and (index <= 1.0).all()
    if law != "above":  # the mean 1.25 is only an upper bound there
        found = _index(ChernoffUCB(n_arms=ARMS), jnp.int32(t), state)[0]
        wanted = reference.ChernoffUCB(ARMS).of(t, np.full(len(paid), max(paid.mean(), 0.0)))
        np.testing.assert_allclose(found, wanted, rtol=1e-9)
    means = np.clip(np.asarray(state.mean), 0.0, 1.0)
    bounds = KLLUCB(n_arms=ARMS)
    rate = float(bounds.rate(jnp.sum(state.count)))
    upper, lower = _bounds(bounds, state)
    for arm, count in enumerate(np.asarray(state.count)[:2]):
        np.testing.assert_allclose(upper[arm], explore.bound(means[arm], rate / count, 1.0), atol=1e-9)
        np.testing.assert_allclose(lower[arm], explore.bound(means[arm], rate / count, 0.0), atol=1e-9)
    clipped = np.clip(np.asarray(state.mean), 1e-6, 1.0 - 1e-6)
    if len(np.unique(clipped)) == ARMS:
        np.testing.assert_allclose(_proportions(state.mean), proportions(clipped), rtol=1e-6, atol=1e-10)
    assert np.isfinite(_index(TrackAndStop(n_arms=ARMS), jnp.int32(t), state)).all()


def test_means_of_learners_that_forget_are_clipped():
    """Means 1.25, -0.5 and 0.4 of 8 plays each count as 1, 0 and 0.4."""
    count, total = jnp.full(ARMS, 8.0), jnp.asarray([10.0, -4.0, 3.2])
    theirs = reference.KLUCB(ARMS, c=0.0)
    wanted = [theirs.of(24, np.full(8, mean)) for mean in (1.0, 0.0, 0.4)]
    window = SWKLUCB(n_arms=ARMS, window=30)
    state = window.init(None)._replace(count=count, beginning=total)
    for found in (
        _index(DKLUCB(n_arms=ARMS, discount=0.9), jnp.int32(24), Pulls(count, total)),
        _index(window, jnp.int32(24), state),
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_means_that_drift_stay_in_the_range_of_the_rewards():
    for environment, low, high in ((BernoulliArms(n_arms=4), 0.0, 1.0), (BetaArms(n_arms=4), 0.001, 0.999)):
        state = environment.init(jax.random.key(0))
        found = environment.moved(state, jnp.asarray([-5.0, 0.5, 1e30, 2.0])).theta
        np.testing.assert_allclose(found, [low, 0.5, high, high], rtol=1e-12)


def test_each_loss_is_clipped():
    np.testing.assert_array_equal(clip_losses(jnp.asarray([-1.0, 0.3, 5.0]), True), [-1.0, 0.3, 1.0])
    np.testing.assert_array_equal(clip_losses(jnp.asarray([-1.0, 5.0]), False), [-1.0, 5.0])


def test_no_promise_is_without_a_test():
    tested = {*BOTH_PARAMETERS, *ON_A_GRID, *ELSEWHERE, "armed/kl_ucb", "armed/chernoff_ucb", "explore/kl_lucb"}
    tested |= {"armed/d_kl_ucb", "armed/sw_kl_ucb"}
    tested |= {"explore/track_and_stop", "armed/bernoulli_arms", "armed/beta_arms"}
    found = set()
    for registry in (ALGORITHMS, ENVIRONMENTS):
        for name, entry in registry.items():
            text = " ".join((entry.cls.__doc__ or "").split())
            if re.search(r"(?<!not )\bclipped\b|`clip`", text):
                found.add(name)
    assert found == tested
