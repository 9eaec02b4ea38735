"""DoG: distance over gradients (Ivgi, Hinder & Carmon, ICML 2023).

    x_1 = 0,   r_t = max(r_eps, max_{s<=t} ||x_s - x_1||),   x_{t+1} = P_X[x_t - r_t / sqrt(sum_{s<=t} ||g_s||^2) g_t]

Here r_eps is the field `initial_distance`, and X is $R^d$ unless `domain` is given. The cost per round is $O(d)$, and
the memory is $O(d)$.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.oco.learner import GradientLearner
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.domains import points
from jaxbandits.domains.points import Point
from jaxbandits.domains.protocol import ConvexSet
from jaxbandits.domains.whole_space import WholeSpace


class DoGState(NamedTuple):
    """State of `DoG` at the start of round t."""

    x: Point  # [d]  x_t, the next play
    distance: jax.Array  # []  r_{t-1}
    energy: jax.Array  # []  sum_{s<t} ||g_s||^2


@pytree
class DoG(GradientLearner):
    """Gradient descent whose step size is the largest distance from the start, divided by the root of sum_s ||g_s||^2.

    Guarantee: for stochastic convex optimisation, the error of an average of the plays is near optimal with high
      probability as long as the plays stay bounded, as on a bounded domain. There is *no* regret bound against
      adversarial losses.
    Deviations:
      * [printed] r_eps is an absolute length; the experiments of the paper set it relative to $||x_1||$.
      * [ours] The learner starts at the origin, where a length relative to $||x_1||$ would be zero.
    Numerics: gradients whose squares underflow (below 1e-19 in float32) count as zero
      (float32/test_oco_baselines.py::test_gradients_whose_squares_underflow_count_as_zero).
    References: M. Ivgi, O. Hinder, Y. Carmon, "DoG is SGD's Best Friend: A Parameter-Free Dynamic Step Size Schedule",
      ICML 2023, arXiv:2302.12022, equation (DoG).
    """

    source: ClassVar[str] = "Ivgi et al., ICML 2023"
    domain: ConvexSet = param(factory=WholeSpace, doc="X, a set with project that contains the origin")
    initial_distance: ArrayLike = param(1e-3, "(0, inf)", "r_eps, initial estimate of the distance")

    def init(self, key: jax.Array) -> DoGState:
        del key  # deterministic
        return DoGState(
            x=self.domain.zero(self.dim), distance=jnp.zeros(()) + self.initial_distance, energy=jnp.zeros(())
        )

    def advance(self, t: jax.Array, state: DoGState, x: Point, grad: Point) -> DoGState:
        del t, x
        moved = points.subtract(state.x, self.domain.zero(self.dim))
        distance = jnp.maximum(state.distance, points.norm(moved))
        energy = points.nan_if_infinite(state.energy + points.inner(grad, grad))
        step = distance / jnp.sqrt(jnp.where(energy > 0.0, energy, 1.0))
        return DoGState(
            x=self.domain.project(points.add_scaled(state.x, -step, grad)), distance=distance, energy=energy
        )
