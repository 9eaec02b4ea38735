"""Bandits whose parameter drifts from round to round.

    theta_t = drift.at(t, theta_{t-1}),   theta_0 is the parameter of the instance
    regret_t = (max_k mean of arm k) - (mean of the arm played),   both under theta_t

The regret is relative to the best arm of each round (dynamic regret). Metrics at record points, such as the estimation
error, use the parameter of the last round. A drift is a `PiecewiseDrift`, `RandomWalk`, `Given`, or a user-defined
`pytree` class with a method `at`.
"""

from typing import Any, ClassVar, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, lists_to_arrays, param, pytree, shared, static
from jaxbandits.environments.operators.operator import Operator, example_environment
from jaxbandits.estimation.links import is_defined_around_zero
from jaxbandits.numerics import rng
from jaxbandits.numerics.linalg import Vector
from jaxbandits.tracing.batching import cond
from jaxbandits.types import Decision, Feedback, Obs, Outcome, Recommendation, State


class LawOfMotion(Protocol):
    """Protocol of drifts."""

    def at(self, key: jax.Array, t: jax.Array, first: Vector, last: Vector) -> Vector:
        """Return the parameter `[d]` of round t, given theta_0 and the parameter of round t - 1 (theta_0 if t = 0)."""
        ...


@pytree
class PiecewiseDrift:
    """Drift that draws a new parameter every `period` rounds, uniformly from the sphere of radius $||theta_0||$."""

    period: int = static(1000, "[1, inf)", "number of rounds between two changes")

    def at(self, key: jax.Array, t: jax.Array, first: Vector, last: Vector) -> Vector:
        def draw() -> Vector:
            return jnp.linalg.norm(first) * rng.unit_vector(key, first.shape[0])

        return cond((t > 0) & (t % self.period == 0), draw, lambda: last)  # t is the same for all trials


@pytree
class RandomWalk:
    """Random walk `theta_t = theta_{t-1} + length z / sqrt(d)` with standard normal z.

    A parameter outside the ball of radius ||theta_0|| is scaled back to its boundary.
    """

    length: ArrayLike = param(0.01, "[0, inf)", "root mean square length of a step")

    def at(self, key: jax.Array, t: jax.Array, first: Vector, last: Vector) -> Vector:
        dim = first.shape[0]
        length = jnp.where(t > 0, self.length / jnp.sqrt(float(dim)), 0.0)
        moved = last + length * rng.normal_vector(key, dim)
        size, most = jnp.linalg.norm(moved), jnp.linalg.norm(first)
        return jnp.where(size > most, most / jnp.where(size > most, size, 1.0), 1.0) * moved


@pytree
class Given:
    """Drift in which $theta_t$ is row t of a given table in all trials; the last row is repeated after the end."""

    path: ArrayLike = shared(range="(-inf, inf)", doc="[T, d] parameter of every round")

    def __post_init__(self) -> None:
        lists_to_arrays(self, "path")

    def check(self) -> None:
        """Raise InputError unless the table is a nonempty array [T, d]."""
        if np.ndim(self.path) != 2 or not np.size(self.path):
            raise InputError(f"Given.path must have shape [T, d] with T, d >= 1, got {np.shape(self.path)}")

    def at(self, key: jax.Array, t: jax.Array, first: Vector, last: Vector) -> Vector:
        del key, last
        path = jnp.asarray(self.path, first.dtype)
        if path.shape[1:] != first.shape:
            raise InputError(
                f"Given.path must have {first.shape[0]} columns (the dimension of theta), got {path.shape[1]}"
            )
        return jax.lax.dynamic_index_in_dim(path, jnp.minimum(t, path.shape[0] - 1), keepdims=False)


class DriftingState(NamedTuple):
    """State of the wrapped environment, and the initial parameter."""

    environment: Any  # state of the wrapped environment, with theta_t
    first: Vector  # [d]  theta_0

    @property
    def theta(self) -> Vector:
        """Parameter theta_t `[d]` of the last round."""
        return self.environment.theta


@pytree
class Drifting(Operator):
    """Bandit whose parameter drifts; the wrapped environment needs a state with `theta`, and a method `moved`.

    Examples of such environments are `HeavyTailed` and `GeneralizedLinear`, with or without other operators.
    """

    source: ClassVar[str] = "any bandit with a parameter, which moves"
    environment: Any = param(doc="environment whose parameter drifts")
    drift: LawOfMotion = param(
        factory=RandomWalk, doc="drift of the parameter: PiecewiseDrift, RandomWalk, Given, or a class with `at`"
    )

    @classmethod
    def example(cls) -> "Drifting":
        return cls(environment=example_environment())

    def check(self) -> None:
        """Raise InputError if the wrapped environment has no parameter that can drift, or not as this drift needs."""
        super().check()
        inside = self.environment
        while isinstance(inside, Operator):
            inside = inside.environment
        if not hasattr(inside, "moved"):
            raise InputError(
                "Drifting.environment must have a parameter that can move (a method moved(state, theta)), but "
                f"{type(inside).__name__} has none"
            )
        link = getattr(inside, "link", None)
        if isinstance(self.drift, PiecewiseDrift) and link is not None and not is_defined_around_zero(link):
            raise InputError(
                f"Drifting.drift must not be PiecewiseDrift, because x'theta takes both signs for random directions of "
                f"theta, and for one of them {type(link).__name__} is not defined"
            )

    def init(self, key: jax.Array) -> DriftingState:
        state = self.environment.init(key)
        return DriftingState(state, state.theta)

    def observe(self, key: jax.Array, t: jax.Array, state: DriftingState) -> Obs:
        return super().observe(key, t, state.environment)

    def step(
        self, key: jax.Array, t: jax.Array, state: DriftingState, obs: Obs, decision: Decision
    ) -> tuple[State, Feedback, Outcome]:
        theta = self.drift.at(self._own(key), t, state.first, state.theta)
        inside = self.environment.moved(state.environment, theta)
        inside, feedback, outcome = self.environment.step(key, t, inside, obs, decision)
        return DriftingState(inside, state.first), feedback, outcome

    def moved(self, state: DriftingState, theta: Vector) -> DriftingState:
        """Return the instance with its parameter replaced by theta, from which the drift continues."""
        return DriftingState(self.environment.moved(state.environment, theta), state.first)

    def admits(self, state: DriftingState, obs: Obs, decision: Decision) -> jax.Array:
        """Return True if the wrapped environment admits the decision."""
        return super().admits(state.environment, obs, decision)

    def at_record(self, state: DriftingState, recommendation: Recommendation) -> dict[str, jax.Array]:
        """Return the metrics of the wrapped environment, for the parameter of the last round."""
        return super().at_record(state.environment, recommendation)


def with_drift(environment: Any, drift: LawOfMotion) -> Drifting:
    """Return the environment with a drifting parameter (`Drifting`)."""
    return Drifting(environment=environment, drift=drift)
