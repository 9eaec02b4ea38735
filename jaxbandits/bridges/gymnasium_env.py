"""Gymnasium environments made from environments of this package, for learners that are written for Gymnasium."""

from typing import Any, ClassVar

import gymnasium  # pyright: ignore[reportMissingImports]
import jax
import numpy as np
from gymnasium import spaces  # pyright: ignore[reportMissingImports]

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.bridges.feedback import check_immediate_feedback
from jaxbandits.engine.host_rounds import HostRounds, host_job
from jaxbandits.engine.jobs import check_environment
from jaxbandits.engine.options import COUNT
from jaxbandits.tracing.settings import own_settings
from jaxbandits.types import ContextObs


class BanditEnv(gymnasium.Env):
    """Gymnasium environment that plays one trial per episode; `to_gymnasium` constructs and describes it."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    @own_settings()
    def __init__(self, environment: Any, horizon: int, seed: int = 0):
        name = type(environment).__name__
        self._horizon = ranges.integer("horizon", horizon, COUNT)
        check_environment(name, environment, self._horizon)
        check_immediate_feedback(environment)
        job = host_job(name, environment, self._horizon, np.array([self._horizon]), 1)
        self._rounds = HostRounds(job, ranges.integer("seed", seed, "[0, 4294967295]"), jax.local_devices()[0])
        self._t = self._horizon  # `reset` starts the first episode
        shape = self._observation(self._rounds.start().obs).shape
        self.action_space = spaces.Discrete(self._rounds.n_arms)
        bound = np.inf if self._rounds.dim else 1.0  # without features the observation is a zero
        self.observation_space = spaces.Box(-bound, bound, shape, np.float64)

    @own_settings()
    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Start the trial with seed index `seed` (None: a random one), and return the first observation and `info`."""
        super().reset(seed=seed)
        trial = int(self.np_random.integers(2**31)) if seed is None else seed % 2**31
        view = self._rounds.start(trial)
        self._t = 0
        return self._observation(view.obs), {"trial": trial, **self._mask(view.obs)}

    @own_settings()
    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play an arm, and return (observation, reward, terminated, truncated, `info`).

        `info` has the outcome of the round, such as `regret`.

        Raises:
          InputError: if the action is not an arm, or if no episode is running: before the first `reset`, or after the
            round that was truncated.
        """
        index = np.array([ranges.integer("action", action, f"[0, {self._rounds.n_arms - 1}]")])
        if self._t >= self._horizon:
            raise InputError(
                f"an episode starts with reset() and is truncated after {self._horizon} rounds: call reset() first"
            )
        receipt, view = self._rounds.step(self._t, index)
        outcome = {metric.name: x[0] for metric, x in self._rounds.record().items() if metric.reduction == "sum"}
        self._t += 1
        info = {name: float(x) if np.ndim(x) == 0 else x for name, x in outcome.items()} | self._mask(view.obs)
        return self._observation(view.obs), float(receipt.reward[0]), False, self._t >= self._horizon, info

    def _observation(self, obs: Any) -> np.ndarray:
        """Return the context `[p]`, the features of the arms `[K, d]`, or a zero `[1]` if there are neither."""
        if isinstance(obs, ContextObs):
            return np.array(obs.context[0], np.float64)
        return np.array(obs.arms[0], np.float64) if obs.arms.ndim == 3 else np.zeros(1)

    def _mask(self, obs: Any) -> dict[str, Any]:
        return {} if obs.mask is None else {"action_mask": np.array(obs.mask[0], np.int8)}
