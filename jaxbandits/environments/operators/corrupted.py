"""Corrupted rewards: an adversary changes the rewards that the learner receives in some of the first rounds.

    received_t = factor reward_t + shift   if t < rounds, with probability `rate`;   received_t = reward_t otherwise

A factor of -1 flips the sign (the usual attack, by which the parameter appears to be -theta*), a factor of 1 with a
shift produces outliers, and a factor of 0 without a shift hides the reward. Regret is computed from the true means. The
metric `corruption`, the sum of |received_t - reward_t|, is the quantity C of the theory (T. Lykouris, V. Mirrokni, R.
Paes Leme, STOC 2018; for linear bandits I. Bogunovic, A. Losalka, A. Krause, J. Scarlett, AISTATS 2021).
"""

import collections
import dataclasses
import functools
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.environments.operators.operator import Operator, example_environment, require_single_reward
from jaxbandits.numerics import rng
from jaxbandits.types import Decision, Feedback, Obs, Outcome, State


@pytree
class Corrupted(Operator):
    """Environment whose rewards are changed before the learner receives them, independently of the decisions.

    If the wrapped environment is corrupted as well, this operator changes the rewards that are received from it; each
    operator changes the rewards of its own `rounds` with its own `rate`. The metric `corruption` has the total change
    of each reward, relative to the reward without any of the operators.
    """

    source: ClassVar[str] = "any bandit; Lykouris, Mirrokni & Paes Leme, STOC 2018"
    environment: Any = param(doc="environment whose rewards are changed")
    rounds: ArrayLike = param(float("inf"), "[0, inf]", "number of rounds at the start that may be corrupted")
    rate: ArrayLike = param(1.0, "[0, 1]", "probability with which each of these rounds is corrupted")
    factor: ArrayLike = param(
        -1.0, "(-inf, inf)", "factor; a changed reward is factor times the true reward, plus shift"
    )
    shift: ArrayLike = param(0.0, "(-inf, inf)", "shift that is added to a changed reward")

    @classmethod
    def example(cls) -> "Corrupted":
        return cls(environment=example_environment(), rounds=20.0, rate=0.5)

    def step(
        self, key: jax.Array, t: jax.Array, state: State, obs: Obs, decision: Decision
    ) -> tuple[State, Feedback, Outcome]:
        before = state
        state, feedback, outcome = self.environment.step(key, t, state, obs, decision)
        reward = true_reward = require_single_reward(self, feedback).reward
        changed = (t < self.rounds) & rng.bernoulli(self._own(key), self.rate)
        received = jnp.where(changed, self.factor * reward + self.shift, reward)
        if _is_corrupted(self.environment):
            # Two changes may cancel each other, so that the amounts of several operators do not add up.
            uncorrupted = _without_corruption(self.environment)
            _, true_feedback, outcome = uncorrupted.step(key, t, before, obs, decision)
            true_reward = true_feedback.reward
        amount = jnp.abs(received - true_reward)
        if "corruption" in outcome._fields:
            outcome = outcome._replace(corruption=outcome.corruption + amount)
        else:
            outcome = _with_corruption(type(outcome))(*outcome, amount)
        return state, feedback._replace(reward=received), outcome

    @property
    def reward_range(self) -> tuple[ArrayLike, ArrayLike] | None:
        """Interval that contains true and changed rewards; None if the range of the true rewards is not known."""
        inside = super().reward_range
        if inside is None:
            return None
        first, second = (self.factor * end + self.shift for end in inside)
        return np.minimum(inside[0], np.minimum(first, second)), np.maximum(inside[1], np.maximum(first, second))

    @property
    def units(self) -> dict[str, str]:
        """Units of the wrapped environment; corruption has the unit of rewards."""
        return {"corruption": "reward"} | super().units


def _is_corrupted(environment: Any) -> bool:
    """Return True if an environment is a `Corrupted`, or has one inside."""
    while isinstance(environment, Operator) and not isinstance(environment, Corrupted):
        environment = environment.environment
    return isinstance(environment, Corrupted)


def _without_corruption(environment: Any) -> Any:
    """Return an environment in which every `Corrupted` has rate 0; the streams of all operators stay the same."""
    if not isinstance(environment, Operator):
        return environment
    changes = {"rate": 0.0} if isinstance(environment, Corrupted) else {}
    inside = _without_corruption(environment.environment)
    return dataclasses.replace(environment, environment=inside, **changes)  # pyright: ignore[reportArgumentType]


@functools.cache
def _with_corruption(outcome: type) -> Any:
    fields: tuple[str, ...] = getattr(outcome, "_fields")  # noqa: B009 (`type` cannot express a NamedTuple)
    return collections.namedtuple(outcome.__name__, (*fields, "corruption"))


def with_corruption(
    environment: Any,
    rounds: ArrayLike = float("inf"),
    rate: ArrayLike = 1.0,
    factor: ArrayLike = -1.0,
    shift: ArrayLike = 0.0,
) -> Corrupted:
    """Return the environment with rewards that are changed in the first `rounds` rounds (`Corrupted`)."""
    return Corrupted(environment=environment, rounds=rounds, rate=rate, factor=factor, shift=shift)
