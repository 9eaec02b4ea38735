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
        phase = state.phase
        return after, (decision.index, state.theta, phase.is_left, phase.plays, phase.number)

    start = learner.init_from_obs(learner.init(key), FixedArmObs(arms))
    return jax.lax.scan(round_, start, (jnp.arange(len(masks), dtype=jnp.int32), masks, rewards))[1]


@pytest.mark.parametrize("available", [1.0, 0.5])
def test_step_by_step(available, rng, key):
    arms, theta = rng.normal(size=(K, D)), rng.normal(size=D)
    arms[:4, 2] = 0.0  # what is left may span a plane
    theta[2] = 0.0
    masks = rng.uniform(size=(ROUNDS, K)) < available
    masks[np.arange(ROUNDS), rng.integers(K, size=ROUNDS)] = True
    theirs, _ = replay(arms, theta, masks, rng, key)
    assert theirs.phase > 3 and len(theirs.left) < K
    assert np.argmax(arms @ theta) in theirs.left


def test_phases_end_although_an_arm_is_never_available(rng, key):
    """Arm 0 is the longest, and in every design; nothing replaces arm 1 before it returns."""
    arms, theta = 0.5 * rng.normal(size=(K, D)), np.array([1.0, 0.5, 0.2])
    arms[0], arms[1] = [0.0, 9.0, 0.0], [8.0, 0.0, 8.0]
    masks = np.ones((ROUNDS, K), bool)
    masks[:, 0] = masks[5:150, 1] = False
    theirs, played = replay(arms, theta, masks, rng, key)
    assert theirs.phase > 3 and 0 in theirs.left and len(theirs.left) < K
    assert (played[-ROUNDS // 4 :] == 1).all()


@pytest.mark.parametrize("n_zeros", [1, 2])
def test_an_arm_that_is_0_may_be_the_best(n_zeros, rng, key):
    """Once it alone is left its phase has no plays and does not end; nothing that was eliminated is played."""
    arms = np.abs(rng.normal(size=(K, D))) + 0.2
    arms[K - n_zeros :] = 0.0
    theirs, played = replay(arms, -np.ones(D), np.ones((ROUNDS, K), bool), rng, key)
    assert theirs.left.tolist() == list(range(K - n_zeros, K)) and theirs.phase < 10 and theirs.theta.all()
    assert (played[-ROUNDS // 2 :] == K - n_zeros).all()


def test_a_vanishing_noise_scale_still_needs_a_play_of_every_arm_of_the_design(rng, key):
    """In float32 R^2 would be 0."""
    learner = PhasedElimination(dim=D, noise_scale=jnp.float32(1e-30))
    arms, theta = jnp.asarray(rng.normal(size=(K, D)), jnp.float32), rng.normal(size=D)
    rewards = jnp.broadcast_to((arms @ theta).astype(jnp.float32), (ROUNDS, K))
    played, thetas, *_ = play(learner, arms, jnp.ones((ROUNDS, K), bool), rewards, key)
    assert played[-1] == np.argmax(arms @ theta) and thetas[-1].any()


def replay(arms, theta, masks, rng, key):
    """Compare the learner with its reference round by round; return the reference and what was played."""
    learner = PhasedElimination(dim=D, noise_scale=0.1, delta=0.1, design_steps=9)
    rewards = arms @ theta + 0.1 * rng.normal(size=(ROUNDS, K))
    theirs = reference.PhasedElimination(arms, 0.1, 0.1, 9)
    played, thetas, left, plays, numbers = (np.asarray(x) for x in play(learner, arms, masks, rewards, key))
    for t, arm in enumerate(played):
        assert numbers[t] == theirs.phase, t
        np.testing.assert_array_equal(np.flatnonzero(left[t]), theirs.left, err_msg=str(t))
        np.testing.assert_array_equal(plays[t], theirs.T, err_msg=str(t))
        np.testing.assert_allclose(thetas[t], theirs.theta, rtol=1e-9, atol=1e-9)
        assert arm in theirs.playable(masks[t]), t
        theirs.update(arm, rewards[t, arm], masks[t])
    return theirs, played


def test_arms_that_change_are_refused():
    with pytest.raises(InputError, match="PhasedElimination needs an environment whose arms are fixed"):
        simulate(PhasedElimination(dim=2), FreshArms(dim=2, n_arms=3), 5, 2, progress=False)
