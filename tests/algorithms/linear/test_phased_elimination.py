"""Phased elimination step by step against its reference, on recorded rewards of fixed arms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import FreshArms, InputError, simulate
from jaxbandits.linear import PhasedElimination
from jaxbandits.types import FixedArmObs, Reward
from tests.reference import phased_elimination as reference

ROUNDS, K, D = 400, 9, 3


@jax.jit
def play(learner, arms, masks, rewards, key):
    def round_(state, row):
        t, mask, paid = row
        obs = FixedArmObs(arms, mask)
        decision = learner.select(key, t, state, obs)
        after = learner.update(key, t, state, obs, decision, Reward(paid[decision.index]))
        return after, (decision.index, state.theta, state.phase.is_left, state.phase.plays)

    start = learner.init_from_obs(learner.init(key), FixedArmObs(arms))
    return jax.lax.scan(round_, start, (jnp.arange(len(masks), dtype=jnp.int32), masks, rewards))[1]


@pytest.mark.parametrize("available", [1.0, 0.5])
def test_step_by_step(available, rng, key):
    learner = PhasedElimination(dim=D, noise_scale=0.1, delta=0.1, design_steps=9)
    arms, theta = rng.normal(size=(K, D)), rng.normal(size=D)
    arms[:4, 2] = 0.0  # what is left may span a plane
    theta[2] = 0.0
    rewards = arms @ theta + 0.1 * rng.normal(size=(ROUNDS, K))
    masks = rng.uniform(size=(ROUNDS, K)) < available
    masks[np.arange(ROUNDS), rng.integers(K, size=ROUNDS)] = True
    theirs = reference.PhasedElimination(arms, 0.1, 0.1, 9)
    played, thetas, left, plays = (np.asarray(x) for x in play(learner, arms, masks, rewards, key))
    for t, arm in enumerate(played):
        np.testing.assert_array_equal(np.flatnonzero(left[t]), theirs.left, err_msg=str(t))
        np.testing.assert_array_equal(plays[t], theirs.T, err_msg=str(t))
        np.testing.assert_allclose(thetas[t], theirs.theta, rtol=1e-9, atol=1e-9)
        assert arm in theirs.allowed(masks[t]), t
        theirs.update(arm, rewards[t, arm])
    assert theirs.phase > 3 and len(theirs.left) < K
    assert np.argmax(arms @ theta) in theirs.left


def test_arms_that_change_are_refused():
    with pytest.raises(InputError, match="PhasedElimination needs arms that never change"):
        simulate(PhasedElimination(dim=2), FreshArms(dim=2, n_arms=3), 5, 2, progress=False)
