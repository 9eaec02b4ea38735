"""DoWG: distance over weighted gradients (Khaled, Mishchenko & Jin, NeurIPS 2023).

    x_1 = 0,   r_t = max(r_eps, max_{s<=t} ||x_s - x_1||),   v_t = v_{t-1} + r_t^2 ||g_t||^2
    x_{t+1} = P_X[x_t - r_t^2 / sqrt(v_t) g_t]

Here r_eps is the field `initial_distance`, and X is $R^d$ unless `domain` is given. The cost per round is $O(d)$, and
the memory is $O(d)$.
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
from jaxbandits.domains.whole_space import WholeSpace


class DoWGState(NamedTuple):
    """State of `DoWG` at the start of round t."""

    x: Point  # [d]  x_t, the next play
    distance: jax.Array  # []  r_{t-1}
    weighted_energy: jax.Array  # []  v_{t-1}


@pytree
class DoWG(GradientLearner):
    """DoG with gradients weighted by the distance estimate of their round, which reduces the influence of early rounds.

    Guarantee: for the minimisation of one fixed convex function on a bounded domain, the weighted average of the plays
    converges at the optimal rate up to logarithms, both for smooth and for Lipschitz functions, without a parameter
    that depends on the case. There is *no* regret bound against adversarial losses, and no guarantee on $R^d$ for
    losses without a minimiser.
    Deviations:
      * [ours] The learner starts at the origin; r_eps is an absolute length.
    Numerics: without a `domain`, losses with a constant gradient have no minimiser, and the plays diverge: they grow by
      the factor $q = 1.84$ per round $(q^3 = q^2 + q + 1)$. In float32 $r_t^2 ||g_t||^2$ overflows after about 90 of
      these rounds if $||g_t|| = 1$; the state then contains NaN, and the trial counts as failed. In float32, gradients
      count as zero if $||g||$ or $r_t ||g||$ is below 1e-19, since squares underflow
      (float32/test_oco_baselines.py::test_gradients_whose_squares_underflow_count_as_zero).
    References: A. Khaled, K. Mishchenko, C. Jin, "DoWG Unleashed: An Efficient Universal Parameter-Free Gradient
      Descent Method", NeurIPS 2023, arXiv:2305.16284, Algorithm 1.
    """

    source: ClassVar[str] = "Khaled et al., NeurIPS 2023"
    domain: ConvexSet = param(factory=WholeSpace, doc="X, a set with project that contains the origin")
    initial_distance: ArrayLike = param(1e-3, "(0, inf)", "r_eps, initial estimate of the distance")

    @classmethod
    def example(cls) -> "DoWG":
        return cls(dim=2, domain=L2Ball())

    def init(self, key: jax.Array) -> DoWGState:
        del key  # deterministic
        return DoWGState(
            x=self.domain.zero(self.dim), distance=jnp.zeros(()) + self.initial_distance, weighted_energy=jnp.zeros(())
        )

    def advance(self, t: jax.Array, state: DoWGState, x: Point, grad: Point) -> DoWGState:
        del t, x
        moved = points.subtract(state.x, self.domain.zero(self.dim))
        distance = jnp.maximum(state.distance, points.norm(moved))
        weight = distance * distance
        energy = points.nan_if_infinite(state.weighted_energy + weight * points.inner(grad, grad))
        step = weight / jnp.sqrt(jnp.where(energy > 0.0, energy, 1.0))
        return DoWGState(
            x=self.domain.project(points.add_scaled(state.x, -step, grad)), distance=distance, weighted_energy=energy
        )
