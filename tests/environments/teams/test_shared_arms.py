"""Shared arms: one coin an arm, lost rewards, regret and counts by hand, both models of collisions, bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import from_spec, to_spec
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays
from jaxbandits.teams import SharedArms
from jaxbandits.types import IndexObs, TeamDecision

MEANS = np.array([0.1, 0.4, 0.7, 0.9])


@pytest.mark.parametrize("sees_collisions", [True, False])
def test_players_who_meet_receive_nothing(sees_collisions, key):
    env = as_arrays(SharedArms.from_means(MEANS, 3, sees_collisions=sees_collisions))
    state = env.init(key)._replace(last=jnp.array([3, 3, 0], jnp.int32))
    index = jnp.array([3, 2, 3], jnp.int32)
    step = jax.jit(jax.vmap(lambda k: env.step(k, None, state, IndexObs.of(4), TeamDecision(index))))
    after, feedback, outcome = jax.tree.map(np.asarray, step(jax.random.split(key, 4_000)))
    sensed, met = feedback.sensed, np.array([1.0, 0.0, 1.0])
    np.testing.assert_array_equal(sensed[:, 0], sensed[:, 2])  # one coin an arm
    for player, mean in ((0, 0.9), (1, 0.7)):
        assert st.binomtest(int(sensed[:, player].sum()), 4_000, mean).pvalue > 1e-4
    np.testing.assert_array_equal(feedback.reward, sensed * (1 - met))
    np.testing.assert_array_equal(
        feedback.collided, np.broadcast_to(met, sensed.shape) if sees_collisions else sensed * met
    )
    np.testing.assert_allclose(outcome.regret, 0.4 + 0.7 + 0.9 - 0.7)
    assert (outcome.collisions == 2.0).all() and (outcome.switches == 2.0).all()
    np.testing.assert_array_equal(after.last, np.broadcast_to(index, after.last.shape))


def test_nobody_has_switched_before_the_first_round(key):
    env = as_arrays(SharedArms(n_arms=4, n_players=2))
    state = env.init(key)
    outcome = env.step(key, None, state, IndexObs.of(4), TeamDecision(jnp.array([0, 1], jnp.int32)))[2]
    assert outcome.switches == 0.0 and outcome.collisions == 0.0
    np.testing.assert_allclose(state.best, np.sort(state.means)[2:].sum())


@pytest.mark.parametrize(("index", "admitted"), [([0, 0], True), ([3, 1], True), ([4, 0], False), ([-1, 2], False)])
def test_arms_that_exist_are_admitted(index, admitted):
    env = SharedArms(n_arms=4, n_players=2)
    assert bool(env.admits(None, IndexObs.of(4), TeamDecision(jnp.array(index)))) == admitted


def test_specifications_round_trip():
    for env in (SharedArms.from_means(MEANS, 2), SharedArms(n_arms=3, n_players=3, sees_collisions=False)):
        again = from_spec(to_spec(env))
        assert type(again) is SharedArms and to_spec(again) == to_spec(env)


def test_wrong_arguments():
    for make, said in (
        (lambda: SharedArms.from_means([0.1, 0.2], 3), "n_players must be at most n_arms=2, got 3"),
        (lambda: SharedArms.from_means([0.1, 1.2], 1), "means"),
    ):
        with pytest.raises(InputError, match=said):
            make()
