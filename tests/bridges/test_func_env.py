"""`to_func_env`: pure functions that play the trials of `simulate`, alone and in the wrappers of Gymnasium."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import armed, linear, oco, play
from jaxbandits.base.errors import InputError
from jaxbandits.bridges import to_func_env, to_gymnasium
from tests.bridges.test_gymnasium import ENVIRONMENTS, K, P, T

SEED, TRIAL = 7, 2


def run_episode(env, rng):
    """Play the arms in turn; return the states of all rounds."""

    def play_round(state, t):
        state = env.transition(state, t % K, rng)
        return state, state

    first = env.initial(rng)
    _, states = jax.lax.scan(play_round, first, jnp.arange(T))
    return first, states


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_with_the_key_of_a_trial_an_episode_is_this_trial(name):
    pytest.importorskip("gymnasium")
    environment, shape = ENVIRONMENTS[name]
    env, stepped = to_func_env(environment, T), to_gymnasium(environment, T, seed=SEED)
    assert env.observation_space.shape == shape and env.action_space.n == K
    first, states = jax.jit(lambda rng: run_episode(env, rng))(env.trial_key(TRIAL, seed=SEED))
    obs, info = stepped.reset(seed=TRIAL)
    np.testing.assert_allclose(env.observation(first), obs, rtol=1e-12)
    assert not env.state_info(first)["truncated"] and ("action_mask" in info) == (
        "action_mask" in env.state_info(first)
    )
    for t in range(T):
        obs, reward, terminated, truncated, info = stepped.step(t % K)
        state = jax.tree.map(lambda x, t=t: x[t], states)
        np.testing.assert_allclose(env.observation(state), obs, rtol=1e-12)
        assert env.reward(None, t % K, state) == pytest.approx(reward, rel=1e-11, abs=1e-14)
        found = env.transition_info(None, t % K, state)
        assert found.keys() == {"truncated", *info}
        assert found["regret"] == pytest.approx(info["regret"], rel=1e-11, abs=1e-14)
        for metric in info.keys() - {"regret"}:  # `inadmissible`, and `action_mask` if there is one
            np.testing.assert_array_equal(found[metric], info[metric])
        assert bool(env.terminal(state)) is terminated is False and bool(found["truncated"]) is truncated


def test_trials_side_by_side_are_those_of_play():
    pytest.importorskip("gymnasium")
    environment, _ = ENVIRONMENTS["contexts"]
    env, rewards = to_func_env(environment, T), []

    class Turns:
        def select(self, t, obs):
            return np.full(3, t % K)

        def update(self, t, obs, index, reward):
            rewards.append(reward)

    played = play(Turns(), environment, T, 3, seed=SEED, record_points=T, progress=False)
    keys = jnp.stack([env.trial_key(trial, seed=SEED) for trial in range(3)])
    _, states = jax.jit(jax.vmap(lambda rng: run_episode(env, rng)))(keys)
    np.testing.assert_allclose(states.reward, np.array(rewards).T, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(states.outcome["regret"].sum(axis=1), played.final("regret")[0], rtol=1e-11)


def test_fresh_keys_draw_fresh_noise_from_the_same_instance():
    pytest.importorskip("gymnasium")
    env = to_func_env(linear.HeavyTailed(dim=P, n_arms=K), T)
    state = jax.jit(env.initial)(env.trial_key(0))
    keys = jax.random.split(jax.random.PRNGKey(1), 200)
    after = jax.jit(jax.vmap(lambda rng: env.transition(state, 1, rng)))(keys)
    assert len(np.unique(after.reward)) == 200
    assert len(np.unique(after.outcome["regret"])) == 1


@pytest.mark.slow_after_first
@pytest.mark.parametrize("kind", ["raw", "typed", "rbg"])
def test_any_key_of_jax_will_do(kind):
    pytest.importorskip("gymnasium")
    env = to_func_env(ENVIRONMENTS["contexts"][0], T)
    make = {
        "raw": jax.random.PRNGKey,
        "typed": jax.random.key,
        "rbg": lambda seed: jax.random.key(seed, impl="rbg"),
    }[kind]
    env.transform(jax.jit)
    first, other = (env.observation(env.initial(make(seed))) for seed in (0, 1))
    assert first.shape == (P,) and not np.allclose(first, other)
    if kind == "typed":
        np.testing.assert_array_equal(first, env.observation(env.initial(jax.random.PRNGKey(0))))


def test_trial_keys_with_another_default_generator():
    """A raw key of two words belongs to Threefry, although the user's own keys have four."""
    pytest.importorskip("gymnasium")
    env, before = to_func_env(armed.BernoulliArms(n_arms=2), T), jax.config.jax_default_prng_impl
    usual = env.initial(env.trial_key(3))
    try:
        jax.config.update("jax_default_prng_impl", "rbg")
        found, own = env.initial(env.trial_key(3)), env.initial(jax.random.PRNGKey(3))
    finally:
        jax.config.update("jax_default_prng_impl", before)
    np.testing.assert_array_equal(found.env_state.theta, usual.env_state.theta)
    assert not np.array_equal(own.env_state.theta, usual.env_state.theta)


