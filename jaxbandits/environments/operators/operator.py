"""Base class of operators, which delegates instance, arms, admissibility and metrics to the wrapped environment.

An operator uses a separate random stream, which depends on the number of operators inside it. Instance, noise and inner
operators are therefore the same, bit for bit, with and without the outermost operator, so that runs with and without it
are paired. If an inner operator is removed, the draws of the operators around it change.
"""

import abc
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.types import (
    AdviceObs,
    ArmObs,
    Batches,
    BoundsHorizon,
    BoundsRewards,
    ContextObs,
    CountsRounds,
    Decision,
    Delays,
    Derives,
    Feedback,
    InHindsight,
    Obs,
    Outcome,
    Recommendation,
    State,
)

_OWN = 2**31 - 1  # large numbers, since environments use small ones to split keys and to count blocks of a key


class Operator:
    """Abstract operator that delegates to `environment`; a subclass defines `step` and can override other methods."""

    environment: Any

    def check(self) -> None:
        """Raise InputError if `environment` is not an environment, is a replay, or has metrics in hindsight."""
        name, inside = type(self).__name__, self.environment
        if not all(hasattr(inside, method) for method in ("init", "observe", "step")):
            raise InputError(f"{name}.environment must be an environment, got {type(inside).__name__}")
        if isinstance(inside, CountsRounds):
            raise InputError(f"{name}.environment must not be a replay that rejects rounds ({type(inside).__name__})")
        if isinstance(inside, InHindsight):
            raise InputError(f"{name} needs a bandit with arms and rewards, which {type(inside).__name__} is not")

    def init(self, key: jax.Array) -> State:
        return self.environment.init(key)

    def observe(self, key: jax.Array, t: jax.Array, state: State) -> Obs:
        obs = self.environment.observe(key, t, state)
        if not isinstance(obs, (ArmObs, ContextObs, AdviceObs)):
            name, inside = type(self).__name__, type(self.environment).__name__
            raise InputError(
                f"{name} needs an environment whose observations contain arms; {inside} returns {type(obs).__name__}"
            )
        return obs

    def admits(self, state: State, obs: Obs, decision: Decision) -> jax.Array:
        """Return True if the wrapped environment admits the decision, or if it does not define `admits`."""
        admits = getattr(self.environment, "admits", None)
        return jnp.ones((), bool) if admits is None else admits(state, obs, decision)

    def at_record(self, state: State, recommendation: Recommendation) -> dict[str, jax.Array]:
        """Return the metrics of the wrapped environment at a record point."""
        at_record = getattr(self.environment, "at_record", None)
        return {} if at_record is None else at_record(state, recommendation)

    def derive(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the derived metrics of the wrapped environment."""
        return self.environment.derive(values) if isinstance(self.environment, Derives) else {}

    def moved(self, state: State, theta: object) -> Any:
        """Return the instance of the wrapped environment with its parameter replaced by theta."""
        return self.environment.moved(state, theta)

    @property
    def dim(self) -> int | None:
        """Dimension of the arms, which must equal that of the learner; None if it is not known."""
        return getattr(self.environment, "dim", None)

    @property
    def decision_type(self) -> type | None:
        """`decision_type` of the wrapped environment."""
        return getattr(self.environment, "decision_type", None)

    @property
    def sees_collisions(self) -> bool:
        """`sees_collisions` of the wrapped environment."""
        return getattr(self.environment, "sees_collisions", True)

    @property
    def max_horizon(self) -> int | None:
        """`max_horizon` of the wrapped environment."""
        return self.environment.max_horizon if isinstance(self.environment, BoundsHorizon) else None

    @property
    def reward_range(self) -> tuple[ArrayLike, ArrayLike] | None:
        """`reward_range` of the wrapped environment."""
        return self.environment.reward_range if isinstance(self.environment, BoundsRewards) else None

    @property
    def feedback_delay(self) -> int:
        """`feedback_delay` of the wrapped environment."""
        return self.environment.feedback_delay if isinstance(self.environment, Delays) else 0

    @property
    def feedback_batch(self) -> int:
        """`feedback_batch` of the wrapped environment."""
        return self.environment.feedback_batch if isinstance(self.environment, Batches) else 1

    @property
    def delay_bound(self) -> int | None:
        """`delay_bound` of the wrapped environment."""
        return getattr(self.environment, "delay_bound", None)

    def draw_delay(self, key: jax.Array) -> jax.Array:
        """Return the random delay that the wrapped environment draws."""
        return self.environment.draw_delay(key)

    @property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """`axes` of the wrapped environment."""
        return dict(getattr(self.environment, "axes", {}))

    @property
    def may_be_missing(self) -> tuple[str, ...]:
        """`may_be_missing` of the wrapped environment."""
        return getattr(self.environment, "may_be_missing", ())

    @property
    def units(self) -> dict[str, str]:
        """`units` of the wrapped environment."""
        return dict(getattr(self.environment, "units", {}))

    def _own(self, key: jax.Array) -> jax.Array:
        """Return a key that neither the wrapped environment nor the operators inside it use."""
        depth, inside = 0, self.environment
        while isinstance(inside, Operator):
            depth, inside = depth + 1, inside.environment
        return jax.random.fold_in(key, _OWN - depth)


def example_environment() -> Any:
    """Return the environment that the examples of operators wrap."""
    from jaxbandits.environments.linear.heavy_tailed import HeavyTailed

    return HeavyTailed(dim=2, n_arms=5)


class LateOperator(Operator, abc.ABC):
    """Abstract operator that only delays feedback; the loop over rounds stores the delayed feedback."""

    @classmethod
    @abc.abstractmethod
    def example(cls) -> Self:
        """Return an example of the operator."""

    def step(
        self, key: jax.Array, t: jax.Array, state: State, obs: Obs, decision: Decision
    ) -> tuple[State, Feedback, Outcome]:
        state, feedback, outcome = self.environment.step(key, t, state, obs, decision)
        return state, require_reward(self, feedback), outcome


def require_reward(operator: Operator, feedback: Feedback) -> Any:
    """Return the feedback, after checking that it has a reward or the winner of a duel.

    Raises:
      InputError: if the feedback has neither.
    """
    if not {"reward", "won"} & {*getattr(feedback, "_fields", ())}:
        name, inside = type(operator).__name__, type(operator.environment).__name__
        raise InputError(
            f"{name} needs an environment whose feedback has a reward; {inside} returns {type(feedback).__name__}"
        )
    return feedback


def require_single_reward(operator: Operator, feedback: Any) -> Any:
    """Return the feedback, after checking that it has one reward per round.

    Raises:
      InputError: if the feedback has no reward or several.
    """
    name, inside = type(operator).__name__, type(operator.environment).__name__
    if not hasattr(require_reward(operator, feedback), "reward"):
        raise InputError(f"{name} needs an environment with one reward per round; {inside} has none")
    if jnp.ndim(feedback.reward):
        raise InputError(f"{name} needs an environment with one reward per round; {inside} has several")
    return feedback
