"""Arms of the ball: their law, and that rewards and regret follow a parameter that moves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import validate
from jaxbandits.environments.linear.ball_arms import BallArms
from jaxbandits.environments.linear.noise import Gaussian
from jaxbandits.environments.operators.drifting import Given, with_drift
from jaxbandits.types import ArmDecision

PATH = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, -1.0]])
ENV = with_drift(BallArms(dim=2, n_arms=3, noise=Gaussian(spread=0.0), theta=np.array([1.0, 0.0])), Given(path=PATH))


def test_arms_of_the_cube_are_pulled_into_the_ball_and_rewards_follow_theta(key):
    state = ENV.init(key)

    def play(t):
        for_arms, for_noise = jax.random.split(jax.random.fold_in(key, t))
        obs = ENV.observe(for_arms, t, state)
        _, feedback, outcome = ENV.step(for_noise, t, state, obs, ArmDecision(jnp.int32(1), obs.arms[1]))
        return obs.arms, feedback.reward, outcome.regret

    arms, rewards, regrets = jax.tree.map(np.asarray, jax.jit(jax.vmap(play))(jnp.arange(4000)))
    norms = np.linalg.norm(arms, axis=-1)
    assert norms.max() < 1.0 + 1e-6
    on_the_sphere = np.mean(norms > 1.0 - 1e-6)  # the share of the square outside the disc
    assert abs(on_the_sphere - (1.0 - np.pi / 4.0)) < 5.0 * 0.5 / np.sqrt(norms.size)
    inside = arms[norms < 0.999]
    assert np.abs(inside.mean(axis=0)).max() < 5.0 * 0.5 / np.sqrt(len(inside))
    theta = PATH[np.minimum(np.arange(4000), 2)]
    means = np.einsum("tki,ti->tk", arms, theta)
    np.testing.assert_allclose(rewards, means[:, 1], atol=1e-6)
    np.testing.assert_allclose(regrets, means.max(axis=1) - means[:, 1], atol=1e-6)


def test_theta_is_given_or_a_direction_of_its_own(key):
    drawn = BallArms(dim=3).init(key).theta
    np.testing.assert_allclose(np.linalg.norm(drawn), 1.0, rtol=1e-6)
    np.testing.assert_array_equal(BallArms(dim=2, theta=[0.5, 0.0]).init(key).theta, [0.5, 0.0])
    with pytest.raises(InputError, match=r"theta must have shape \[2\]"):
        validate(BallArms(dim=2, theta=np.ones(3)))
