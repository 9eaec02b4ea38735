"""Abstract learners of constrained online convex optimisation: their fields and checks."""

import abc
from typing import Any, ClassVar

import jax
import numpy as np

from jaxbandits.algorithms.coco.one_point import OnePoint
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains import points, protocol
from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.points import Shape
from jaxbandits.domains.shrunk import Shrunk
from jaxbandits.types import ConstrainedValue, PointDecision


@pytree
class PointLearner(abc.ABC):
    """Abstract learner that plays points of a convex set K, which it reaches through a few oracles only."""

    environments: ClassVar[tuple[str, ...]] = ("coco/linear_constraints",)
    oracles: ClassVar[tuple[str, ...]]  # members of `domain` that the learner uses
    dim: Shape = static(range="[1, inf)", doc="d, or the shape of the points, such as (m, n)")
    domain: Any = param(factory=L2Ball, doc="K, with the members that the learner uses")
    start: Any = param(None, doc="first point; None: domain.zero, the centre of a ball")

    @abc.abstractmethod
    def select(self, key: jax.Array, t: jax.Array, state: Any, obs: Any) -> PointDecision:
        """Return the decision of round t."""

    def check(self) -> None:
        """Require a domain with the oracles, and a first point of the right form.

        Raises:
          InputError: one line that names the field.
        """
        name = type(self).__name__
        protocol.check(self.domain, f"{name}.domain", *self.oracles)
        if self.start is not None:
            points.check(self.start, self.dim, f"{name}.start")


@pytree
class BanditLearner(PointLearner):
    """Abstract learner that observes loss and constraint at y + delta u only, for a random unit vector u.

    The centre y, of which `start` is the first, lies in (1 - delta / r) K for the inner radius r of K, so that
    y + delta u lies in K. delta is c T^radius_power unless it is given.
    """

    feedback: ClassVar[type] = ConstrainedValue
    radius_power: ClassVar[float]
    horizon: int = static(range="[1, inf)", doc="T")
    lipschitz: ArrayLike = param(1.0, "(0, inf)", "G, bound on the gradients of losses and constraints")
    c: ArrayLike | None = param(None, "(0, inf)", "c of delta = c T^radius_power; None: 0.9 r")
    delta: ArrayLike | None = param(None, "(0, inf)", "radius of the perturbation, below r; None: c T^radius_power")
    estimator: Any = param(factory=OnePoint, doc="gradient estimator: OnePoint() or TwoPoint()")

    def check(self) -> None:
        """Require a perturbation that stays in the domain, and what every learner of points requires.

        Raises:
          InputError: one line that names the field.
        """
        super().check()
        delta, radius = np.broadcast_arrays(self.radius, self.domain.inner_radius(self.dim))
        wrong = delta >= radius
        if wrong.any():
            name = f"{type(self).__name__}.delta"
            raise InputError(
                f"{name} must lie below the domain's inner radius {radius[wrong][0]}, got {delta[wrong][0]}"
            )

    @property
    def radius(self) -> ArrayLike:
        """Length delta of the perturbation."""
        return self._c * self.horizon**self.radius_power if self.delta is None else self.delta

    @property
    def _c(self) -> ArrayLike:
        """Constant c; the default 0.9 r gives a perturbation below r for every horizon."""
        return 0.9 * self.domain.inner_radius(self.dim) if self.c is None else self.c

    @property
    def _shrunk(self) -> Shrunk:
        """Set (1 - delta / r) K."""
        return Shrunk(base=self.domain, shrink=self.radius / self.domain.inner_radius(self.dim))
