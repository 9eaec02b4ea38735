"""Clipped PFMD: mirror descent for unknown bounds on u and on the gradients (after Cutkosky, COLT 2019).

    h_t = max(B_0, max_{s<t} ||g_s||),     D_t^2 = 1 + sum_{s<t} ||g_s|| / h_{s+1}
    x_t = P_{||x|| <= D_t}(y_t)                                                   play x_t, receive g_t
    c_t = g_t min(1, h_t / ||g_t||)                                               clipped at the hint
    l_t = c_t                                        if y_t = x_t
        = (c_t + ||c_t|| (y_t - x_t) / ||y_t - x_t||) / 2   otherwise
    V_{t+1} = max(V_t + ||l_t||^2, 4 h_{t+1}^2),     y_{t+1} = PFMD(-sum_{s<=t} l_s, V_{t+1}, G = h_{t+1})

The hint $h_t$ estimates the norm of the next gradient, and the ball of radius $D_t$ is an artificial constraint.
Here $B_0$ is the field `initial_hint`, and PFMD is the closed form of `parameter_free_md`. The cost per round is
$O(d)$, and the memory is $O(d)$.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.oco.learner import GradientLearner
from jaxbandits.algorithms.oco.parameter_free_md import proposal
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.base.ranges import BOOL
from jaxbandits.domains import points
from jaxbandits.domains.points import Point


class ClippedParameterFreeMDState(NamedTuple):
    """State of `ClippedParameterFreeMD` at the start of round t."""

    y: Point  # [d]  y_t, the proposal of the inner learner
    theta: Point  # [d]  minus the sum of the gradients l_s of the inner learner
    variance: jax.Array  # []  V_t
    hint: jax.Array  # []  h_t
    radius_sq: jax.Array  # []  D_t^2


@pytree
class ClippedParameterFreeMD(GradientLearner):
    """Parameter-free mirror descent in a slowly growing ball, with gradients clipped at the largest earlier norm.

    Guarantee: no guarantee is proven for this combination. The two reductions have regret $O~(||u|| G sqrt(T) + G
      ||u||^3)$ on $R^d$ for unknown G and $||u||$.
    Deviations:
      * [reconstructed] The algorithm combines two reductions, clipping with hints and an artificial constraint; the
        paper does not print this combination. The inner learner uses each new hint as its G immediately, and $V_t$ has
        the lower bound $4 h_t^2$.
      * [reconstructed] The gradient of the inner learner is halved only outside the ball. The constraint reduction
        halves it everywhere, which `halved = True` reproduces.
    Numerics: the statements for `ParameterFreeMD` hold
      (float32/test_oco_baselines.py::test_plays_are_close_to_the_reference).
    References: A. Cutkosky, "Artificial Constraints and Hints for Unbounded Online Learning", COLT 2019,
      arXiv:1902.09013; A. Cutkosky, F. Orabona, "Black-Box Reductions for Parameter-free Online Learning in Banach
      Spaces", COLT 2018, arXiv:1802.06293 (constraints); A. Jacobsen, A. Cutkosky, "Parameter-free Mirror Descent",
      COLT 2022, arXiv:2203.00444 (the inner learner).
    """

    source: ClassVar[str] = "reconstruction after Cutkosky, COLT 2019"
    needs_immediate_feedback: ClassVar[bool] = True  # l_t needs y_t, which is in the state of round t only
    initial_hint: ArrayLike = param(1.0, "(0, inf)", "B_0, first guess of the norm of the gradients")
    scale: ArrayLike = param(1.0, "(0, inf)", "eps, scale parameter of the inner learner")
    exponent_cap: ArrayLike | None = param(
        None, "(0, inf)", "bound on the exponent of the inner learner; None: 0.45 ln(largest float)"
    )
    halved: bool = static(
        False, BOOL, doc="True: l_t = c_t / 2 also inside the ball, as in the constraint reduction of the paper"
    )

    def init(self, key: jax.Array) -> ClippedParameterFreeMDState:
        del key  # deterministic
        zero, hint = points.zeros(self.dim), jnp.zeros(()) + self.initial_hint
        return ClippedParameterFreeMDState(
            y=zero, theta=zero, variance=4.0 * hint * hint, hint=hint, radius_sq=jnp.ones(())
        )

    def point(self, t: jax.Array, state: ClippedParameterFreeMDState) -> Point:
        del t
        return points.scale(state.y, self._shrinkage(state))

    def advance(
        self, t: jax.Array, state: ClippedParameterFreeMDState, x: Point, grad: Point
    ) -> ClippedParameterFreeMDState:
        del t, x
        size = points.norm(grad)
        hint = jnp.maximum(state.hint, size)
        clipped_size = jnp.minimum(size, state.hint)
        inside = self._shrinkage(state) >= 1.0
        # Outside the ball, y - x points along y: l_t = weight * g + pull * y.
        length = points.norm(state.y)
        half = jnp.where(inside & (not self.halved), 1.0, 0.5)
        weight = half * clipped_size / jnp.where(size > 0.0, size, 1.0)
        pull = jnp.where(inside, 0.0, 0.5 * clipped_size / jnp.where(length > 0.0, length, 1.0))
        surrogate = points.add_scaled(points.scale(grad, weight), pull, state.y)
        theta = points.subtract(state.theta, surrogate)
        variance = jnp.maximum(state.variance + points.inner(surrogate, surrogate), 4.0 * hint * hint)
        variance = points.nan_if_infinite(variance)
        y = proposal(theta, variance, hint, self.scale, self.exponent_cap)
        return ClippedParameterFreeMDState(
            y=y, theta=theta, variance=variance, hint=hint, radius_sq=state.radius_sq + size / hint
        )

    def _shrinkage(self, state: ClippedParameterFreeMDState) -> jax.Array:
        """Return min(1, D_t / ||y_t||) `[]`."""
        length_sq = points.inner(state.y, state.y)
        outside = length_sq > state.radius_sq
        return jnp.where(
            outside, jnp.sqrt(state.radius_sq / jnp.where(outside, points.nan_if_infinite(length_sq), 1.0)), 1.0
        )
