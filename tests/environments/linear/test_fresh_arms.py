"""Fresh arms: their law, what is told, and that regret is against the best arm of the round."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import validate
from jaxbandits.environments.linear.fresh_arms import FreshArms
from jaxbandits.environments.linear.noise import Gaussian, StudentT
from jaxbandits.types import ArmDecision

ENV = FreshArms(dim=4, n_arms=3, noise=Gaussian(spread=0.5), eps=1.0, noise_decades=2.0)


@pytest.fixture(scope="module")
def rounds():
    """4000 rounds of one trial in which the second arm is played."""
    state = ENV.init(jax.random.key(0))

    def play(t):
        for_arms, for_noise = jax.random.split(jax.random.fold_in(jax.random.key(1), t))
        obs = ENV.observe(for_arms, t, state)
        _, feedback, outcome = ENV.step(for_noise, t, state, obs, ArmDecision(index=jnp.int32(1), x=obs.arms[1]))
        return obs.arms, feedback, outcome.regret

    return jax.tree.map(np.asarray, jax.jit(jax.vmap(play))(jnp.arange(4000)))


def test_arms_are_directions_of_the_positive_cone_new_in_every_round(rounds):
    arms = rounds[0]
    assert arms.shape == (4000, 3, 4) and arms.min() > 0.0
    np.testing.assert_allclose(np.linalg.norm(arms, axis=-1), 1.0, rtol=1e-5)
    assert len(np.unique(arms[:, 0, 0])) > 3900
    rows = np.random.default_rng(0).random((100_000, 4))
    cosine = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).sum(axis=1) / 2.0
    ours = arms.sum(axis=-1).ravel() / 2.0  # x'theta*
    error = np.hypot(cosine.std() / np.sqrt(len(cosine)), ours.std() / np.sqrt(len(ours)))
    assert abs(ours.mean() - cosine.mean()) < 5.0 * error
    corner = np.corrcoef(arms[:, 0, 0], arms[:, 1, 0])[0, 1]
    assert abs(corner) < 5.0 / np.sqrt(4000)


def test_what_is_told_and_what_is_charged(rounds):
    arms, feedback, regret = rounds
    means = arms.sum(axis=-1) / 2.0
    np.testing.assert_allclose(regret, means.max(axis=1) - means[:, 1], atol=1e-6)
    decades = np.log10(feedback.noise_scale / 0.5)
    assert -1e-6 < decades.min() < 0.01 and 1.99 < decades.max() < 2.0 + 1e-6
    assert abs(decades.mean() - 1.0) < 5.0 * 2.0 / np.sqrt(12.0 * 4000)
    noise = (feedback.reward - means[:, 1]) / feedback.noise_scale
    assert abs(np.mean(noise**2) - 1.0) < 5.0 * np.sqrt(2.0 / 4000) and abs(noise.mean()) < 5.0 / np.sqrt(4000)


def test_defaults_are_those_of_the_experiment():
    state = FreshArms().init(jax.random.key(0))
    np.testing.assert_allclose(state.theta, np.full(10, 10.0**-0.5), rtol=1e-6)
    np.testing.assert_allclose(state.noise_scale, StudentT(df=2.0).scale(0.99), rtol=1e-6)
    assert FreshArms().n_arms == 20


def test_noise_without_that_moment_is_refused():
    with pytest.raises(
        InputError,
        match=r"must lie below 1, because the StudentT noise has no moment of order 1 \+ eps from there on, got 1",
    ):
        validate(FreshArms(eps=1.0))
