"""Functional Gymnasium environments made from environments of this package, for learners that JAX compiles."""

from typing import Any, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces  # pyright: ignore[reportMissingImports]
from gymnasium.experimental.functional import FuncEnv  # pyright: ignore[reportMissingImports]

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays
from jaxbandits.bridges.feedback import check_immediate_feedback
from jaxbandits.engine.jobs import check_environment
from jaxbandits.engine.loop import TrialKeys, split_trial_key
from jaxbandits.engine.meters import Round
from jaxbandits.engine.options import COUNT, MAX_SEED
from jaxbandits.engine.recording import measure
from jaxbandits.numerics.rng import fold_in
from jaxbandits.tracing.settings import own_settings
from jaxbandits.types import ArmDecision, ContextObs, Obs, Reward, State, narrow

T = TypeVar("T")

_IMPL = "threefry2x32"  # random number generator of all draws of this package


class EpisodeState(NamedTuple):
    """State of a trial between two rounds, with the reward and the outcome of the last round."""

    t: jax.Array  # [] int32, number of rounds played
    env_state: State  # state of the environment
    obs: Obs  # observation of round t
    reward: jax.Array  # [] reward of round t - 1; 0 in round 0
    outcome: dict[str, jax.Array]  # metrics of round t - 1, such as `regret` []; zeros in round 0

    @property
    def at(self) -> "_Slices[EpisodeState]":
        """Property for indexed updates of all arrays, like `jax.Array.at`; Gymnasium's vector environments need it."""
        return _Slices(self)


class _Slices(Generic[T]):
    """Indexed updates of a pytree: `tree.at[index].set(values)`."""

    def __init__(self, tree: T, index: Any = ()):
        self._tree, self._index = tree, index

    def __getitem__(self, index: Any) -> "_Slices[T]":
        return _Slices(self._tree, index)

    def set(self, values: T) -> T:
        """Return the pytree after setting the entries of each array at the index to those of `values`."""
        return jax.tree.map(lambda x, y: x.at[self._index].set(y), self._tree, values)


