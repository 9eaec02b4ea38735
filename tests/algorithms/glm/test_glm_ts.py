"""GLM-TS draws around the estimate of the NumPy reference of GLB-OMD, with its Hessian."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import InputError
from jaxbandits.base.pytree import validate
from jaxbandits.glm import GLBOMD, GLMTS
from jaxbandits.types import ArmDecision, ArmObs, Reward
from tests.reference import glb_omd as reference


@pytest.mark.parametrize("draws_in_set", [False, True])
def test_draws_and_plays(draws_in_set, rng, key):
    learner = GLMTS(estimator=GLBOMD(dim=3, norm_bound=2.0, ridge=1.5), width=0.8, draws_in_set=draws_in_set)
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
    width = 0.8 * (float(learner.estimator.radius(t, state)) if draws_in_set else 1.0)
    draws = np.asarray(jax.jit(jax.vmap(lambda k: learner.draw(k, t, state)))(jax.random.split(key, 4000)))
    standard = np.linalg.cholesky(theirs.H).T @ (draws - theirs.theta).T / width  # H = L L', covariance I
    for row in standard:
        assert st.kstest(row, "norm").pvalue > 1e-4
    assert np.abs(np.corrcoef(standard) - np.eye(3)).max() < 5 / np.sqrt(4000)
    obs = ArmObs(jnp.asarray(rng.normal(size=(6, 3))), jnp.arange(6) != 2)
    found, values = jax.jit(learner.select)(key, t, state, obs), obs.arms @ learner.draw(key, t, state)
    assert int(found.index) == int(jnp.argmax(jnp.where(obs.mask, values, -jnp.inf)))


def test_presets_and_bad_input():
    assert GLMTS.theory(dim=2, norm_bound=3.0).estimator.ridge == GLBOMD.theory(dim=2, norm_bound=3.0).ridge
    assert GLMTS.practical(dim=2).estimator.radius_rule == "data" and not GLMTS.practical(dim=2).draws_in_set
    with pytest.raises(InputError, match=r"GLMTS\.estimator must be a GLBOMD"):
        validate(GLMTS(estimator=1.0))
