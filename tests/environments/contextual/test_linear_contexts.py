"""Linear contexts: laws of contexts and rewards, regret by hand, bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import InputError, noise
from jaxbandits.base.pytree import validate
from jaxbandits.contextual import LinearContexts
from jaxbandits.types import ArmDecision


@pytest.mark.slow
@pytest.mark.parametrize("shared", [0, 2])
def test_rewards_and_regret(shared, key):
    environment = LinearContexts(n_arms=4, dim=3, shared_dim=shared, noise=noise.Gaussian(spread=0.2))
    state = environment.init(key)
    np.testing.assert_allclose(np.linalg.norm(state.theta, axis=1), 1.0, rtol=1e-12)

    @jax.jit
    @jax.vmap
    def play(k):
        a, b = jax.random.split(k)
        obs = environment.observe(a, jnp.int32(0), state)
        decision = ArmDecision(jnp.int32(2), obs.arms[2])
        return obs, *environment.step(b, jnp.int32(0), state, obs, decision)[1:]

    obs, told, outcome = play(jax.random.split(key, 4000))
    assert obs.context.shape == (4000, 3) and obs.arms.shape == ((4000, 4, shared) if shared else (4000, 4))
    means = obs.context @ state.theta.T
    if shared:
        np.testing.assert_allclose(np.linalg.norm(obs.arms, axis=2), 1.0, rtol=1e-12)
        means = means + obs.arms @ state.beta
    np.testing.assert_allclose(outcome.regret, means.max(axis=1) - means[:, 2], rtol=1e-12, atol=1e-15)
    residual = told.reward - means[:, 2]
    assert abs(residual.mean()) < 5 * 0.2 / np.sqrt(4000) and abs(residual.std() / 0.2 - 1) < 0.06
    assert np.abs(np.asarray(obs.context).mean(axis=0)).max() < 0.05


def test_bad_input():
    with pytest.raises(InputError, match=r"LinearContexts.noise"):
        validate(LinearContexts(noise=1.0))
