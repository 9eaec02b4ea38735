"""Abstract learners for constrained online convex optimisation, with common fields and checks."""

import abc
from typing import Any, ClassVar, Self

import jax
import numpy as np

from jaxbandits.algorithms.coco import blocks, infeasible_projection
from jaxbandits.algorithms.coco.infeasible_projection import Iterate
from jaxbandits.algorithms.coco.one_point import OnePoint
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static, validate
from jaxbandits.base.ranges import BOOL
from jaxbandits.domains import points, protocol
from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.points import Point, Shape
from jaxbandits.domains.protocol import ConvexSet
from jaxbandits.domains.shrunk import Shrunk
from jaxbandits.types import ConstrainedValue, Decision, Feedback, Obs, PointDecision, State


@pytree
class PointLearner(abc.ABC):
    """Abstract learner that plays points of a convex set K, to which it has access only through a few oracles."""

    environments: ClassVar[tuple[str, ...]] = ("coco/linear_constraints",)
    oracles: ClassVar[tuple[str, ...]]  # members of `domain` that the learner uses
    dim: Shape = static(range="[1, inf)", doc="d, or the shape of the points, such as (m, n)")
    domain: ConvexSet = param(factory=L2Ball, doc="K, a convex set with the oracles that the learner uses")
    start: Point = param(None, doc="first point; None: domain.zero (the centre if K is a ball)")

    def point(self, state: State) -> Point:
        """Return the iterate `[d]` of the round; by default, it is the result of the last Frank-Wolfe step."""
        return state.last.x

    def select(self, key: jax.Array, t: jax.Array, state: State, obs: Obs) -> PointDecision:
        del key, t, obs
        return PointDecision.at(self.point(state))

    @abc.abstractmethod
    def update(
        self, key: jax.Array, t: jax.Array, state: State, obs: Obs, decision: Decision, feedback: Feedback
    ) -> State:
        """Return the state of the learner after the round."""

    def check(self) -> None:
        """Check the oracles of the domain, its diameter if a step needs it, and the shape of the first point.

        Raises:
          InputError: if a field is invalid; the message names the field.
        """
        name = type(self).__name__
        protocol.check(self.domain, f"{name}.domain", *self.oracles)
        if "diameter" in self.oracles:
            protocol.check_bounded(self.domain, f"{name}.domain")
        if self.start is not None:
            points.check(self.start, self.dim, f"{name}.start")
            protocol.check_member(self._start_set, self.start, self.dim, f"{name}.start")

    @property
    def _start_set(self) -> ConvexSet:
        """Set in which the first point must lie."""
        return self.domain


@pytree
class BanditLearner(PointLearner):
    """Abstract learner that observes loss and constraint only at y + delta u, for a random unit vector u.

    The centre y starts at `start` and lies in $(1 - delta / r) K$, where r is the inner radius of K, so that y + delta
    u lies in K. By default, delta is c T^radius_power.
    """

    feedback: ClassVar[type] = ConstrainedValue
    needs_immediate_feedback: ClassVar[bool] = True  # the estimate needs the direction u of the round, in the state
    radius_power: ClassVar[float]
    horizon: int = static(range="[1, inf)", doc="T, number of rounds")
    lipschitz: ArrayLike = param(1.0, "(0, inf)", "G, bound on the gradients of losses and constraints")
    c: ArrayLike | None = param(None, "(0, inf)", "c, factor in delta = c T^radius_power; None: 0.9 r")
    delta: ArrayLike | None = param(
        None, "(0, inf)", "delta, radius of the perturbation, below r; None: c T^radius_power"
    )
    estimator: Any = param(factory=OnePoint, doc="gradient estimator: OnePoint() or TwoPoint()")

    def select(self, key: jax.Array, t: jax.Array, state: State, obs: Obs) -> PointDecision:
        del key, t, obs
        return self.estimator.decide(self.point(state), state.direction, self.radius)

    def check(self) -> None:
        """Check that delta is below the inner radius of the domain, and check the fields of `PointLearner`.

        Raises:
          InputError: if a field is invalid; the message names the field.
        """
        name = type(self).__name__
        protocol.check(self.domain, f"{name}.domain", *self.oracles)
        delta, radius = np.broadcast_arrays(self.radius, self.domain.inner_radius(self.dim))
        wrong = delta >= radius
        if wrong.any():
            raise InputError(
                f"{name}.delta must lie below the domain's inner radius {radius[wrong][0]}, got {delta[wrong][0]}"
            )
        super().check()  # last, since the first point must lie in the set that delta shrinks

    @property
    def radius(self) -> ArrayLike:
        """Length delta of the perturbation of the centre."""
        return self._c * self.horizon**self.radius_power if self.delta is None else self.delta

    @property
    def _c(self) -> ArrayLike:
        """Constant c; with the default 0.9 r, delta is below r for every horizon."""
        return 0.9 * self.domain.inner_radius(self.dim) if self.c is None else self.c

    @property
    def _start_set(self) -> Shrunk:
        return self._shrunk

    @property
    def _shrunk(self) -> Shrunk:
        """Shrunk set (1 - delta / r) K, in which the centre lies."""
        return Shrunk(base=self.domain, shrink=self.radius / self.domain.inner_radius(self.dim))


