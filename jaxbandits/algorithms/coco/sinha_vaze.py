"""Sinha-Vaze: adaptive projected gradient descent on the Lyapunov surrogate (Sinha & Vaze, NeurIPS 2024).

    Q_t = Q_{t-1} + g_t^+(x_t),   w_t = Phi'(beta Q_t),   Phi(x) = exp(lam x) - 1
    h_t = beta (gamma grad f_t(x_t) + w_t 1[g_t(x_t) > 0] grad g_t(x_t))
    x_t+1 = P_K(x_t - eta_t h_t),   eta_t = sqrt(2) D / (2 sqrt(||h_1||^2 + ... + ||h_t||^2))

This is the baseline with projections. Its steps do not change when all h are multiplied by a constant, so that the code
divides all h by beta gamma (see `lyapunov`). Notation: K is the field `domain`, T is `horizon`, G is `lipschitz` and D
is `domain.diameter`; the paper writes b for beta and V for gamma.
"""

import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.coco.learner import PointLearner
from jaxbandits.algorithms.coco.lyapunov import Lyapunov, surrogate_gradient
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.domains import points
from jaxbandits.domains.points import Point
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.numerics.scaled_squares import ScaledSquares
from jaxbandits.types import Constrained, Obs, PointDecision


class SinhaVazeState(NamedTuple):
    """State of `SinhaVaze`: the point, the cumulative violation, and the sum of squares of the gradients."""

    x: Point  # [d]  x_t
    queue: CompensatedSum  # []  Q_t
    energy: ScaledSquares  # []  sum of ||h / (beta gamma)||^2
    eta_scale: jax.Array  # []  sqrt(2) D / 2; eta_t is this constant divided by the root of the energy
    surrogate: Lyapunov  # [] beta, gamma, lam


@pytree
class SinhaVaze(PointLearner):
    """Method of Sinha & Vaze for convex losses; the domain needs `zero`, `project` and `diameter`.

    Guarantee: the regret is $O(sqrt T)$ and $Q_T = O(sqrt T log T)$ if all $f_t$ and $g_t$ are convex and G-Lipschitz
      on K, and some point of K satisfies every constraint.
    Deviations:
      * [reconstructed] The defaults of `beta`, `gamma` and `lam` were not checked against the text of the paper.
      * [ours] The exponent is clamped at 60 in float32 and at 600 in float64, which `diagnostics` reports.
    References: A. Sinha, R. Vaze, "Optimal Algorithms for Online Convex Optimization with Adversarial Constraints",
      NeurIPS 2024 (arXiv:2310.18955).
    """

    feedback: ClassVar[type] = Constrained
    source: ClassVar[str] = "Sinha & Vaze, NeurIPS 2024, convex losses; uses projections"
    oracles: ClassVar[tuple[str, ...]] = ("zero", "project", "diameter")
    horizon: ArrayLike = param(range="[1, inf)", doc="T, number of rounds; it affects only lam")
    lipschitz: ArrayLike = param(1.0, "(0, inf)", "G, bound on the gradients of losses and constraints")
    beta: ArrayLike | None = param(None, "(0, inf)", "b, scale of the violation; None: 1 / (2 G D)")
    gamma: ArrayLike = param(1.0, "(0, inf)", "V, weight of the loss")
    lam: ArrayLike | None = param(None, "(0, inf)", "lambda, exponent of Phi; None: 1 / (2 sqrt T)")

    @classmethod
    def example(cls) -> "SinhaVaze":
        return cls(dim=2, horizon=200, lipschitz=2.0)

    def init(self, key: jax.Array) -> SinhaVazeState:
        del key  # deterministic
        zero = jnp.zeros(())
        beta = 1.0 / (2.0 * self.lipschitz * self.domain.diameter) if self.beta is None else self.beta
        lam = 0.5 * jnp.asarray(self.horizon, zero.dtype) ** -0.5 if self.lam is None else self.lam
        x = self.domain.zero(self.dim) if self.start is None else self.start
        return SinhaVazeState(
            x=jax.tree.map(lambda a: jnp.asarray(a, zero.dtype), x),
            queue=CompensatedSum.init(zero),
            energy=ScaledSquares.init(zero.dtype),
            eta_scale=jnp.asarray(math.sqrt(0.5) * self.domain.diameter, zero.dtype),
            surrogate=Lyapunov(*(jnp.asarray(a, zero.dtype) for a in (beta, self.gamma, lam))),
        )

    def point(self, state: SinhaVazeState) -> Point:
        return state.x

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: SinhaVazeState,
        obs: Obs,
        decision: PointDecision,
        feedback: Constrained,
    ) -> SinhaVazeState:
        del key, t, obs, decision
        response = feedback.first()
        queue = state.queue.add(jnp.maximum(response.con, 0.0))
        weight = state.surrogate.weight(queue.total)
        h = surrogate_gradient(response.grad, response.con, response.con_grad, weight)
        energy = state.energy.add(points.norm(h))
        started = energy.scale > 0.0
        direction = points.scale(h, jnp.where(started, energy.inverse_scale, 1.0))
        eta = state.eta_scale / jnp.sqrt(jnp.where(started, energy.total, 1.0))
        x = self.domain.project(points.add_scaled(state.x, -eta, direction))
        return state._replace(x=x, queue=queue, energy=energy)

    def diagnostics(self, state: SinhaVazeState) -> dict[str, jax.Array]:
        """Return `weight`, of the constraint relative to the loss, and `clamped`, True if the exponent is clamped."""
        queue = state.queue.total
        return {"weight": state.surrogate.weight(queue), "clamped": state.surrogate.is_clamped(queue)}
