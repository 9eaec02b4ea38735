"""LinTS, D-LinUCB and SW-LinUCB against NumPy references on recorded arms and rewards."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits.linear import DLinUCB, LinTS, SWLinUCB
from jaxbandits.numerics import inverse_factors
from jaxbandits.types import ArmDecision, ArmObs, Reward
from tests.reference import moving_linear as reference

ROUNDS, K, D = 60, 5, 3
CONSTANTS = {"noise_scale": 0.5, "ridge": 0.3, "norm_bound": 1.5, "arm_bound": 2.0, "delta": 0.05}
THEIRS = {"R": 0.5, "ridge": 0.3, "S": 1.5, "L": 2.0, "delta": 0.05}
LEARNERS = {
    "d_lin_ucb": (DLinUCB(dim=D, discount=0.9, **CONSTANTS), reference.DLinUCB, {"discount": 0.9}),
    "d_lin_ucb without discount": (DLinUCB(dim=D, discount=1.0, **CONSTANTS), reference.DLinUCB, {"discount": 1.0}),
    "d_lin_ucb as coded": (
        DLinUCB(dim=D, discount=0.9, authors_code=True, **CONSTANTS),
        reference.DLinUCBOfCode,
        {"discount": 0.9},
    ),
    "sw_lin_ucb": (SWLinUCB(dim=D, window=13, **CONSTANTS), reference.SWLinUCB, {"window": 13}),
}


@jax.jit
def play(learner, arms, rewards, key):
    def round_(state, row):
        t, x, r = row
        obs = ArmObs(x)
        decision = learner.select(key, t, state, obs)
        before = learner.recommend(state), learner.radius(t, state)
        return learner.update(key, t, state, obs, decision, Reward(r[decision.index])), (decision.index, before)

    return jax.lax.scan(round_, learner.init(key), (jnp.arange(len(arms), dtype=jnp.int32), arms, rewards))[1]


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_that_forget_against_their_references(name, rng, key):
    learner, made, constants = LEARNERS[name]
    theirs = made(D, **THEIRS, **constants)
    arms, rewards = rng.normal(size=(ROUNDS, K, D)), rng.normal(size=(ROUNDS, K))
    played, (estimates, radii) = play(learner, arms, rewards, key)
    for t, index in enumerate(np.asarray(played)):
        theta, _, beta = theirs.model()
        np.testing.assert_allclose(estimates[t], theta, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(radii[t], beta, rtol=1e-12)
        values = theirs.values(arms[t])
        assert values[index] >= values.max() - 1e-9
        theirs.update(arms[t, index], rewards[t, index])


@pytest.mark.slow
@pytest.mark.parametrize("dim", [3, 14])
def test_lin_ts_draws_its_posterior(dim, rng, key):
    """In factors written out, and in blocks of columns."""
    learner, theirs = LinTS(dim=dim, width=0.7, ridge=0.4), reference.LinTS(dim, width=0.7, ridge=0.4)
    state, update = learner.init(key), jax.jit(learner.update)
    for x, r in zip(rng.normal(size=(8, dim)), rng.normal(size=8), strict=True):
        state = update(key, jnp.int32(0), state, None, ArmDecision(jnp.int32(0), jnp.asarray(x)), Reward(r))
        theirs.update(x, r)
    mean, covariance = theirs.law()
    np.testing.assert_allclose(learner.recommend(state), mean, rtol=1e-9)
    root = jax.jit(jax.vmap(lambda z: inverse_factors.root_matvec(state.inverse, z)))(jnp.eye(dim)).T
    np.testing.assert_allclose(0.49 * root @ root.T, covariance, rtol=1e-9, atol=1e-9)
    draws = np.asarray(jax.jit(jax.vmap(lambda k: learner.draw(k, state)))(jax.random.split(key, 4000)))
    standard = np.linalg.solve(np.linalg.cholesky(covariance), (draws - mean).T)
    assert st.kstest(standard[0], "norm").pvalue > 1e-4 and st.kstest(standard[-1], "norm").pvalue > 1e-4
    obs = ArmObs(jnp.asarray(rng.normal(size=(K, dim))))
    index = jax.jit(learner.select)(key, jnp.int32(0), state, obs).index
    assert int(index) == int(jnp.argmax(obs.arms @ learner.draw(key, state)))


def test_presets():
    assert DLinUCB.theory(dim=2, horizon=6000, variation=4 + np.sqrt(2)).discount == pytest.approx(0.99412, abs=1e-5)
    assert SWLinUCB.theory(dim=2, horizon=6000, variation=4 + np.sqrt(2)).window == 170
    assert LinTS.theory(dim=2, horizon=100, delta=0.1).width == pytest.approx(np.sqrt(18 * np.log(1000)))


def test_radius_for_the_smallest_discounts():
    learner = DLinUCB(dim=2, discount=1e-200)  # its square is 0
    for t, rounds in ((0, 0), (1, 1), (5, 1)):  # older rounds have no weight
        square = 2 * np.log1p(rounds / 2) + 2 * np.log(100)
        np.testing.assert_allclose(learner.radius(t, None), 1 + np.sqrt(square), rtol=1e-12)