class BanditFuncEnv(FuncEnv):
    """Bandit environment as pure functions of a state and a key; `to_func_env` constructs and describes it."""

    @own_settings()
    def __init__(self, environment: Any, horizon: int):
        self._horizon = ranges.integer("horizon", horizon, COUNT)
        check_environment(type(environment).__name__, environment, self._horizon)
        check_immediate_feedback(environment)
        self._environment = environment
        super().__init__()
        first = jax.eval_shape(self._start, jax.random.key(0), as_arrays(environment))
        shown = jax.eval_shape(_features, first.obs)
        has_features = isinstance(first.obs, ContextObs) or first.obs.arms.ndim == 2
        bound = np.inf if has_features else 1.0  # without features the observation is a zero
        self.action_space = spaces.Discrete(first.obs.arms.shape[0])
        self.observation_space = spaces.Box(-bound, bound, shown.shape, np.dtype(shown.dtype))

    def get_default_params(self, **kwargs: Any) -> Any:
        """Return the environment itself, which serves as the parameters of `FuncEnv`."""
        return self._environment

    @own_settings()
    def initial(self, rng: Any, params: Any = None) -> EpisodeState:
        """Return the state before the first round, with a random instance and the first observation."""
        return self._start(rng, self._params(params))

    @own_settings()
    def transition(self, state: EpisodeState, action: Any, rng: Any, params: Any = None) -> EpisodeState:
        """Return the state after playing an arm; the key determines the reward and the next observation."""
        return self._play(state, action, rng, self._params(params))

    @own_settings()
    def observation(self, state: EpisodeState, rng: Any = None, params: Any = None) -> jax.Array:
        """Return the context `[p]`, the features of the arms `[K, d]`, or a zero `[1]` if there are neither."""
        return _features(state.obs)

    def reward(
        self, state: EpisodeState, action: Any, next_state: EpisodeState, rng: Any = None, params: Any = None
    ) -> jax.Array:
        """Return the reward `[]` that `transition` stored in the next state."""
        return next_state.reward

    def terminal(self, state: EpisodeState, rng: Any = None, params: Any = None) -> jax.Array:
        """Return `[]` False: a bandit has no terminal state."""
        return jnp.zeros_like(state.t, bool)

    def state_info(self, state: EpisodeState, params: Any = None) -> dict[str, jax.Array]:
        """Return a dict of `truncated` `[]`, True from the horizon on, and `action_mask` `[K]` if arms have a mask."""
        mask = {} if state.obs.mask is None else {"action_mask": jnp.asarray(state.obs.mask, jnp.int8)}
        return {"truncated": state.t >= self._horizon, **mask}

    def transition_info(
        self, state: EpisodeState, action: Any, next_state: EpisodeState, params: Any = None
    ) -> dict[str, jax.Array]:
        """Return a dict of the outcome of the round, such as `regret` `[]`, and of `state_info` of the next state."""
        return {**next_state.outcome, **self.state_info(next_state)}

    def trial_key(self, trial: int, *, seed: int = 0) -> jax.Array:
        """Return the key `[2]` uint32 that gives a trial of `simulate` if `initial` and every `transition` receive it.

        Args:
          trial: global seed index of the trial.
          seed: base seed, as in `simulate`.
        """
        index = ranges.integer("trial", trial, f"[0, {MAX_SEED}]")
        base = jax.random.key(ranges.integer("seed", seed, "[0, 4294967295]"), impl=_IMPL)
        return jax.random.key_data(jax.random.fold_in(base, index))

    def _params(self, params: Any) -> Any:
        return as_arrays(self.default_params if params is None else params)

    def _start(self, rng: Any, environment: Any) -> EpisodeState:
        keys, t = _trial_keys(rng), jnp.int32(0)
        env_state = environment.init(keys.env_init)
        obs = self._observe(keys, t, env_state, environment)
        played = jax.eval_shape(self._step, keys, t, env_state, obs, jnp.int32(0), environment)
        reward, outcome = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), played[1:])
        return EpisodeState(t=t, env_state=env_state, obs=obs, reward=reward, outcome=outcome)

    def _play(self, state: EpisodeState, action: Any, rng: Any, environment: Any) -> EpisodeState:
        keys, t = _trial_keys(rng), state.t
        index = jnp.asarray(action, jnp.int32)
        env_state, reward, outcome = self._step(keys, t, state.env_state, state.obs, index, environment)
        obs = self._observe(keys, t + 1, env_state, environment)
        return EpisodeState(t=t + 1, env_state=env_state, obs=obs, reward=reward, outcome=outcome)

    def _step(
        self, keys: TrialKeys, t: jax.Array, env_state: State, obs: Obs, index: jax.Array, environment: Any
    ) -> tuple[State, jax.Array, dict[str, jax.Array]]:
        decision = ArmDecision(index, obs.arms[index])
        next_state, feedback, outcome = environment.step(fold_in(keys.step, t), t, env_state, obs, decision)
        played = Round(
            t=t,
            algorithm=None,
            environment=environment,
            env_state=env_state,
            state=None,
            next_state=None,
            obs=obs,
            decision=decision,
            feedback=feedback,
            outcome=outcome,
        )
        metrics = {metric.name: value for metric, value in measure((), played).items()}
        return next_state, *as_arrays((narrow(feedback, Reward).reward, metrics))

    def _observe(self, keys: TrialKeys, t: jax.Array, env_state: State, environment: Any) -> Obs:
        obs = environment.observe(fold_in(keys.observe, t), t, env_state)
        if not hasattr(obs, "arms"):
            name = type(environment).__name__
            raise InputError(
                f"to_func_env needs an environment with arms and rewards; the observation of {name} has no arms"
            )
        return as_arrays(obs)


def _trial_keys(rng: jax.Array) -> TrialKeys:
    """Return the keys of a trial, derived from a JAX key, typed or raw, of any generator."""
    key = rng
    if not jnp.issubdtype(rng.dtype, jax.dtypes.prng_key):
        # The key that `trial_key` returns belongs to Threefry, also if JAX's default is a generator with longer keys.
        key = jax.random.wrap_key_data(rng, impl=_IMPL if rng.shape == (2,) else None)
    if str(jax.random.key_impl(key)) != _IMPL:
        key = jax.random.wrap_key_data(jax.random.bits(key, (2,), jnp.uint32), impl=_IMPL)
    return split_trial_key(key)


def _features(obs: Obs) -> jax.Array:
    """Return the context `[p]`, the features of the arms `[K, d]`, or a zero `[1]` if there are neither."""
    if isinstance(obs, ContextObs):
        return obs.context
    return obs.arms if obs.arms.ndim == 2 else jnp.zeros(1)
