"""Optimistic FTRL, second form (Sachs, Hadiji, van Erven & Guzman, arXiv 2023).

    x_t   = P_X[-eta_t (sum_{s<t} g_s + m_t)],     m_{t+1} = g_t,     e_t = g_t - m_t
    eta_t = step_scale * D^2 / N_{t-1},            N_t = sum_{s<=t} min{ eta_s ||e_s||^2 / 2, D ||e_s|| }

Here D is the diameter of X (`domain`), and $m_1 = 0$. The step size $eta_1$ is infinite, so that $x_1 = 0$ and the
first summand of $N_t$ is $D ||e_1||$. The cost per round and the memory are $O(d)$.
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


class OptimisticFTRL2023State(NamedTuple):
    """State of `OptimisticFTRL2023` at the start of round t."""

    x: Point  # [d]  x_t, the next play
    gradient_sum: Point  # [d]  sum_{s<t} g_s
    hint: Point  # [d]  m_t
    denominator: jax.Array  # []  N_{t-1}


@pytree
class OptimisticFTRL2023(GradientLearner):
    """Optimistic follow-the-regularised-leader whose step size does not depend on G; the hint is the last gradient.

    Guarantee: for convex losses whose means $F_t$ are smooth, the expected regret against every fixed point is
      $O(D sqrt(sigma^2_{1:T}) + D sqrt(Sigma^2_{1:T}))$ plus terms that do not grow with T, with the notation of
      `OONS`; no bound on the gradients is needed, and the plays do not change when all losses are multiplied by a
      positive constant.
    Deviations:
      * [printed] The step size is quoted from a later paper (Wang, Barik, Zhao & Tan, NeurIPS 2025).
      * [reconstructed] The regulariser is assumed to be $||x||^2 / (2 eta_t)$, half of the 2022 form.
      * [ours] `step_scale` multiplies the step size.
    Numerics: in float32 gradients as small as 1e-37 do not underflow, since norms are summed instead of their squares
      (float32/test_oco_baselines.py::test_gradients_of_any_size_count_where_norms_are_summed).
    References: S. Sachs, H. Hadiji, T. van Erven, C. Guzman, "Accelerated Rates between Stochastic and Adversarial
      Online Convex Optimization", arXiv:2303.03272, 2023.
    """

    source: ClassVar[str] = "Sachs et al., 2023"
    needs_bounded_domain: ClassVar[bool] = True
    domain: ConvexSet = param(factory=L2Ball, doc="X, a bounded set with project and diameter that contains the origin")
    step_scale: ArrayLike = param(1.0, "(0, inf)", "multiplier of the step size; the theory uses 1")

    def init(self, key: jax.Array) -> OptimisticFTRL2023State:
        del key  # deterministic
        zero = points.zeros(self.dim)
        return OptimisticFTRL2023State(
            x=self.domain.zero(self.dim), gradient_sum=zero, hint=zero, denominator=jnp.zeros(())
        )

    def advance(self, t: jax.Array, state: OptimisticFTRL2023State, x: Point, grad: Point) -> OptimisticFTRL2023State:
        del t, x
        size = points.norm(points.subtract(grad, state.hint))
        linear = self.domain.diameter * size
        quadratic = 0.5 * self.step_size(state.denominator) * size * size
        summand = jnp.where(state.denominator > 0.0, jnp.minimum(quadratic, linear), linear)
        denominator = points.nan_if_infinite(state.denominator + summand)
        total = points.add(state.gradient_sum, grad)
        x = self.domain.project(points.scale(points.add(total, grad), -self.step_size(denominator)))  # m_{t+1} = g_t
        return OptimisticFTRL2023State(x=x, gradient_sum=total, hint=grad, denominator=denominator)

    def step_size(self, denominator: jax.Array) -> jax.Array:
        """Return eta_t `[]` from N_{t-1}; if N is 0, all gradients are 0 and the value of eta has no effect."""
        scale = self.step_scale * self.domain.diameter * self.domain.diameter
        return scale / jnp.where(denominator > 0.0, denominator, 1.0)
