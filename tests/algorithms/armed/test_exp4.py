"""Exp4 step by step against its reference on recorded advice, its bound, and its environment."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import InputError, simulate
from jaxbandits.algorithms.armed.sampled_policy import LossState
from jaxbandits.armed import AdvisedArms, BernoulliArms, Exp4
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.types import AdviceObs, ArmDecision, Reward
from tests.reference import armed as reference

ROUNDS, M, K = 120, 3, 4
CONSTANTS = {"given": {"learning_rate": 0.2, "gamma": 0.05}, "anytime": {"learning_rate": None, "gamma": 0.0}}


@jax.jit
def play(learner, rows, key):
    def round_(state, row):
        t, advice, mask, rewards = row
        obs, now = AdviceObs.of(advice, mask), jax.random.fold_in(key, t)
        decision = learner.select(now, t, state, obs)
        before = learner.weights(t, state, obs)
        return learner.update(now, t, state, obs, decision, Reward(rewards[decision.index])), (decision, before)

    return jax.lax.scan(round_, learner.init(key), (jnp.arange(len(rows[0]), dtype=jnp.int32), *rows))[1]


@pytest.mark.parametrize("name", CONSTANTS)
def test_step_by_step(name, rng, key):
    learner = Exp4(n_arms=K, n_experts=M, **CONSTANTS[name])
    theirs = reference.Exp4(K, M=M, **CONSTANTS[name])
    advice, rewards = rng.dirichlet(0.5 * np.ones(K), size=(ROUNDS, M)), rng.beta(2.0, 2.0, size=(ROUNDS, K))
    mask = np.ones((ROUNDS, K), bool)
    if name == "given":
        advice[::3, :, :2] = 0.0  # nothing is left where only these are available
        advice /= advice.sum(axis=-1, keepdims=True)
        mask[::3, 2:], mask[1::3, 0] = False, False
    decisions, found = play(learner, (advice, mask, rewards), key)
    for t, (arm, p) in enumerate(zip(np.asarray(decisions.index), np.asarray(decisions.probability), strict=True)):
        wanted = theirs.probabilities(t, advice[t], mask[t])
        np.testing.assert_allclose(found[t], wanted, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(p, wanted[arm], rtol=1e-9)
        assert mask[t, arm]
        theirs.update(arm, rewards[t, arm], p, advice[t], mask[t])
    assert len(np.unique(decisions.index)) == K


def test_an_expert_who_names_an_arm_that_is_never_available_does_not_win(key):
    """A tenth of its advice is for the two available arms, of which the other experts name the better and the worse."""
    n = 2_000
    advice = 0.85 * np.eye(3, K) + 0.15 * np.array([0.0, 0.5, 0.5, 0.0])
    rewards = jnp.broadcast_to(jnp.array([1.0, 0.8, 0.2, 1.0]), (n, K))
    mask = np.broadcast_to([False, True, True, False], (n, K))
    learner = Exp4(n_arms=K, n_experts=3)
    decisions, _ = play(learner, (np.broadcast_to(advice, (n, 3, K)), mask, rewards), key)
    assert (np.asarray(decisions.index)[n // 2 :] == 1).mean() > 0.8


def test_environment(key):
    env = as_arrays(AdvisedArms(n_arms=K, n_experts=M, n_contexts=2, skill=1.0, spread=0.2))
    draws = jax.random.split(key, 4_000)
    states = jax.jit(jax.vmap(env.init))(draws)
    best = np.argmax(states.means, axis=-1)
    np.testing.assert_array_equal(states.policies[:, -1], best)
    for m, share in ((0, 1 / K), (1, 0.5 + 0.5 / K)):
        assert st.binomtest(int((states.policies[:, m] == best).sum()), best.size, share).pvalue > 1e-4
    assert st.binomtest(int(states.context.sum()), len(draws), 0.5).pvalue > 1e-4
    state = jax.tree.map(lambda x: x[0], states)
    t, decision = jnp.int32(0), ArmDecision(jnp.int32(2), jnp.int32(2))
    obs = env.observe(key, t, state)
    np.testing.assert_allclose(obs.advice.sum(axis=1), 1.0)
    after, feedback, outcome = jax.jit(jax.vmap(lambda k: env.step(k, t, state, obs, decision)))(draws)
    means = np.asarray(state.means)[int(state.context)]
    assert st.binomtest(int(feedback.reward.sum()), len(draws), means[2]).pvalue > 1e-4
    np.testing.assert_allclose(outcome.regret, means.max() - means[2])
    named = np.eye(K)[np.asarray(state.policies)[:, int(state.context)]]
    np.testing.assert_allclose(outcome.expert_mean[0], (0.8 * named + 0.05) @ means)
    assert st.binomtest(int(after.context.sum()), len(draws), 0.5).pvalue > 1e-4


def test_rates_of_long_runs():
    """The product K t of the learning rate exceeds the range of int32."""
    learner, t = Exp4(n_arms=K, n_experts=2), 2**31 - 2
    obs = AdviceObs.of(jnp.eye(2, K))
    wanted = np.exp(-np.sqrt(np.log(2) / (float(K) * (t + 1))) * np.array([0.0, 1e5]))
    found = learner.weights(jnp.int32(t), LossState(jnp.array([0.0, 1e5])), obs)
    np.testing.assert_allclose(found[:2], wanted / wanted.sum(), rtol=1e-9)


@pytest.mark.slow
def test_regret_is_below_the_bound():
    n = 2_000
    learner = Exp4.theory(n_arms=K, n_experts=8, horizon=n)
    found = simulate(learner, AdvisedArms(n_arms=K, n_experts=8), n, 64, record_points=1, progress=False)
    regret = found.final("expert_regret")
    assert 0.0 < regret.mean() + 5 * regret.std() / 8.0 < np.sqrt(2 * n * K * np.log(8))


@pytest.mark.parametrize(
    ("learner", "environment", "message"),
    [
        (Exp4(n_arms=5, n_experts=2), BernoulliArms(n_arms=5), "advice of experts, which BernoulliArms does not"),
        (Exp4(n_arms=5, n_experts=2), AdvisedArms.example(), r"advice of shape \[4, 5\], .* \[2, "),
    ],
)
def test_learners_that_do_not_suit_are_refused(learner, environment, message):
    with pytest.raises(InputError, match=message):
        simulate(learner, environment, 5, 2, progress=False)


def test_presets_and_bad_input():
    assert Exp4.theory(n_arms=5, n_experts=3, horizon=100).learning_rate == pytest.approx(np.sqrt(2 * np.log(3) / 500))
    with pytest.raises(InputError, match=r"AdvisedArms.means must have shape \[2, 3\]"):
        validate(AdvisedArms(n_arms=3, n_experts=2, n_contexts=2, means=np.full((3, 2), 0.5)))
