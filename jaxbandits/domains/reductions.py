"""From R^d to a convex set X, for learners whose analysis needs all of R^d (Cutkosky, ICML 2020).

The learner proposes `y`, the projection `x = P_X(y)` is played, and the learner is fed a surrogate of the gradient `g`:

    g'  = g                  if <g, y - x> >= 0,        n = (y - x) / ||y - x||
        = g - <g, n> n       otherwise

Then `||g'|| <= ||g||` and `<g, x - u> <= <g', y - u>` for every u in X: regret bounds of the learner carry over whole.
"""

from typing import Any

import jax.numpy as jnp

from jaxbandits.core import linalg
from jaxbandits.core.fusion import once
from jaxbandits.core.linalg import Vector


def project(domain: Any, y: Vector) -> Vector:
    """The nearest point of the domain; `y` itself where there is none (R^d)."""
    return y if domain is None else domain.project(y)


def surrogate_gradient(grad: Vector, y: Vector, x: Vector) -> Vector:
    """`[d]` the gradient without its part along `y - x`, where that part pulls `y` further out.

    Args:
      grad: `[d]` gradient of the loss at `x`.
      y: `[d]` what the learner proposed.
      x: `[d]` its projection, which was played; equal to `y` inside the domain, where the gradient is returned as is.

    References: A. Cutkosky, "Parameter-free, Dynamic, and Strongly-Adaptive Online Learning", ICML 2020.
    """
    gap = once(y - x)
    gap_sq = linalg.inner(gap, gap)
    inward = jnp.minimum(linalg.inner(grad, gap), 0.0)
    return grad - gap * (inward / jnp.where(gap_sq > 0.0, gap_sq, 1.0))
