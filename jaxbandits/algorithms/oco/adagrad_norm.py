"""AdaGrad-norm: gradient descent with one data-dependent step size (McMahan & Streeter, COLT 2010).

    x_1 = 0,   x_{t+1} = P_X[x_t - step_scale * D / sqrt(2 sum_{s<=t} ||g_s||^2) g_t]

Here D is the diameter of X (`domain`). The cost per round and the memory are $O(d)$.
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


class AdaGradNormState(NamedTuple):
    """State of `AdaGradNorm` at the start of round t."""

    x: Point  # [d]  x_t, the next play
    energy: jax.Array  # []  sum_{s<t} ||g_s||^2


@pytree
class AdaGradNorm(GradientLearner):
    """Projected gradient descent whose step size depends on the diameter of X but on no bound on the gradients.

    Guarantee: for convex losses on a domain of diameter D, the regret against every fixed point is at most
      $D sqrt(2 sum_t ||g_t||^2)$, for every sequence of losses and every T.
    Deviations:
      * [ours] `step_scale` multiplies the step size.
    Numerics: gradients whose squares underflow (below 1e-19 in float32) count as zero
      (float32/test_oco_baselines.py::test_gradients_whose_squares_underflow_count_as_zero). float32 suffices for about
      10^7 rounds; after that, new gradients no longer change `energy`
      (float32/test_oco_baselines.py::test_sums_stop_to_grow_near_1e7_rounds).
    References: H. B. McMahan, M. Streeter, "Adaptive Bound Optimization for Online Convex Optimization", COLT 2010,
      arXiv:1002.4908.
    """

    source: ClassVar[str] = "McMahan & Streeter, COLT 2010"
    needs_bounded_domain: ClassVar[bool] = True
    domain: ConvexSet = param(factory=L2Ball, doc="X, a bounded set with project and diameter that contains the origin")
    step_scale: ArrayLike = param(1.0, "(0, inf)", "multiplier of the step size; the theory uses 1")

    def init(self, key: jax.Array) -> AdaGradNormState:
        del key  # deterministic
        return AdaGradNormState(x=self.domain.zero(self.dim), energy=jnp.zeros(()))

    def advance(self, t: jax.Array, state: AdaGradNormState, x: Point, grad: Point) -> AdaGradNormState:
        del t, x
        energy = points.nan_if_infinite(state.energy + points.inner(grad, grad))
        safe = jnp.where(energy > 0.0, energy, 1.0)  # if the energy is 0, then the gradient is 0
        step = self.step_scale * self.domain.diameter / jnp.sqrt(2.0 * safe)
        return AdaGradNormState(x=self.domain.project(points.add_scaled(state.x, -step, grad)), energy=energy)