def test_parameters_are_environments():
    """A field can be swept by `vmap`, and differentiated."""
    pytest.importorskip("gymnasium")
    env = to_func_env(armed.BernoulliArms.from_means([0.5, 0.5]), T)
    key = env.trial_key(0)

    def regret(means):
        params = armed.BernoulliArms(n_arms=2, means=means)
        state = env.initial(key, params)
        return env.transition(state, 1, key, params).outcome["regret"]

    np.testing.assert_allclose(jax.jit(jax.vmap(regret))(jnp.array([[0.9, 0.2], [0.3, 0.3]])), [0.7, 0.0], rtol=1e-12)
    np.testing.assert_allclose(jax.jit(jax.grad(regret))(jnp.array([0.9, 0.2])), [1.0, -1.0], rtol=1e-12)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", ["coins", "features"])
def test_the_wrapper_for_one_episode(name):
    wrappers = pytest.importorskip("gymnasium.envs.functional_jax_env")
    gymnasium = pytest.importorskip("gymnasium")
    func_env = to_func_env(ENVIRONMENTS[name][0], T)
    func_env.transform(jax.jit)
    env = gymnasium.wrappers.TimeLimit(wrappers.FunctionalJaxEnv(func_env), T)
    rewards = []
    for _ in range(2):  # the same seed, the same episode
        obs, info = env.reset(seed=3)
        assert env.observation_space.contains(np.asarray(obs)) and not info["truncated"]
        for t in range(T):
            obs, reward, terminated, truncated, info = env.step(t % K)
            rewards.append(reward)
            assert not terminated and truncated == bool(info["truncated"]) == (t == T - 1)
    assert rewards[:T] == rewards[T:] and len(set(rewards)) > 1


def test_the_wrapper_for_many_episodes_restarts_them():
    wrappers = pytest.importorskip("gymnasium.envs.functional_jax_env")
    func_env = to_func_env(ENVIRONMENTS["features"][0], T)
    func_env.transform(jax.jit)
    env = wrappers.FunctionalJaxVectorEnv(func_env, 5, max_episode_steps=T)
    first, _ = env.reset(seed=3)
    for t in range(2 * T + 1):  # the step after the end of an episode restarts it
        obs, reward, terminated, truncated, info = env.step(np.arange(5) % K)
        assert obs.shape == (5, K, P) and info["regret"].shape == reward.shape == (5,)
        assert not terminated.any() and np.all(truncated == (t in (T - 1, 2 * T)))
        if t < T:
            np.testing.assert_array_equal(obs, first)  # the arms of an instance are fixed
        else:
            assert not np.allclose(obs, first)


def test_wrong_environments_are_refused():
    pytest.importorskip("gymnasium")
    with pytest.raises(InputError, match="to_func_env needs an environment with arms"):
        to_func_env(oco.QuadraticLosses(dim=2), T)
    with pytest.raises(InputError, match="horizon must be"):
        to_func_env(ENVIRONMENTS["coins"][0], 0)
    with pytest.raises(InputError, match="trial must be"):
        to_func_env(ENVIRONMENTS["coins"][0], T).trial_key(-1)


def test_without_gymnasium_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "jaxbandits.bridges.functional_env", raising=False)
    with pytest.raises(InputError, match="this needs gymnasium: pip install"):
        to_func_env(ENVIRONMENTS["coins"][0], T)
