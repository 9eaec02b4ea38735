"""Conversion of environments to those of Gymnasium, which is imported by the conversion alone."""

import contextlib
from collections.abc import Iterator
from typing import Any

from jaxbandits.base.errors import InputError


def to_gymnasium(environment: Any, horizon: int, *, seed: int = 0) -> Any:
    """Return a `gymnasium.Env` that plays one trial of a bandit environment per episode.

    The action is the number of an arm. The observation is the context `[p]`, the features of the arms `[K, d]`, or a
    zero where the environment shows neither; `info["action_mask"]` marks the arms that may be played if some may not.
    `info` has the outcome of the round, such as `info["regret"]`. An episode is truncated at the horizon and never
    terminates. `reset(seed=s)` plays the trial with seed index s: its instance and noise are those of `simulate`.

    Args:
      environment: shows arms and pays rewards.
      horizon: rounds of an episode.
      seed: base seed, as for `simulate`.

    Raises:
      InputError: for another environment, or if Gymnasium is missing.
    """
    with _naming_extra():
        from jaxbandits.bridges.gymnasium_env import BanditEnv
    return BanditEnv(environment, horizon, seed)


def to_func_env(environment: Any, horizon: int) -> Any:
    """Return a `gymnasium.experimental.functional.FuncEnv` of a bandit environment: pure functions for JAX.

        state  = env.initial(key)                        instance and first observation
        after  = env.transition(state, action, key)      plays an arm; draws the reward and the next observation
        obs    = env.observation(after, key)             the context [p], the features [K, d], or a zero [1]
        reward = env.reward(state, action, after, key)   [], stored by `transition`, like the outcome of the round

    All of them work under `jax.jit`, `jax.vmap` and `jax.lax.scan`. Only `initial` and `transition` read their key, so
    that observation, reward and outcome of a round belong together. No state is terminal; `state_info(state)` has
    `truncated`, True from the horizon on, and `transition_info` has the outcome, such as `regret`, besides.

    `env.trial_key(i)` is the key of the trial with seed index i: if `initial` and every `transition` receive it, the
    instance, the noise and the contexts are those of `simulate`. Other keys in each round draw anew.

    The optional argument `params` of each function is an environment whose fields replace those of `environment`.

    Args:
      environment: shows arms and pays rewards.
      horizon: rounds of an episode.

    Raises:
      InputError: for another environment, or if Gymnasium is missing.
    """
    with _naming_extra():
        from jaxbandits.bridges.functional_env import BanditFuncEnv
    return BanditFuncEnv(environment, horizon)


@contextlib.contextmanager
def _naming_extra() -> Iterator[None]:
    """Name the extra that installs Gymnasium if it is missing."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "gymnasium":
            raise
        raise InputError("this needs gymnasium: pip install 'jaxbandits[bridges]'") from None
