"""Optimistic OMD: optimistic online mirror descent, Euclidean (Chen, Zhang, Tu, Zhao & Zhang, JMLR 2024).

    eta_t = step_scale * D / sqrt(delta + 4 G^2 + V_{t-1}),     V_{t-1} = sum_{s<t} ||g_s - m_s||^2
    x_t      = P_X[xh_t - eta_t m_t]                                              play x_t, receive g_t
    xh_{t+1} = P_X[xh_t - eta_t g_t],     m_{t+1} = g_t                           from xh_t again

Here D is the diameter of X (`domain`), G is the field `lipschitz`, delta is `offset`, and xh_1 = $m_1 = 0$. The cost
per round is $O(d)$, and the memory is $O(d)$.
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


class OptimisticOMDState(NamedTuple):
    """State of `OptimisticOMD` at the start of round t."""

    x: Point  # [d]  x_t, the next play
    center: Point  # [d]  xh_t
    hint: Point  # [d]  m_t
    variation: jax.Array  # []  V_{t-1}


@pytree
class OptimisticOMD(GradientLearner):
    """Optimistic gradient descent with two projections per round and a data-dependent step size; the hint is g_{t-1}.

    Guarantee: for convex losses with gradients bounded by G whose means $F_t$ are smooth, the expected regret against
      every fixed point is $O(D sqrt(sigma^2_{1:T}) + D sqrt(Sigma^2_{1:T}))$ plus terms that do not grow with T, where
      $sigma^2_{1:T}$ is the cumulative variance of the gradients and $Sigma^2_{1:T}$ is the cumulative variation of
      their means. For every sequence of losses and every T the regret is $O(D sqrt(delta + G^2 + V_T))$.
    Deviations:
      * [printed] The step size is quoted from a later paper (Wang, Barik, Zhao & Tan, NeurIPS 2025).
      * [ours] `step_scale` multiplies the step size.
    Numerics: float32 suffices for about 10^7 rounds; after that, new gradients no longer change `variation`
      (float32/test_oco_baselines.py::test_sums_stop_to_grow_near_1e7_rounds).
    References: S. Chen, Y.-J. Zhang, W.-W. Tu, P. Zhao, L. Zhang, "Optimistic Online Mirror Descent for Bridging
      Stochastic and Adversarial Online Convex Optimization", JMLR 25(178), 2024, arXiv:2302.04552.
    """

    source: ClassVar[str] = "Chen et al., JMLR 2024"
    needs_bounded_domain: ClassVar[bool] = True
    domain: ConvexSet = param(factory=L2Ball, doc="X, a bounded set with project and diameter that contains the origin")
    lipschitz: ArrayLike = param(1.0, "(0, inf)", "G, bound on the norm of the gradients")
    offset: ArrayLike = param(1.0, "(0, inf)", "delta, added to the variation under the root")
    step_scale: ArrayLike = param(1.0, "(0, inf)", "multiplier of the step size; the theory uses 1")

    def init(self, key: jax.Array) -> OptimisticOMDState:
        del key  # deterministic
        first = self.domain.zero(self.dim)
        return OptimisticOMDState(x=first, center=first, hint=points.zeros(self.dim), variation=jnp.zeros(()))

    def advance(self, t: jax.Array, state: OptimisticOMDState, x: Point, grad: Point) -> OptimisticOMDState:
        del t, x
        error = points.subtract(grad, state.hint)
        variation = points.nan_if_infinite(state.variation + points.inner(error, error))
        center = self.domain.project(points.add_scaled(state.center, -self.step_size(state.variation), grad))
        x = self.domain.project(points.add_scaled(center, -self.step_size(variation), grad))  # m_{t+1} = g_t
        return OptimisticOMDState(x=x, center=center, hint=grad, variation=variation)

    def step_size(self, variation: jax.Array) -> jax.Array:
        """Return eta_t `[]` from V_{t-1}."""
        scale = self.step_scale * self.domain.diameter
        return scale / jnp.sqrt(self.offset + 4.0 * self.lipschitz * self.lipschitz + variation)
