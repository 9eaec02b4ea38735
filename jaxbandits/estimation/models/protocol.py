"""Protocol of reward models: the methods that exploration rules may call.

    f_k = E[mean reward of arm k | data],   w_k = its posterior standard deviation
    sample: a joint draw of all K means

Like an algorithm, a model is a frozen pytree with pure functions. `init`, `predict` and `update` are required; the
other methods are optional, and `Bandit` rejects a rule that needs a method which the model does not define. A wrapper
defines an optional method as a property that reads the method of the inner model, so that the wrapper has the method
only if the inner model has it.

| method                                            | returns                             | needed by                |
|---------------------------------------------------|-------------------------------------|--------------------------|
| `init(key)`                                       | state before the first round        | all                      |
| `init_from_obs(state, obs)`                       | state, from the arms of round 0     | models of fixed arms     |
| `predict(state, obs)`                             | `[K]` f                             | all                      |
| `update(key, t, state, obs, decision, reward)`    | next state                          | all                      |
| `width(state, obs)`                               | `[K]` w >= 0, without a multiplier  | optimism, elimination    |
| `sample(key, state, obs)`                         | `[K]` one joint draw                | Thompson sampling        |
| `samples(key, state, obs, count)`                 | `[count, K]` independent draws      | IDS, V-IDS; if faster    |
| `noise(state)`                                    | `[]` or `[K]` std of a reward       | IDS, knowledge gradient  |
| `information(state)`                              | `[]` or `[K]` gamma_t               | self-normalised radii    |
| `draw_prior(key, state)`                          | first state, estimate drawn         | Ensemble                 |
| `previous_epoch(t)`                               | `[]` rounds of the previous epoch   | FALCON                   |
| `fit(moments)`                                    | state after rounds with these sums  | NeuralLinear; if faster  |
| `coefficients(state)`                             | `[d]` or `[d, K]` posterior mean    | with `fit_noise`         |
| `fit_noise(state, squares)`                       | state with these squared residuals  | unknown noise, in `fit`  |

"If faster" marks methods that only save time. `fit` takes the `estimation.moments.Moments` of all rounds, with a
trailing axis `[..., K]` if the model reads a context. A model that estimates the noise variance also has `fit_noise`,
whose argument `squares` is the sum of squared residuals at `coefficients(state)`. If `init_from_obs` serves only to
make `predict` and `width` faster for fixed arms, the model sets `init_from_obs_is_for_widths = True`; `Bandit` then
calls the method only for rules that need widths.

A model that itself uses no random numbers in `init` and `update` sets `has_fixed_start = True`. `Ensemble` then refuses
settings with which all its members would be equal.

The attribute `reads_context` states which observation a model reads: a `ContextObs` if True, and an `ArmObs` with
features `[K, d]` if False.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.types import ArmDecision, Obs, State

_REQUIRED = ("init", "predict", "update", "reads_context")


class Model(Protocol):
    """Model of the mean rewards of arms; the docstring of its module lists further, optional methods."""

    @property
    def reads_context(self) -> bool:
        """True if the model reads the context that all arms share, False if it reads features of arms."""
        ...

    def init(self, key: jax.Array) -> State:
        """Return the state before the first round."""
        ...

    def predict(self, state: State, obs: Obs) -> jax.Array:
        """Return the estimated mean rewards `[K]` of the arms."""
        ...

    def update(
        self, key: jax.Array, t: jax.Array, state: State, obs: Obs, decision: ArmDecision, reward: jax.Array
    ) -> Any:
        """Return the next state.

        Args:
          key: `[]` random key of this call.
          t: `[]` int32, index of the round of the reward, starting at 0; the same for all trials.
          state: current state.
          obs: observation of round t.
          decision: arm played in round t.
          reward: `[]` reward of this arm.
        """
        ...


def check_model(name: str, model: Any) -> None:
    """Raise `InputError`, whose message begins with `name`, for an object that is not a model."""
    missing = [method for method in _REQUIRED if not hasattr(model, method)]
    if missing or isinstance(model, type):
        lacks = "is a class: pass an instance of it" if isinstance(model, type) else f"has no {missing[0]!r}"
        raise InputError(f"{name} must be a model such as models.Ridge(n_arms=3, dim=2); {format_value(model)} {lacks}")


def stores_rounds(model: Any) -> bool:
    """Return True if the model, or a model inside it, stores the rounds that it has learned from."""
    return any(getattr(part, "capacity", None) is not None for part in _parts(model))


def find_full_history_model(model: Any) -> Any:
    """Return the model, or the first model inside it, that stores rounds or learns in epochs; None if there is none.

    Such a model must learn from every round. A round that it leaves out would remain a row of zeros in its buffer, and
    would count as data; a model in epochs would miss the end of an epoch.
    """
    return next((part for part in _parts(model) if stores_rounds(part) or hasattr(part, "previous_epoch")), None)


def find_fixed_arms_model(model: Any) -> Any:
    """Return the innermost model if it is for the arms that `init_from_obs` receives, else None."""
    *_, inner = _parts(model)
    is_for_widths = getattr(inner, "init_from_obs_is_for_widths", False)
    return inner if hasattr(inner, "init_from_obs") and not is_for_widths else None


def find_shared_features_model(model: Any) -> Any:
    """Return the model, or the first model inside it, that reads a context and features of arms; None if none does."""
    return next((part for part in _parts(model) if hasattr(part, "shared_dim")), None)


def _parts(model: Any) -> Iterator[Any]:
    """Yield a model, its inner model, the inner model of that model, and so on."""
    while model is not None:
        yield model
        model = getattr(model, "model", None)


def has_fixed_start(model: Any) -> bool:
    """Return True if the model and all models inside it declare that they start and learn without random numbers."""
    return all(getattr(part, "has_fixed_start", False) for part in _parts(model))


def samples(model: Any, key: jax.Array, state: State, obs: Obs, count: int) -> jax.Array:
    """Return independent joint draws `[count, K]` of a model that has `samples` or `sample`."""
    if hasattr(model, "samples"):
        return model.samples(key, state, obs, count)
    return jax.vmap(lambda k: model.sample(k, state, obs))(jax.random.split(key, count))


def at(values: jax.Array, index: jax.Array) -> jax.Array:
    """Return the entry `[]` of values `[K]` at an index, without a gather."""
    return jnp.sum(jnp.where(jnp.arange(len(values)) == index, values, 0.0))
