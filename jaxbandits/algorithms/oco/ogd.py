"""OGD: online gradient descent (Zinkevich, ICML 2003).

    x_1 = 0,   x_{t+1} = P_X[x_t - step_scale * D / (G sqrt(t)) g_t],   t = 1, 2, ...

Here D is the diameter of X (`domain`), and G bounds the norms of the gradients (`lipschitz`). The cost per round is
$O(d)$, and the memory is $O(d)$.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.oco.learner import GradientLearner
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.domains import points
from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.points import Point
from jaxbandits.domains.protocol import ConvexSet


class OGDState(NamedTuple):
    """State of `OGD` at the start of round t."""

    x: Point  # [d]  x_t, the next play


@pytree
class OGD(GradientLearner):
    """Projected online gradient descent with the step size $D / (G sqrt(t))$.

    Guarantee: for convex losses with gradients bounded by G on a domain of diameter D, the regret against every fixed
      point is at most $1.5 G D sqrt(T)$, for every T (the horizon is not a parameter).
    Deviations:
      * [printed] Zinkevich analyses $eta_t = 1/sqrt(t)$; the factor D/G is the standard choice that makes the bound
        homogeneous.
      * [ours] `step_scale` multiplies the step size; $x_1$ is the origin.
    References: M. Zinkevich, "Online Convex Programming and Generalized Infinitesimal Gradient Ascent", ICML 2003,
      Theorem 1.
    """

    source: ClassVar[str] = "Zinkevich, ICML 2003"
    needs_bounded_domain: ClassVar[bool] = True
    domain: ConvexSet = param(factory=L2Ball, doc="X, a bounded set with project and diameter that contains the origin")
    lipschitz: ArrayLike = param(1.0, "(0, inf)", "G, bound on the norm of the gradients")
    step_scale: ArrayLike = param(1.0, "(0, inf)", "multiplier of the step size; the theory uses 1")

    def init(self, key: jax.Array) -> OGDState:
        del key  # deterministic
        return OGDState(x=self.domain.zero(self.dim))

    def advance(self, t: jax.Array, state: OGDState, x: Point, grad: Point) -> OGDState:
        del x
        step = self.step_scale * self.domain.diameter / (self.lipschitz * jnp.sqrt(t + 1.0))  # t counts from 0
        return OGDState(x=self.domain.project(points.add_scaled(state.x, -step, grad)))
