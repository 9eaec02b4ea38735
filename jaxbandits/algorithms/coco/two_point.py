"""Two-point gradient estimator (Agarwal, Dekel & Xiao, COLT 2010; Shamir, JMLR 2017)."""

from collections.abc import Sequence

import jax

from jaxbandits.base import trees
from jaxbandits.base.pytree import ArrayLike, pytree
from jaxbandits.domains import points
from jaxbandits.domains.points import Point
from jaxbandits.types import PointDecision


@pytree
class TwoPoint:
    """Estimator `(d / 2 delta) (F(y + delta u) - F(y - delta u)) u` of the gradient of a function F.

    It queries the point `y + delta u` that is played and the mirrored point `y - delta u`, for a random unit vector u.

    The estimate has the same expected value as the one-point estimate, but its size does not grow as delta decreases:
    for linear F, the mean of its squared norm is d times the squared norm of the gradient, for every delta.

    Deviations: in the papers, the loss of a round is the mean of both values. Here only `y + delta u` is played and its
      loss counts; the mirrored point is an additional query without a loss (the field `query` of the decision holds
      both points). [ours]

    References: A. Agarwal, O. Dekel, L. Xiao: Optimal algorithms for online convex optimization with multi-point bandit
      feedback. COLT 2010. O. Shamir: An optimal algorithm for bandit and zero-order convex optimization with two-point
      feedback. JMLR 18, 2017.
    """

    def decide(self, y: Point, u: Point, delta: ArrayLike) -> PointDecision:
        """Return the decision that plays `y + delta u` and queries first `y + delta u`, then `y - delta u`."""
        play = points.add_scaled(y, delta, u)
        mirrored = points.subtract(points.add(y, y), play)
        return PointDecision(play=play, query=trees.stack(play, mirrored))

    def gradient(self, values: Sequence[jax.Array], u: Point, delta: ArrayLike) -> Point:
        """Return the gradient estimate `[d]` from the values `[]` at the queried points."""
        above, below = values
        return points.scale(u, (above - below) * (0.5 * points.size(points.shape_of(u)) / delta))
