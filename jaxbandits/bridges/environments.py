"""Conversion of environments to those of Gymnasium, which is imported by the conversion alone."""

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
    try:
        from jaxbandits.bridges.gymnasium_env import BanditEnv
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "gymnasium":
            raise
        raise InputError("this needs gymnasium: pip install 'jaxbandits[bridges]'") from None
    return BanditEnv(environment, horizon, seed)
