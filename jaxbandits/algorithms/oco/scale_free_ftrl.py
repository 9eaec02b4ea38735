"""Scale-free FTRL: SOLO FTRL with the quadratic regulariser (Orabona & Pal, Theoretical Computer Science 2018).

    x_1 = 0,   x_{t+1} = P_X[-step_scale * sum_{s<=t} g_s / sqrt(sum_{s<=t} ||g_s||^2)]

Here X is $R^d$ unless `domain` is given. The cost per round and the memory are $O(d)$.
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


class ScaleFreeFTRLState(NamedTuple):
    """State of `ScaleFreeFTRL` at the start of round t."""

    gradient_sum: Point  # [d]  sum_{s<t} g_s
    energy: jax.Array  # []  sum_{s<t} ||g_s||^2


@pytree
class ScaleFreeFTRL(GradientLearner):
    """Follow-the-regularised-leader whose plays do not change when all losses are multiplied by a positive constant.

    Guarantee: for convex losses, for every u and every T the regret is $O((1 + ||u||^2) G sqrt(T))$ on $R^d$, where G =
      max_t $||g_t||$ is not a parameter of the algorithm. The bound is quadratic in $||u||$, since no parameter is
      tuned to $||u||$.
    Deviations:
      * [printed] The regulariser is $||x||^2 / 2$.
      * [ours] `step_scale` multiplies the plays before the projection.
    Numerics: the plays are exactly invariant under scaling by powers of two
      (algorithms/oco/test_oco_baselines.py::test_the_unit_of_the_losses), as long as squares of gradients neither
      underflow nor overflow. In float32, gradients below 1e-19 count as zero
      (float32/test_oco_baselines.py::test_gradients_whose_squares_underflow_count_as_zero), and with gradients above
      1e19 the trial counts as failed (float32/test_oco_baselines.py::test_what_overflows_is_counted_as_failed).
    References: F. Orabona, D. Pal, "Scale-Free Online Learning", Theoretical Computer Science 716, 2018,
      arXiv:1601.01974, Algorithm 1 (SOLO FTRL).
    """

    source: ClassVar[str] = "Orabona & Pal, TCS 2018"
    domain: ConvexSet = param(factory=WholeSpace, doc="X, a set with project that contains the origin")
    step_scale: ArrayLike = param(1.0, "(0, inf)", "multiplier of the play before its projection; the paper uses 1")

    @classmethod
    def example(cls) -> "ScaleFreeFTRL":
        return cls(dim=2, domain=L2Ball())  # without a domain, plays would leave the environment's domain

    def init(self, key: jax.Array) -> ScaleFreeFTRLState:
        del key  # deterministic
        return ScaleFreeFTRLState(gradient_sum=points.zeros(self.dim), energy=jnp.zeros(()))

    def point(self, t: jax.Array, state: ScaleFreeFTRLState) -> Point:
        del t
        safe = jnp.where(state.energy > 0.0, state.energy, 1.0)  # if the energy is 0, then the sum is 0
        return self.domain.project(points.scale(state.gradient_sum, -self.step_scale / jnp.sqrt(safe)))

    def advance(self, t: jax.Array, state: ScaleFreeFTRLState, x: Point, grad: Point) -> ScaleFreeFTRLState:
        del t, x
        energy = points.nan_if_infinite(state.energy + points.inner(grad, grad))
        return ScaleFreeFTRLState(gradient_sum=points.add(state.gradient_sum, grad), energy=energy)
