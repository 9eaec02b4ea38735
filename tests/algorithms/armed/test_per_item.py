"""Policies on items that retire, with and without delay, against NumPy; the law of retirement."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import OFUL, InputError, simulate
from jaxbandits.armed import SWUCB, UCB1, BernoulliArms, Exp3, PerItem, RetiringArms
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.types import ArmDecision, ItemObs, Reward
from tests.reference import armed as reference

ROUNDS, K = 150, 4


@pytest.mark.parametrize("delay", [0, 7])
def test_an_item_is_judged_by_its_own_rewards(delay, rng, key):
    learner = PerItem(policy=UCB1(n_arms=K))
    items, newest = np.tile(np.arange(K), (ROUNDS, 1)), K
    for t in range(1, ROUNDS):
        items[t] = items[t - 1]
        if rng.uniform() < 0.1:
            items[t, rng.integers(K)] = newest
            newest += 1
    rewards = rng.uniform(size=(ROUNDS, K))
    state, theirs, played = learner.init(key), reference.PerItem(), []
    select, update = jax.jit(learner.select), jax.jit(learner.update)
    for t in range(ROUNDS):
        decision = select(key, jnp.int32(t), state, ItemObs(jnp.asarray(items[t])))
        arm = int(decision.index)
        assert int(decision.x) == items[t, arm]
        index = theirs.index(t, items[t])
        assert index[arm] >= index.max() - 1e-9
        played.append((arm, rewards[t, arm]))
        if t >= delay:
            arm, reward = played[t - delay]
            obs = ItemObs(jnp.asarray(items[t - delay]))
            state = update(key, jnp.int32(t - delay), state, obs, ArmDecision(jnp.int32(arm), 0), Reward(reward))
            theirs.update(items[t - delay, arm], reward)
    assert newest > K + 5


def test_feedback_in_any_order_counts_for_the_item_that_was_played(rng, key):
    """The rewards that arrive for the items of the latest round that is known, once this round is known."""
    learner = PerItem(policy=UCB1(n_arms=K))
    items = np.tile(np.arange(K), (ROUNDS, 1))
    for t in range(1, ROUNDS):
        items[t] = items[t - 1]
        if rng.uniform() < 0.1:
            items[t, rng.integers(K)] = K + t
    arms, rewards = rng.integers(K, size=ROUNDS), rng.uniform(size=ROUNDS)
    order = np.argsort(np.arange(ROUNDS) + 9.0 * rng.uniform(size=ROUNDS))
    state, update, sums = learner.init(key), jax.jit(learner.update), {}
    latest = overtaken = dropped = 0
    for t in order:
        overtaken += t < latest
        latest = max(latest, t)
        item = items[t, arms[t]]
        if item == items[latest, arms[t]]:
            count, total = sums.get(item, (0, 0.0))
            sums[item] = count + 1, total + rewards[t]
        else:
            dropped += 1
        obs = ItemObs(jnp.asarray(items[t]))
        state = update(key, jnp.int32(t), state, obs, ArmDecision(jnp.int32(arms[t]), 0), Reward(rewards[t]))
        np.testing.assert_array_equal(state.items, items[latest])
        expected = np.array([sums.get(item, (0, 0.0)) for item in items[latest]])
        np.testing.assert_allclose(np.stack([state.pulls.count, state.pulls.total], axis=1), expected, rtol=1e-12)
    assert overtaken > 20 and dropped > 2


@pytest.mark.slow
def test_one_item_retires_at_a_time(key):
    env = as_arrays(RetiringArms(n_arms=3, retirement=0.3, prior_success=2.0, prior_failure=5.0))
    draws, t = jax.random.split(key, 5_000), jnp.int32(0)
    state = jax.vmap(env.init)(draws)
    assert st.kstest(np.ravel(state.means), st.beta(2, 5).cdf).pvalue > 1e-4
    decision = ArmDecision(jnp.int32(1), jnp.int32(1))

    @jax.jit
    @jax.vmap
    def step(key, state):
        return env.step(key, t, state, env.observe(key, t, state), decision)

    after, feedback, outcome = step(jax.random.split(jax.random.key(7), 5_000), state)
    changed = np.asarray(after.items != state.items)
    assert st.binomtest(int(changed.sum()), 5_000, 0.3).pvalue > 1e-4 and changed.sum(axis=1).max() == 1
    assert st.chisquare(changed.sum(axis=0)).pvalue > 1e-4
    assert (np.asarray(after.items)[changed] == 3).all()
    assert st.kstest(np.asarray(after.means)[changed], st.beta(2, 5).cdf).pvalue > 1e-4
    np.testing.assert_array_equal(np.asarray(after.means)[~changed], np.asarray(state.means)[~changed])
    means = np.asarray(state.means)
    np.testing.assert_allclose(outcome.regret, means.max(axis=1) - means[:, 1])
    z = (np.asarray(feedback.reward) - means[:, 1]).sum() / np.sqrt((means[:, 1] * (1 - means[:, 1])).sum())
    assert abs(z) < 4


@pytest.mark.parametrize("policy", [Exp3(n_arms=3), SWUCB(n_arms=3, window=5), 1.0])
def test_only_policies_on_counts_are_taken(policy):
    with pytest.raises(InputError, match=r"PerItem.policy must be an index policy of jaxbandits.armed that keeps"):
        validate(PerItem(policy=policy))


def test_learners_of_features_are_refused():
    with pytest.raises(InputError, match="needs features of arms, which RetiringArms does not provide"):
        simulate(OFUL(dim=2), RetiringArms(n_arms=3), 5, 1, progress=False)


def test_items_that_stay_are_arms():
    """With arms that never change it plays as the policy does."""
    env = BernoulliArms.from_means([0.2, 0.6, 0.5])
    found = [simulate(a, env, 200, 4, progress=False) for a in (UCB1(n_arms=3), PerItem(policy=UCB1(n_arms=3)))]
    np.testing.assert_array_equal(*(f.final("regret") for f in found))
