"""Reduction of learning on a convex set X to learning on all of R^d (Cutkosky, ICML 2020).

It serves learners whose analysis needs all of R^d. The learner proposes `y` in R^d, the projection `x = P_X(y)` is
played, and the learner receives a surrogate g' of the gradient `g`:

    g'  = g                  if <g, y - x> >= 0,        n = (y - x) / ||y - x||
        = g - <g, n> n       otherwise

Then `||g'|| <= ||g||` and `<g, x - u> <= <g', y - u>` for every u in X. The regret of the played points is therefore at
most the regret of the learner on all of R^d.
"""

import jax.numpy as jnp

from jaxbandits.domains import points
from jaxbandits.domains.points import Point
from jaxbandits.domains.protocol import ConvexSet
from jaxbandits.domains.whole_space import WholeSpace


def surrogate_gradient(domain: ConvexSet, grad: Point, y: Point, x: Point) -> Point:
    """Return the gradient, minus its component along `y - x` if a gradient step would move `y` further from the domain.

    Args:
      domain: the convex set X.
      grad: gradient of the loss at `x`.
      y: the point that the learner proposed.
      x: the projection of `y`, which was played. If `y` lies in the domain, `x` equals `y`, and the gradient is
        returned unchanged.

    References: A. Cutkosky, "Parameter-free, Dynamic, and Strongly-Adaptive Online Learning", ICML 2020.
    """
    if isinstance(domain, WholeSpace):
        return grad
    gap = points.subtract(y, x)
    gap_sq = points.inner(gap, gap)
    inward = jnp.minimum(points.inner(grad, gap), 0.0)
    return points.add_scaled(grad, -inward / jnp.where(gap_sq > 0.0, gap_sq, 1.0), gap)
