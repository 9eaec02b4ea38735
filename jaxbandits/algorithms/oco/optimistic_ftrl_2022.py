"""Optimistic FTRL, first form (Sachs, Hadiji, van Erven & Guzman, NeurIPS 2022).

    x_t   = argmin_X <sum_{s<t} g_s + m_t, x> + ||x||^2 / eta_t = P_X[-(eta_t / 2) (sum_{s<t} g_s + m_t)]
    eta_t = step_scale * D^2 / N_{t-1},     N_t = nu + sum_{s<=t} eta_s ||g_s - m_s||^2,     m_{t+1} = g_t

Here D is the diameter of X (`domain`), nu is the field `offset`, and $m_1 = 0$. The cost per round is $O(d)$, and the
memory is $O(d)$.
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


class OptimisticFTRL2022State(NamedTuple):
    """State of `OptimisticFTRL2022` at the start of round t."""

    x: Point  # [d]  x_t, the next play
    gradient_sum: Point  # [d]  sum_{s<t} g_s
    hint: Point  # [d]  m_t
    denominator: jax.Array  # []  N_{t-1}


@pytree
class OptimisticFTRL2022(GradientLearner):
    """Optimistic follow-the-regularised-leader with the step size of the 2022 paper; the hint is the last gradient.

    Guarantee: for convex losses with bounded gradients whose means $F_t$ are L-smooth, the expected regret against
      every fixed point is of the order $D sqrt(sigma^2_{1:T}) + D sqrt(Sigma^2_{1:T})$ plus terms that do not grow with
      T, with the notation of `OONS` (Theorem 5 of the paper, which defines the variance by the largest deviation over
      the domain).
    Deviations:
      * [reconstructed] nu is 2 D G with G from `lipschitz`. Two versions of Theorem 5 are quoted in the literature; the
        other version, nu = L D^2 + D G^2, adds terms of different units. `offset` sets nu directly.
      * [ours] `step_scale` multiplies the step size.
    Numerics: float32 and float64 are tested (float32/test_oco_baselines.py::test_plays_are_close_to_the_reference).
    References: S. Sachs, H. Hadiji, T. van Erven, C. Guzman, "Between Stochastic and Adversarial Online Convex
      Optimization: Improved Regret Bounds via Smoothness", NeurIPS 2022, arXiv:2202.07554, equation (2), Theorem 5.
    """

    source: ClassVar[str] = "Sachs et al., NeurIPS 2022"
    needs_bounded_domain: ClassVar[bool] = True
    domain: ConvexSet = param(factory=L2Ball, doc="X, a bounded set with project and diameter that contains the origin")
    lipschitz: ArrayLike = param(1.0, "(0, inf)", "G, bound on the norm of the gradients; it affects only nu")
    offset: ArrayLike | None = param(None, "(0, inf)", "nu, initial value of the denominator; None: 2 D G")
    step_scale: ArrayLike = param(1.0, "(0, inf)", "multiplier of the step size; the theory uses 1")

    def init(self, key: jax.Array) -> OptimisticFTRL2022State:
        del key  # deterministic
        zero = points.zeros(self.dim)
        nu = 2.0 * self.domain.diameter * self.lipschitz if self.offset is None else self.offset
        return OptimisticFTRL2022State(
            x=self.domain.zero(self.dim), gradient_sum=zero, hint=zero, denominator=jnp.zeros(()) + nu
        )

    def advance(self, t: jax.Array, state: OptimisticFTRL2022State, x: Point, grad: Point) -> OptimisticFTRL2022State:
        del t, x
        error = points.subtract(grad, state.hint)
        step = self.step_size(state.denominator)
        denominator = points.nan_if_infinite(state.denominator + step * points.inner(error, error))
        total = points.add(state.gradient_sum, grad)
        optimistic_sum = points.add(total, grad)  # m_{t+1} = g_t
        x = self.domain.project(points.scale(optimistic_sum, -0.5 * self.step_size(denominator)))
        return OptimisticFTRL2022State(x=x, gradient_sum=total, hint=grad, denominator=denominator)

    def step_size(self, denominator: jax.Array) -> jax.Array:
        """Return eta_t `[]` from N_{t-1}."""
        scale = self.step_scale * self.domain.diameter * self.domain.diameter
        return scale / jnp.where(denominator == 0.0, 1.0, denominator)  # both are 0 if the domain is a point