@pytree
class BlockLearner(PointLearner):
    """Abstract learner that takes one step at the end of each block, with a close infeasible projection onto K.

    The state has the fields `run`, the iterate, and `block_sum`, the sum of the gradients of the current block.
    """

    oracles: ClassVar[tuple[str, ...]] = ("zero", "lmo", "outer_radius")
    horizon: int = static(range="[1, inf)", doc="T, number of rounds")
    block: int | None = static(None, "[1, inf)", "K, number of rounds in a block; None: 5 sqrt(T), rounded")
    lipschitz: ArrayLike = param(1.0, "(0, inf)", "G, bound on the gradients of losses and constraints")
    eta: ArrayLike | None = param(None, "(0, inf)", "eta, step size; None: (R / G) T^(-3/4)")
    eps: ArrayLike | None = param(None, "(0, inf)", "eps, accuracy of the projections; None: 60 R^2 T^(-1/2)")
    cut_first: ArrayLike = param(
        True,
        BOOL,
        "True: the step of the projection uses the distance after y' is scaled back; False: before, as printed",
    )
    most_calls: int = static(1000, "[1, inf)", "maximum number of linear minimisations in one projection")

    @classmethod
    def theory(cls, *, dim: Shape, horizon: int, **changes: FieldValue) -> Self:
        """Use the constants of the theory (the defaults). If x_1 = 0 and T <= 32400, the iterate does not move."""
        return cls(**{"dim": dim, "horizon": horizon} | changes)

    @classmethod
    def practical(cls, *, dim: Shape, horizon: int, **changes: FieldValue) -> Self:
        """Use blocks of sqrt(T) rounds and eps = 1.8 R^2 T^{-1/2}, 0.03 times the default (both chosen by hand)."""
        fields = {"dim": dim, "horizon": horizon} | changes
        base = cls(**fields)
        validate(base)
        radius = points.as_floats(base.domain.outer_radius(base.dim))  # the square of an integer may overflow
        eps = 1.8 * radius**2 * base.horizon**-0.5
        return cls(**{"block": blocks.length(base.horizon, 0.5), "eps": eps} | fields)

    @classmethod
    def example(cls) -> Self:
        return cls.practical(dim=2, horizon=36, lipschitz=2.0, eta=0.3)

    def point(self, state: State) -> Point:
        return state.run.x

    def descend(self, state: State) -> Iterate:
        """Return the `Iterate`, a point of K and an infeasible point near it, after the step at the end of a block."""
        radius = self.domain.outer_radius(self.dim)
        return infeasible_projection.descend(
            self.domain,
            state.run,
            radius / self.lipschitz * self.horizon**-0.75 if self.eta is None else self.eta,
            state.block_sum,
            eps=60.0 * radius**2 * self.horizon**-0.5 if self.eps is None else self.eps,
            radius=radius,
            most_calls=self.most_calls,
            cut_first=self.cut_first,
        )

    def diagnostics(self, state: State) -> dict[str, jax.Array]:
        """Return the `oracle_calls` of the last round, and the flag `unfinished` of its projection."""
        return {"oracle_calls": state.run.calls, "unfinished": state.run.unfinished}

    @property
    def _block(self) -> int:
        return blocks.length(self.horizon, 0.5, 5.0) if self.block is None else self.block
