"""One-point gradient estimator (Flaxman, Kalai & McMahan, SODA 2005): `(d / delta) F(y + delta u) u`."""

from collections.abc import Sequence

import jax

from jaxbandits.base.pytree import ArrayLike, pytree
from jaxbandits.domains import points
from jaxbandits.domains.points import Point
from jaxbandits.types import PointDecision


@pytree
class OnePoint:
    """Estimator of the gradient of a function F from its value at `y + delta u`, for a uniform random unit vector u.

    If F does not depend on u, the expected value of the estimate is the gradient at y of F smoothed over the ball of
    radius delta. If |F| <= M, the squared norm of the estimate is at most `(d M / delta)^2`.

    References: A. D. Flaxman, A. T. Kalai, H. B. McMahan: Online convex optimization in the bandit setting: gradient
      descent without a gradient. SODA 2005.
    """

    def decide(self, y: Point, u: Point, delta: ArrayLike) -> PointDecision:
        """Return the decision that plays `y + delta u` and queries only this point."""
        return PointDecision.at(points.add_scaled(y, delta, u))

    def gradient(self, values: Sequence[jax.Array], u: Point, delta: ArrayLike) -> Point:
        """Return the gradient estimate `[d]` from the values `[]` at the queried points."""
        (value,) = values
        return points.scale(u, value * (points.size(points.shape_of(u)) / delta))
