"""Three places of other authors' code that differ from their papers, each as a number."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats as st

from jaxbandits.armed import ThompsonBeta
from jaxbandits.contextual import Wheel, models
from jaxbandits.types import ArmDecision, ArmObs, ContextObs, IndexObs
from tests.reference import network_models as reference


def test_nu_in_the_authors_code_of_neural_ts_is_a_squared_multiplier(rng, key):
    """learner_diag.py: sigma = sqrt(sum lambda nu g^2 / U), U += g g, of a network without sqrt(m).

    The missing m cancels between g and U; nu does not: at nu = 1e-5 the draws are 316 times as wide as the paper's.
    """
    ridge, nu, m = 0.01, 1e-5, 20
    model = models.NeuralGradient(input_dim=3, n_hidden=m, ridge=ridge, noise_scale=np.sqrt(ridge), train_every=1000)
    state, width, update = jax.jit(model.init)(key), jax.jit(model.width), jax.jit(model.update)
    first = np.asarray(state.weights.first[0]).T
    theirs = reference.NeuralUCB([first, np.asarray(state.weights.last)], ridge)
    U = ridge * np.ones(sum(w.size for w in theirs.W))
    arms = rng.normal(size=(30, 3))
    for t, x in enumerate(arms):
        obs = ArmObs(jnp.asarray(x[None]))
        model_width = width(state, obs)[0]
        g = np.concatenate([part.ravel() for part in theirs.gradient(x)]) / np.sqrt(m)  # of the network without sqrt(m)
        sigma = np.sqrt((ridge * nu * g * g / U).sum())
        assert sigma / (nu * model_width) == pytest.approx(nu**-0.5, rel=1e-9)  # 316.2
        U += g * g
        state = update(key, jnp.int32(t), state, obs, ArmDecision(jnp.int32(0), x), jnp.zeros(()))


def test_thompson_sampling_in_the_authors_code_of_fast_gittins_stays_with_an_arm_that_never_failed(key):
    """policy.hpp, ThompsonPolicy: an arm all of whose rewards were 1 is played at once.

    One success of one play against 95 of 100: Thompson sampling plays the first with probability 0.11, the code with 1.
    """
    first, second = st.beta(2, 1), st.beta(96, 6)
    probability = scipy.integrate.quad(lambda x: second.pdf(x) * first.sf(x), 0.0, 1.0, points=[0.94])[0]
    assert probability == pytest.approx(0.114, abs=0.001)
    learner = ThompsonBeta(n_arms=2)
    state = learner.init(key)
    obs = IndexObs.of(2)
    for arm, rewards in ((0, [1.0]), (1, [1.0] * 95 + [0.0] * 5)):
        for reward in rewards:
            decision = ArmDecision(jnp.int32(arm), jnp.int32(arm))
            state = learner.update(key, jnp.int32(0), state, obs, decision, learner.feedback(jnp.asarray(reward)))
    keys = jax.random.split(key, 4000)
    plays = jax.jit(jax.vmap(lambda k: learner.select(k, jnp.int32(101), state, obs).index))(keys)
    assert st.binomtest(int((np.asarray(plays) == 0).sum()), len(keys), probability).pvalue > 1e-5


def test_the_wheel_in_the_code_of_mcmc_bandits_ignores_the_context(rng, key):
    """src/game.py pays by the arm alone and calls the last arm the best: its regret is 0 there whatever the context.

    On the wheel with delta = 0.5 the same plays lose 36.6 a round, 124 % of uniform play.
    """
    env = Wheel(delta=0.5)
    radius, angle = np.sqrt(rng.uniform(size=40_000)), rng.uniform(0.0, 2.0 * np.pi, size=40_000)
    contexts = jnp.asarray(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]))
    state = env.init(key)

    def regret(key, context):
        obs = ContextObs.of(context, 5)
        return env.step(key, jnp.int32(0), state, obs, ArmDecision(jnp.int32(4), obs.arms[4]))[2].regret

    found = np.asarray(jax.jit(jax.vmap(regret))(jax.random.split(key, len(contexts)), contexts))
    expected = 0.75 * (50.0 - 1.2)
    assert abs(found.mean() - expected) < 5.0 * found.std() / np.sqrt(len(found))
    assert found.mean() / env.uniform_regret == pytest.approx(1.24, abs=0.02)
