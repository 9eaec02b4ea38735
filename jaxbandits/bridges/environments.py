"""Conversion of environments to Gymnasium environments; Gymnasium is imported only when a function is called."""

import contextlib
from collections.abc import Iterator
from typing import Any

from jaxbandits.base.errors import InputError


def to_gymnasium(environment: Any, horizon: int, *, seed: int = 0) -> Any:
    """Return a `gymnasium.Env` that plays one trial of a bandit environment per episode.

    The action is the index of an arm. The observation is the context `[p]`, the features of the arms `[K, d]`, or an
    array of one zero if the environment has neither. If some arms may not be played, `info["action_mask"]` marks the
    available arms. `info` also has the outcome of the round, such as `info["regret"]`. An episode is truncated at the
    horizon and never terminates. `reset(seed=s)` starts the trial with seed index s, whose instance and noise are those
    of the same trial of `simulate`.

    Args:
      environment: a bandit environment, with arms and rewards.
      horizon: number of rounds of an episode.
      seed: base seed, as in `simulate`.

    Raises:
      InputError: if the environment is not a bandit with arms and rewards, if its feedback is delayed or it skips
        rounds, or if Gymnasium is missing.
    """
    with _naming_extra():
        from jaxbandits.bridges.gymnasium_env import BanditEnv
    return BanditEnv(environment, horizon, seed)


def to_func_env(environment: Any, horizon: int) -> Any:
    """Return a `gymnasium.experimental.functional.FuncEnv` for a bandit environment: pure functions for JAX.

        state  = env.initial(key)                        instance and first observation
        after  = env.transition(state, action, key)      plays an arm; draws the reward and the next observation
        obs    = env.observation(after, key)             the context [p], the features [K, d], or a zero [1]
        reward = env.reward(state, action, after, key)   the reward [], which `transition` stores in `after`

    All of these functions work under `jax.jit`, `jax.vmap` and `jax.lax.scan`. Only `initial` and `transition` use
    their key, so that observation, reward and outcome of a round are consistent. No state is terminal.
    `state_info(state)` has the entry `truncated`, which is True from the horizon on; `transition_info` also has the
    outcome of the round, such as `regret`.

    `env.trial_key(i)` is the key of the trial with seed index i: if `initial` and every `transition` receive this key,
    the instance, the noise and the contexts are those of the same trial of `simulate`. With other keys, the draws are
    independent of those of `simulate`.

    The optional argument `params` of each function is an environment whose fields replace those of `environment`.

    Args:
      environment: a bandit environment, with arms and rewards.
      horizon: number of rounds of an episode.

    Raises:
      InputError: if the environment is not a bandit with arms and rewards, if its feedback is delayed or it skips
        rounds, or if Gymnasium is missing.
    """
    with _naming_extra():
        from jaxbandits.bridges.functional_env import BanditFuncEnv
    return BanditFuncEnv(environment, horizon)


@contextlib.contextmanager
def _naming_extra() -> Iterator[None]:
    """Convert the ImportError for a missing Gymnasium to an InputError that names the extra to install."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "gymnasium":
            raise
        raise InputError("this needs gymnasium: pip install 'jaxbandits[bridges]'") from None
