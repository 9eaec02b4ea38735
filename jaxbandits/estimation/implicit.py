"""Implicit online update with a logistic loss, which minimises the loss itself instead of its linearisation.

    argmin_{theta in Theta} ||theta - theta_t||^2_W / (2 c) + n log(1 + e^z) - s z,   z = x'theta

x is an arm, W a positive definite matrix, Theta a convex set and c > 0. With n = 1 this is the update for a reward s;
with n = 2 and s = 1 the loss is the sum of the losses of both possible rewards, 0 and 1.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, PyTree
from jaxbandits.estimation.links import Bernoulli
from jaxbandits.numerics import inverse_factors
from jaxbandits.numerics.inverse_factors import InverseFactors
from jaxbandits.numerics.linalg import Vector
from jaxbandits.tracing.batching import while_loop

Projection = Callable[[InverseFactors, Vector, jax.Array], Vector]

_LOGISTIC = Bernoulli()
_MAX_STEPS = 60  # steps of the root search: Newton's method needs 2 to 5, bisection alone would need 50


def logistic_step(
    inverse: InverseFactors,
    theta: Vector,
    x: Vector,
    count: ArrayLike,
    total: ArrayLike,
    scale: ArrayLike,
    bound: ArrayLike,
    project: Projection,
) -> Vector:
    """Return the minimiser of the following problem, up to rounding.

        argmin_{theta in Theta} ||theta - theta_t||^2_W / (2 c) + n log(1 + e^z) - s z,   z = x'theta

    If the loss is replaced by its quadratic model at the current z, the problem becomes a projection onto Theta. The z
    of this projection lies on the same side of the current z as that of the true minimiser. The iteration is therefore
    Newton's method inside a shrinking bracket.

    Args:
      inverse: W^{-1}.
      theta: `[d]` theta_t, in Theta.
      x: `[d]` the arm.
      count: n > 0, weight of the term log(1 + e^z).
      total: s, weight of the term -z.
      scale: c > 0, weight of the losses relative to the quadratic term.
      bound: upper bound on the norms of the points of Theta.
      project: function `(inverse, y, weight)` that returns the point of the convex set Theta nearest to y in the norm
        of `W + weight x x'`, whose inverse is `inverse`.
    """
    image = inverse_factors.image(inverse, x)
    u, width_sq, start = image.u, image.width_sq, x @ theta
    reach = 1.001 * bound * jnp.linalg.norm(x)  # |z| is smaller for every feasible z
    tolerance = jnp.finfo(start.dtype).eps ** 0.6  # the returned point is one Newton step more accurate than z

    def is_unsettled(carry: PyTree) -> jax.Array:
        _, _, _, _, change, step = carry
        return (change > tolerance) & (step < _MAX_STEPS)

    def search(carry: PyTree) -> Any:
        z, _, low, high, _, step = carry
        slope, curvature = count * _LOGISTIC.mean(z) - total, scale * count * _LOGISTIC.slope(z)
        grow = 1.0 / (1.0 + curvature * width_sq)
        y = theta - u * ((scale * slope + curvature * (start - z)) * grow)
        model = inverse_factors.add(inverse, curvature, image)  # (W + curvature x x')^{-1}
        nearest = project(model, y, curvature)
        found = x @ nearest
        low, high = jnp.where(found > z, z, low), jnp.where(found < z, z, high)
        inside = (found > low) & (found < high) | (jnp.abs(found - z) <= tolerance)
        following = jnp.where(inside, found, 0.5 * (low + high))
        return following, nearest, low, high, jnp.abs(found - z), step + 1

    begin = (start, theta, -reach, reach, jnp.full_like(start, jnp.inf), 0)
    return while_loop(is_unsettled, search, begin, _MAX_STEPS)[1]
