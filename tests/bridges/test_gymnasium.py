"""`to_gymnasium`: Gymnasium's own checker, and the trials of `simulate`."""

import sys

import numpy as np
import pytest

from jaxbandits import armed, contextual, linear, oco, play, pytree
from jaxbandits.base.errors import InputError
from jaxbandits.bridges import to_gymnasium

K, P, T = 4, 3, 10


@pytree
class MaskedContexts(contextual.LinearContexts):
    def observe(self, key, t, state):
        return super().observe(key, t, state)._replace(mask=np.arange(self.n_arms) != 0)


ENVIRONMENTS = {
    "coins": (armed.BernoulliArms.from_means([0.9, 0.6, 0.3, 0.2]), (1,)),
    "contexts": (contextual.LinearContexts(n_arms=K, dim=P), (P,)),
    "features": (linear.HeavyTailed(dim=P, n_arms=K), (K, P)),
    "masked": (MaskedContexts(n_arms=K, dim=P), (P,)),
}


@pytest.mark.filterwarnings("ignore:.*A Box observation space m")  # contexts have no bounds
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_checker_of_gymnasium_passes(name):
    checker = pytest.importorskip("gymnasium.utils.env_checker")
    environment, shape = ENVIRONMENTS[name]
    env = to_gymnasium(environment, T)
    checker.check_env(env, skip_render_check=True)
    assert env.observation_space.shape == shape and env.action_space.n == K


def test_an_episode_is_the_trial_of_its_seed():
    pytest.importorskip("gymnasium")
    environment, _ = ENVIRONMENTS["contexts"]
    contexts, rewards = [], []

    class Turns:
        def select(self, t, obs):
            contexts.append(obs.context[2])
            return np.full(3, t % K)

        def update(self, t, obs, index, reward):
            rewards.append(reward[2])

    played = play(Turns(), environment, T, 3, seed=7, progress=False)
    env = to_gymnasium(environment, T, seed=7)
    for _ in range(2):  # a second episode starts anew
        obs, info = env.reset(seed=2)
        assert info == {"trial": 2}
        regret = 0.0
        for t in range(T):
            np.testing.assert_array_equal(obs, contexts[t])
            obs, reward, terminated, truncated, info = env.step(t % K)
            assert reward == rewards[t] and not terminated and truncated == (t == T - 1)
            regret += info["regret"]
        assert regret == pytest.approx(played.final("regret")[0, 2], rel=1e-12)


def test_seeds_are_drawn_where_none_is_given():
    pytest.importorskip("gymnasium")
    env = to_gymnasium(ENVIRONMENTS["coins"][0], T)
    env.reset(seed=5)
    first = [env.reset()[1]["trial"] for _ in range(2)]
    env.reset(seed=5)
    assert [env.reset()[1]["trial"] for _ in range(2)] == first and first[0] != first[1]


def test_masks_are_info():
    pytest.importorskip("gymnasium")
    env = to_gymnasium(ENVIRONMENTS["masked"][0], T)
    assert env.reset(seed=0)[1]["action_mask"].tolist() == [0, 1, 1, 1]
    assert env.step(1)[4]["action_mask"].tolist() == [0, 1, 1, 1]


def test_what_cannot_be_converted_is_refused():
    pytest.importorskip("gymnasium")
    with pytest.raises(InputError, match="play needs an environment with arms"):
        to_gymnasium(oco.QuadraticLosses(dim=2), T)
    with pytest.raises(InputError, match="action must be"):
        to_gymnasium(ENVIRONMENTS["coins"][0], T).step(K)


def test_a_round_outside_an_episode_is_refused():
    pytest.importorskip("gymnasium")
    env = to_gymnasium(ENVIRONMENTS["coins"][0], 2)
    message = r"an episode starts with reset\(\) and is truncated after 2 rounds: call reset\(\) first"
    for _ in range(2):
        with pytest.raises(InputError, match=message) as error:  # before the first episode, and after the last round
            env.step(0)
        assert "\n" not in str(error.value)
        env.reset(seed=1)
        assert [env.step(0)[3] for _ in range(2)] == [False, True]


def test_without_gymnasium_the_error_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "jaxbandits.bridges.gymnasium_env", raising=False)
    with pytest.raises(InputError, match="this needs gymnasium: pip install"):
        to_gymnasium(ENVIRONMENTS["coins"][0], T)
