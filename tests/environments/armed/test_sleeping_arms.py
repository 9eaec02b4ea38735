"""Sleeping arms: which are awake, regret against the best of these, AUER as a NumPy loop, bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import from_spec, operators, simulate, sweep, to_spec
from jaxbandits.armed import KLUCB, UCB1, SleepingArms, ThompsonBeta
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays
from jaxbandits.engine import loop
from jaxbandits.testing import contract
from jaxbandits.types import ArmDecision, IndexObs

MEANS, AWAKE = np.array([0.9, 0.6, 0.4, 0.1]), np.array([0.3, 0.5, 0.2, 0.8])


def masks(env, key, n=20_000):
    env = as_arrays(env)
    state = env.init(key)
    return np.asarray(jax.jit(jax.vmap(lambda k: env.observe(k, None, state).mask))(jax.random.split(key, n)))


def test_arms_are_awake_independently_and_at_least_one_is(key):
    found = masks(SleepingArms.from_means(MEANS, awake=AWAKE), key)
    assert found.any(axis=1).all()
    sets = np.array([[(k >> i) & 1 for i in range(4)] for k in range(16)])
    chance = np.prod(np.where(sets, AWAKE, 1 - AWAKE), axis=1)
    chance[[1, 2, 4, 8]] += chance[0] / 4  # one of four wakes up where none is awake
    counts = np.bincount(found @ (1 << np.arange(4)), minlength=16)
    assert counts[0] == 0 and st.chisquare(counts[1:], len(found) * chance[1:]).pvalue > 1e-4


@pytest.mark.parametrize(("awake", "expected"), [(1.0, 4), (0.0, 1)])
def test_all_arms_or_a_single_one_are_awake(awake, expected, key):
    assert (masks(SleepingArms.from_means(MEANS, awake=awake), key, 50).sum(axis=1) == expected).all()


def test_regret_is_against_the_best_arm_that_is_awake(key):
    env = as_arrays(SleepingArms.from_means(MEANS, awake=AWAKE))
    state = env.init(key)
    for mask, arm, regret in (([1, 1, 1, 1], 1, 0.3), ([0, 1, 0, 1], 1, 0.0), ([0, 0, 1, 1], 3, 0.3)):
        obs = IndexObs.of(4, jnp.array(mask, bool))
        decision = ArmDecision(jnp.int32(arm), jnp.int32(arm))
        _, feedback, outcome = env.step(key, None, state, obs, decision)
        np.testing.assert_allclose(outcome.regret, regret, atol=1e-12)
        assert feedback.reward in (0.0, 1.0) and bool(env.admits(state, obs, decision))
    asleep = ArmDecision(jnp.int32(0), jnp.int32(0))
    assert not env.admits(state, IndexObs.of(4, jnp.array([False, True, True, True])), asleep)
    assert not env.admits(state, IndexObs.of(4), ArmDecision(jnp.int32(4), jnp.int32(4)))


@pytest.mark.slow
def test_ucb1_plays_as_auer_does(key):
    """The awake arm with the largest mean + sqrt(8 log t / n); arms without a play come first."""
    env, learner = as_arrays((SleepingArms.from_means(MEANS, awake=AWAKE), UCB1(n_arms=4, exploration=8.0)))

    @jax.jit
    def run():
        def body(carry, t):
            after, played = loop.play_round(learner, env, t, carry)
            return after, (played.obs.mask, played.decision.index, played.feedback.reward)

        start = loop.init_trial(key, learner, env, jnp.int32(0))
        return jax.lax.scan(body, start, jnp.arange(400, dtype=jnp.int32))[1]

    mask, arms, rewards = map(np.asarray, run())
    seen = [[] for _ in range(4)]
    for t in range(400):
        index = np.array([np.mean(x) + np.sqrt(8 * np.log(t) / len(x)) if x else np.inf for x in seen])
        index[~mask[t]] = -np.inf
        np.testing.assert_allclose(index[arms[t]], index.max(), rtol=1e-12, err_msg=f"round {t}")
        seen[arms[t]].append(rewards[t])
    assert all(seen)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("learner", [KLUCB(n_arms=4), UCB1(n_arms=4), ThompsonBeta(n_arms=4)])
def test_learners_find_the_order_of_the_arms(learner):
    env = SleepingArms.from_means(MEANS, awake=AWAKE)
    (trials,) = simulate(learner, env, 1000, 16, record_points=[500, 1000], progress=False).trials.values()
    regret = trials.get("regret").mean(axis=(0, 1))
    assert 0.0 < regret[1] - regret[0] < 0.7 * regret[0]
    assert not trials.inadmissible.any()


@pytest.mark.slow
def test_operators_and_the_contract(key):
    env = SleepingArms.from_means(MEANS, awake=AWAKE)
    contract.trials_do_not_depend_on_the_split(UCB1(n_arms=4), operators.with_delay(env, 3))
    contract.every_traced_field_can_be_swept(UCB1(n_arms=4), env)


def test_probabilities_can_be_swept_whatever_their_number():
    """Two numbers for four arms, four numbers for four arms, and two arrays of four probabilities."""
    for points in ([0.2, 0.9], [0.2, 0.4, 0.6, 0.9], [AWAKE, 1.0 - AWAKE]):
        env = SleepingArms.from_means(MEANS, awake=points[0])
        fields = {"grid": {"environment.awake": points}, "progress": False}
        regret = sweep(UCB1(n_arms=4), env, 50, 4, **fields).final("regret")
        for awake, swept in zip(points, regret, strict=True):
            alone = SleepingArms.from_means(MEANS, awake=awake)
            np.testing.assert_array_equal(
                simulate(UCB1(n_arms=4), alone, 50, 4, progress=False).final("regret")[0], swept
            )


def test_specifications_round_trip():
    for env in (SleepingArms.from_means(MEANS, awake=AWAKE), SleepingArms(n_arms=3)):
        again = from_spec(to_spec(env))
        assert type(again) is SleepingArms and to_spec(again) == to_spec(env)


def test_wrong_arguments():
    for make, said in (
        (lambda: SleepingArms.from_means([0.1, 1.2]), "means"),
        (lambda: SleepingArms.from_means([0.1, 0.2], awake=[0.1, 0.2, 0.3]), r"awake must have shape \[\] or \[2\]"),
        (lambda: SleepingArms.from_means([0.1, 0.2], awake=[[0.1, 0.2]]), r"awake must have shape \[\] or \[2\]"),
        (lambda: simulate(UCB1(n_arms=2), SleepingArms(n_arms=2, awake=[0.1] * 3), 3, 2, progress=False), "awake must"),
        (lambda: SleepingArms.from_means([0.1, 0.2], awake=1.5), "awake"),
    ):
        with pytest.raises(InputError, match=said):
            make()
