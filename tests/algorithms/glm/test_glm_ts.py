"""GLM-TS step by step against its NumPy reference, and the law of its draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import InputError
from jaxbandits.base.pytree import validate
from jaxbandits.glm import GLBOMD, GLMTS
from jaxbandits.numerics import rng as draws_of
from jaxbandits.types import ArmDecision, ArmObs, Reward
from tests.reference import glb_omd as reference
from tests.reference import glm_ts

ROUNDS, K, D = 120, 6, 3


@jax.jit
def play(learner, arms, masks, rewards, key):
    """The arm and the draw of every round, its normals, and the estimate before it."""

    def round_(state, row):
        t, x, mask, paid = row
        now, obs = jax.random.fold_in(key, t), ArmObs(x, mask)
        decision = learner.select(now, t, state, obs)
        seen = decision.index, learner.draw(now, t, state), draws_of.normal_vector(now, D), learner.recommend(state)
        return learner.update(now, t, state, obs, decision, Reward(paid[decision.index])), seen

    return jax.lax.scan(round_, learner.init(key), (jnp.arange(ROUNDS, dtype=jnp.int32), arms, masks, rewards))[1]


@pytest.mark.parametrize("draws_in_set", [False, True])
def test_step_by_step(draws_in_set, rng, key):
    learner = GLMTS(estimator=GLBOMD(dim=D, norm_bound=2.0, ridge=1.5), width=0.8, draws_in_set=draws_in_set)
    theirs = glm_ts.GLMTS(reference.FAMILIES["bernoulli"], D, 2.0, 0.8, draws_in_set, lam=1.5)
    arms = rng.normal(size=(ROUNDS, K, D))
    arms /= np.linalg.norm(arms, axis=-1, keepdims=True)
    masks = rng.uniform(size=(ROUNDS, K)) < 0.7
    masks[:, 0] = True
    rewards = (rng.uniform(size=(ROUNDS, K)) < 1.0 / (1.0 + np.exp(-2.0 * arms[..., 0]))).astype(float)
    played, drawn, normals, estimates = (np.asarray(x) for x in play(learner, arms, masks, rewards, key))
    for t, arm in enumerate(played):
        np.testing.assert_allclose(estimates[t], theirs.theta, rtol=1e-9, atol=1e-9)
        theta = theirs.draw(normals[t])
        np.testing.assert_allclose(drawn[t], theta, rtol=1e-9, atol=1e-9)
        values = np.where(masks[t], arms[t] @ theta, -np.inf)
        assert values[arm] >= values.max() - 1e-9
        theirs.update(arms[t, arm], rewards[t, arm])
    assert len(np.unique(played)) == K


def test_law_of_the_draws(rng, key):
    learner = GLMTS(estimator=GLBOMD(dim=3, norm_bound=2.0, ridge=1.5), width=0.8)
    theirs = reference.GLBOMD(reference.FAMILIES["bernoulli"], 3, 2.0, lam=1.5)
    xs = rng.normal(size=(30, 3))
    xs /= np.linalg.norm(xs, axis=1, keepdims=True)
    rs = (rng.uniform(size=30) < 0.6).astype(float)
    reference.force(theirs, xs, rs)
    state, update = learner.init(key), jax.jit(learner.update)
    for t, (x, r) in enumerate(zip(xs, rs, strict=True)):
        state = update(key, jnp.int32(t), state, None, ArmDecision(jnp.int32(0), jnp.asarray(x)), Reward(r))
    np.testing.assert_allclose(learner.recommend(state), theirs.theta, rtol=1e-9)
    t = jnp.int32(30)
    draws = np.asarray(jax.jit(jax.vmap(lambda k: learner.draw(k, t, state)))(jax.random.split(key, 4000)))
    standard = np.linalg.cholesky(theirs.H).T @ (draws - theirs.theta).T / 0.8  # H = L L', covariance I
    for row in standard:
        assert st.kstest(row, "norm").pvalue > 1e-4
    assert np.abs(np.corrcoef(standard) - np.eye(3)).max() < 5 / np.sqrt(4000)


def test_presets_and_bad_input():
    assert GLMTS.theory(dim=2, norm_bound=3.0).estimator.ridge == GLBOMD.theory(dim=2, norm_bound=3.0).ridge
    assert GLMTS.practical(dim=2).estimator.radius_rule == "data" and not GLMTS.practical(dim=2).draws_in_set
    with pytest.raises(InputError, match=r"GLMTS\.estimator must be a GLBOMD"):
        validate(GLMTS(estimator=1.0))
