"""Abstract learner for online convex optimisation that receives one gradient per round."""

import abc
from typing import Any, ClassVar, Self

import jax

from jaxbandits.base.pytree import pytree, static
from jaxbandits.domains import protocol
from jaxbandits.domains.points import Point, Shape
from jaxbandits.types import Gradient, Obs, PointDecision, State


@pytree
class GradientLearner(abc.ABC):
    """Abstract learner that plays a point and receives the gradient of the loss there.

    A concrete subclass adds its parameters and defines `init` and `advance`. It also defines `point`, unless its state
    has the play as the field `x`.
    """

    feedback: ClassVar[type] = Gradient
    environments: ClassVar[tuple[str, ...]] = ("oco/linear_losses",)
    needs_bounded_domain: ClassVar[bool] = False  # True if the steps are multiples of the diameter of `domain`
    dim: Shape = static(range="[1, inf)", doc="d, or the shape of the points")

    @classmethod
    def example(cls) -> Self:
        return cls(dim=2)

    def check(self) -> None:
        """Raise InputError if the domain is unbounded and the learner needs its diameter."""
        if self.needs_bounded_domain:
            protocol.check_bounded(getattr(self, "domain", None), f"{type(self).__name__}.domain")

    def point(self, t: jax.Array, state: State) -> Point:
        """Return the play `[d]` of round t >= 0."""
        del t
        return state.x

    @abc.abstractmethod
    def advance(self, t: jax.Array, state: State, x: Point, grad: Point) -> Any:
        """Return the state after round t >= 0.

        Args:
          t: `[]` int32, number of earlier rounds.
          state: state at the start of the round.
          x: `[d]` the play.
          grad: `[d]` gradient of the loss of the round at x.
        """

    def select(self, key: jax.Array, t: jax.Array, state: State, obs: Obs) -> PointDecision:
        del key, obs
        return PointDecision.at(self.point(t, state))

    def update(
        self, key: jax.Array, t: jax.Array, state: State, obs: Obs, decision: PointDecision, feedback: Gradient
    ) -> Any:
        del key, obs
        return self.advance(t, state, decision.play, feedback.first().grad)
