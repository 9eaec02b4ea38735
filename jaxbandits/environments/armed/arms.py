"""Abstract stochastic bandit with K arms; concrete classes define the distribution of the rewards."""

import abc
from typing import ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, FieldValue, field_table, lists_to_arrays, param, pytree, static, validate
from jaxbandits.environments.outcomes import RegretOutcome
from jaxbandits.estimation.arms import largest
from jaxbandits.numerics import rng
from jaxbandits.types import ArmDecision, IndexObs, Reward


class ArmsState(NamedTuple):
    """Problem instance, which is constant within a trial unless the means drift."""

    theta: jax.Array  # [K]  mean of every arm
    best: jax.Array  # []  largest mean


@pytree
class Arms(abc.ABC):
    """Abstract bandit whose arms have fixed means.

    `operators.with_drift`, which lets the means drift, uses the method `moved`.
    """

    units: ClassVar = {"regret": "reward", "simple_regret": "reward", "stopping_time": "rounds"}
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")
    means: ArrayLike | None = param(
        None, "(-inf, inf)", "[K] means; None to draw them in every trial, uniformly from [0, 1]"
    )
    gap: ArrayLike | None = param(
        None, "[0, inf)", "difference between the mean of the first arm and the mean of every other arm"
    )
    best: ArrayLike | None = param(None, "(-inf, inf)", "mean of the first arm, if gap is given")

    def __post_init__(self) -> None:
        lists_to_arrays(self, "means")

    @classmethod
    def from_means(cls, means: object, **settings: FieldValue) -> Self:
        """Return an environment with given means `[K]`, which are the same in all trials.

        Args:
          means: `[K]` mean of each arm.
          **settings: values of other fields.

        Raises:
          InputError: if the means are not finite numbers in the range that this class allows.
        """
        means = ranges.floats(f"{cls.__name__}.means", means, "(K,)")
        made = cls(n_arms=len(means), means=means, **settings)
        validate(made)
        return made

    @classmethod
    def from_gap(cls, *, gap: ArrayLike, n_arms: int, best: ArrayLike = 0.5, **settings: FieldValue) -> Self:
        """Return an environment whose first arm is better than all other arms by the same gap, in all trials.

        The gap may be swept: `grid={"environment.gap": [0.05, 0.1, 0.2]}`.

        Args:
          gap: difference between means, at least 0; the means of the other arms are `best - gap`.
          n_arms: K, number of arms.
          best: mean of the first arm.
          **settings: values of other fields.

        Raises:
          InputError: if a mean is outside the range that this class allows.
        """
        made = cls(n_arms=n_arms, gap=gap, best=best, **settings)
        validate(made)
        return made

    @classmethod
    def example(cls) -> Self:
        return cls(n_arms=5)

    @abc.abstractmethod
    def pay(self, key: jax.Array, mean: jax.Array) -> jax.Array:
        """Draw the reward `[]` of an arm whose mean is `mean`."""

    def check(self) -> None:
        """Raise InputError if there are not `n_arms` means, a mean is out of range, or `means` and `gap` are given."""
        if self.means is not None and np.shape(self.means)[-1:] != (self.n_arms,):
            name = f"{type(self).__name__}.means"
            raise InputError(f"{name} must have shape [{self.n_arms}], got {np.shape(self.means)}")
        if (self.gap is None) != (self.best is None) or (self.gap is not None and self.means is not None):
            raise InputError(f"{type(self).__name__} takes either means, or gap and best (from_gap), or none of these")
        if self.gap is not None:
            allowed = next(field.range for field in field_table(type(self)) if field.name == "means")
            for means in (self.best, np.asarray(self.best, float) - np.asarray(self.gap, float)):
                ranges.numbers(f"{type(self).__name__}: best and best - gap", means, str(allowed))

    def init(self, key: jax.Array) -> ArmsState:
        if self.gap is not None and self.best is not None:
            means = self.best - jnp.where(jnp.arange(self.n_arms) == 0, 0.0, self.gap)
        elif self.means is None:
            means = rng.uniforms(key, self.n_arms)
        else:
            means = jnp.asarray(self.means, jnp.result_type(float))
        return ArmsState(means, largest(means))

    def moved(self, state: ArmsState, theta: jax.Array) -> ArmsState:
        """Return the instance with its means replaced by theta `[K]`."""
        del state
        return ArmsState(theta, largest(theta))

    def observe(self, key: jax.Array, t: jax.Array, state: ArmsState) -> IndexObs:
        del key, t, state
        return IndexObs.of(self.n_arms)

    def step(
        self, key: jax.Array, t: jax.Array, state: ArmsState, obs: IndexObs, decision: ArmDecision
    ) -> tuple[ArmsState, Reward, RegretOutcome]:
        del t, obs
        mean = state.theta[decision.index]
        return state, Reward(self.pay(key, mean)), RegretOutcome(state.best - mean)

    def at_record(self, state: ArmsState, recommendation: jax.Array | None) -> dict[str, jax.Array]:
        """Return `correct` (True if the recommended arm is optimal) and `simple_regret`; {} without recommendation."""
        if recommendation is None:
            return {}
        gap = state.best - state.theta[recommendation]
        return {"correct": gap <= 0.0, "simple_regret": gap}

    def admits(self, state: ArmsState, obs: IndexObs, decision: ArmDecision) -> jax.Array:
        """Return True if the index of the arm is in range."""
        del state, obs
        return (decision.index >= 0) & (decision.index < self.n_arms)
