"""Mushrooms: the law of rewards, the regret of means, and tables that are refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import InputError, simulate
from jaxbandits.contextual import Bandit, models, rules
from jaxbandits.data import MushroomBandit
from jaxbandits.types import ArmDecision


def make_bandit(**settings):
    return MushroomBandit.from_table([[1.0, 0.0], [0.0, 1.0]], ["e", "p"], order="given", **settings)


@pytest.mark.parametrize("luck", [0.5, 0.2])
def test_rewards_and_regret_of_every_choice(luck, key):
    """Edible: +5, regret 5 where it is left. Poisonous: -35 or +5 by a coin, regret of the mean where it is eaten."""
    env = make_bandit(luck=luck)
    state = env.init(key)

    def play(key, state, arm):
        obs = env.observe(key, jnp.int32(0), state)
        _, feedback, outcome = env.step(key, jnp.int32(0), state, obs, ArmDecision(jnp.int32(arm), obs.arms[arm]))
        return feedback.reward, outcome.regret, outcome.reward

    keys = jax.random.split(key, 4000)
    poisonous = state._replace(row=jnp.int32(1))
    mean = luck * 5.0 - (1.0 - luck) * 35.0
    for place, arm, rewards, regret in (
        (state, 0, {0.0: 1.0}, 5.0),
        (state, 1, {5.0: 1.0}, 0.0),
        (poisonous, 0, {0.0: 1.0}, 0.0),
        (poisonous, 1, {5.0: luck, -35.0: 1.0 - luck}, -mean),
    ):
        reward, found, told = (np.asarray(x) for x in jax.vmap(lambda k, p=place, a=arm: play(k, p, a))(keys))
        np.testing.assert_allclose(found, regret, rtol=1e-6)
        np.testing.assert_array_equal(reward, told)
        assert set(np.unique(reward)) == set(rewards)
        for value, probability in rewards.items():
            count = int((reward == value).sum())
            assert st.binomtest(count, len(keys), probability).pvalue > 1e-5


def test_a_learner_is_far_ahead_of_uniform_play():
    """Uniform play loses 2.5 in a round with an edible mushroom and 7.5 in one with a poisonous mushroom."""
    learner = Bandit(model=models.Ridge(n_arms=2, dim=2), rule=rules.UCB(beta=20.0))
    found = simulate(learner, make_bandit(as_context=True), 600, 16, progress=False)
    assert found.final("regret").mean() < 0.2 * 600 * (2.5 + 7.5) / 2


def test_arms_are_blocks_without_a_context(key):
    env = make_bandit()
    obs = env.observe(key, jnp.int32(0), env.init(key))
    np.testing.assert_array_equal(obs.arms, [[1, 0, 0, 0], [0, 0, 1, 0]])
    assert env.dim == 4 and make_bandit(as_context=True).dim == 2


def test_tables_that_are_refused():
    for features, labels, message in (
        ([[1.0]], ["e", "p"], r"features and labels must have shapes"),
        ([[1.0], [2.0]], ["e", "e"], "poisonous must be one of the labels .*got 'p'"),
        ([[1.0], [np.nan]], ["e", "p"], "features"),
    ):
        with pytest.raises(InputError, match=message):
            MushroomBandit.from_table(features, labels)
    with pytest.warns(UserWarning, match="all mushrooms are poisonous"):
        MushroomBandit.from_table([[1.0], [2.0]], [1, 1], poisonous=1)


def test_labels_may_be_numpy_numbers():
    bandit = MushroomBandit.from_table(np.eye(3), np.array([0, 1, 1]), poisonous=np.int64(1))
    np.testing.assert_array_equal(bandit.table.poisonous, [False, True, True])
