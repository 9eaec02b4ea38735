"""Scores of arms that never change: the same plays as without, within the bound, for masks too; nowhere else."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
from jaxbandits.algorithms.linear.oful import OFUL
from jaxbandits.base.pytree import as_arrays, pytree
from jaxbandits.engine.loop import init_trial, play_round
from jaxbandits.environments.glm.generalized_linear import GeneralizedLinear
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.environments.linear.noise import StudentT
from jaxbandits.estimation import fixed_arms
from jaxbandits.simulation import simulate
from jaxbandits.types import ArmObs, FixedArmObs, Reward
from tests.estimation.scores import largest_drift

ROUNDS = 700  # two refreshes


@pytree
class Unsaid(HeavyTailed):
    """The same environment, which does not say that its arms never change."""

    def observe(self, key, t, state):
        return ArmObs(*super().observe(key, t, state))


LEARNERS = {
    "oful": lambda dim: OFUL.practical(dim=dim, horizon=ROUNDS, noise_scale=1.31),
    "hvt_ucb": lambda dim: HvtUCB.practical(dim=dim, horizon=ROUNDS, eps=0.99),
}


def plays(algorithm, environment, seeds=8):
    def trial(seed):
        carry = init_trial(jax.random.key(7, impl="threefry2x32"), algorithm, environment, seed)

        def one_round(carry, t):
            carry, played = play_round(algorithm, environment, t, carry)
            return carry, (played.decision.index, algorithm.recommend(carry.alg_state))

        carry, rows = jax.lax.scan(one_round, carry, jnp.arange(ROUNDS, dtype=jnp.int32))
        return rows, carry.alg_state.scores

    return jax.jit(jax.vmap(trial))(jnp.arange(seeds, dtype=jnp.int32))


@pytest.mark.slow
@pytest.mark.parametrize(("dim", "available"), [(10, 6), (2, None), (2, 6), (10, None)])
@pytest.mark.parametrize("learner", LEARNERS)
def test_plays_are_the_same_in_float64(learner, dim, available):
    algorithm = as_arrays(LEARNERS[learner](dim))
    settings = {"dim": dim, "n_arms": 12, "noise": StudentT(df=2.1), "available": available}
    (index, estimate), scores = plays(algorithm, as_arrays(HeavyTailed(**settings)))
    (same_index, same_estimate), absent = plays(algorithm, as_arrays(Unsaid(**settings)))
    np.testing.assert_array_equal(index, same_index)
    np.testing.assert_allclose(estimate, same_estimate, rtol=1e-9, atol=1e-9)
    assert absent is None and (scores is None) == (dim < fixed_arms.LEAST_DIM)


def test_nothing_is_carried_where_arms_change():
    for environment, carries in ((GeneralizedLinear.tv(dim=6), False), (GeneralizedLinear.fixed(dim=6), True)):
        carry = jax.eval_shape(init_trial, jax.random.key(0), *as_arrays((OFUL(dim=6), environment)), jnp.int32(0))
        assert (carry.alg_state.scores is not None) == carries


def test_the_mask_may_be_new_in_every_round():
    environment = as_arrays(HeavyTailed(dim=2, n_arms=5, available=2))
    obs = jax.eval_shape(
        lambda: environment.observe(jax.random.key(0), jnp.int32(0), environment.init(jax.random.key(1)))
    )
    assert type(obs._replace(mask=None)) is FixedArmObs
    assert type(jax.tree.map(jnp.zeros_like, obs)) is FixedArmObs  # survives what JAX does with pytrees


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_drift_is_within_the_bound(learner):
    environment = HeavyTailed(dim=10, n_arms=20, noise=StudentT(df=2.1))
    drift = largest_drift(*as_arrays((LEARNERS[learner](10), environment)), 3 * fixed_arms.REFRESH, 8)
    assert 0.0 < drift["width_sq"] < 1.0 and drift["mean"] < 1.0


class PlayCounts(NamedTuple):
    """Plays per arm, and the first arm shown before anything was played."""

    plays: jax.Array
    shown: jax.Array


@pytree
class RoundRobin:
    """Its state has one entry an arm, of which there are as many as it sees."""

    feedback = Reward

    def init(self, key):
        return None

    def init_from_obs(self, state, obs):
        return PlayCounts(jnp.zeros(obs.arms.shape[0]), obs.arms[0])

    def select(self, key, t, state, obs):
        return fixed_arms.choose_best(obs.arms, obs.mask, -state.plays)

    def update(self, key, t, state, obs, decision, feedback):
        return state._replace(plays=state.plays + (jnp.arange(obs.arms.shape[0]) == decision.index))


@pytest.mark.slow
def test_a_learner_prepares_for_what_it_sees_in_round_zero():
    algorithm, environment = as_arrays((RoundRobin(), GeneralizedLinear.tv(dim=3)))

    @jax.jit
    def format_value():
        carry = init_trial(jax.random.key(0), algorithm, environment, jnp.int32(0))
        return carry.alg_state.shown, play_round(algorithm, environment, jnp.int32(0), carry)[1].obs.arms[0]

    np.testing.assert_allclose(*format_value(), rtol=1e-14)
    result = simulate(algorithm, environment, 40, 3, progress=False, width=32)
    assert result.trials["RoundRobin"].healthy.all()
