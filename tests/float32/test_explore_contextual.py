"""Identification and contextual learners in float32: close to the float64 references."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.contextual.disjoint_lin_ucb import DisjointLinUCB
from jaxbandits.algorithms.contextual.hybrid_lin_ucb import HybridLinUCB
from jaxbandits.algorithms.explore.proportions import optimal_proportions
from jaxbandits.types import ContextObs, Reward
from tests.reference import contextual, explore

K, P, Z = 4, 3, 2


@pytest.mark.slow
def test_optimal_proportions(rng):
    solve = jax.jit(optimal_proportions)
    for mu in (*rng.uniform(0.05, 0.95, size=(5, 5)), np.array([0.5, 0.45, 0.43, 0.4])):
        mu = mu.astype(np.float32)
        np.testing.assert_allclose(solve(jnp.asarray(mu)), explore.proportions(mu), rtol=0.0, atol=1e-4)


LEARNERS = {
    "disjoint": (DisjointLinUCB(n_arms=K, dim=P), contextual.DisjointLinUCB(K, P, 1.0, 1.0)),
    "hybrid": (HybridLinUCB(n_arms=K, dim=P, shared_dim=Z), contextual.HybridLinUCB(K, P, Z, 1.0, 1.0)),
}


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", LEARNERS)
def test_estimates_after_many_rounds(name, rng, key):
    """Of 2000 rounds, most of them of one arm in nearly one direction."""
    learner, theirs = LEARNERS[name]
    x = (rng.normal(size=(2000, P)) * [1.0, 0.05, 0.05] + [1.0, 0.5, 0.0]).astype(np.float32)
    z, rewards = rng.normal(size=(2, 2000, K, Z)).astype(np.float32)
    rewards = (rewards[..., 0] * [0.1] * K + x[:, :1] * [0.9, 0.2, 0.1, 0.0]).astype(np.float32)

    @jax.jit
    def play(rows):
        def round_(state, row):
            t, x, z, rewards = row
            obs = ContextObs(x, z if name == "hybrid" else jnp.arange(K, dtype=jnp.int32))
            decision = learner.select(key, t, state, obs)
            return learner.update(key, t, state, obs, decision, Reward(rewards[decision.index])), decision.index

        return jax.lax.scan(round_, learner.init(key), rows)

    state, arms = play((jnp.arange(2000, dtype=jnp.int32), x, z, rewards))
    for t, arm in enumerate(np.asarray(arms)):
        theirs.update(x[t].astype(float), z[t].astype(float), arm, float(rewards[t, arm]))
    if name == "disjoint":
        wanted = np.array([np.linalg.solve(A, b) for A, b in zip(theirs.A, theirs.b, strict=True)])
    else:
        wanted = np.linalg.solve(theirs.A_0, theirs.b_0)
    assert np.bincount(arms, minlength=K).max() > 1500
    np.testing.assert_allclose(learner.recommend(state), wanted, rtol=0.0, atol=2e-4)
