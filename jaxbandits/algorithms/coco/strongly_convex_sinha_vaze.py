"""Sinha-Vaze for strongly convex losses: projected gradient descent on a quadratic surrogate (NeurIPS 2024).

    Q_t = Q_{t-1} + g_t^+(x_t),   w_t = Phi'(beta Q_t) = 2 beta Q_t,   Phi(x) = x^2
    h_t = beta (gamma grad f_t(x_t) + w_t 1[g_t(x_t) > 0] grad g_t(x_t))
    x_t+1 = P_K(x_t - eta_t h_t),   eta_t = 1 / (gamma beta alpha t)

The code divides all quantities by beta gamma (see `lyapunov`), which gives steps of size $1 / (alpha t)$ along grad $f
+ (w / gamma)$ 1[g > 0] grad g. Notation: K is the field `domain`, T is `horizon`, G is `lipschitz` and alpha is
`curvature`; the paper writes b for beta and V for gamma.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.coco.learner import PointLearner
from jaxbandits.algorithms.coco.lyapunov import QuadraticLyapunov, surrogate_gradient
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.domains import points
from jaxbandits.domains.points import Point
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.types import Constrained, Obs, PointDecision


class StronglyConvexSinhaVazeState(NamedTuple):
    """State of `StronglyConvexSinhaVaze`: the point and the cumulative violation."""

    x: Point  # [d]  x_t
    queue: CompensatedSum  # []  Q_t
    surrogate: QuadraticLyapunov  # [] beta, gamma, linear


@pytree
class StronglyConvexSinhaVaze(PointLearner):
    """Method of Sinha & Vaze for strongly convex losses; the domain needs `zero` and `project`.

    Guarantee: the regret is $O(log T)$ and $Q_T = O(sqrt(T log T))$ if $f_t$ is alpha-strongly convex, $g_t$ is convex,
      both are G-Lipschitz on K, and some point of K satisfies every constraint.
    Deviations:
      * [reconstructed] The defaults of the constants were not checked against the text of the paper.
    References: A. Sinha, R. Vaze, "Optimal Algorithms for Online Convex Optimization with Adversarial Constraints",
      NeurIPS 2024 (arXiv:2310.18955).
    """

    feedback: ClassVar[type] = Constrained
    source: ClassVar[str] = "Sinha & Vaze, NeurIPS 2024, strongly convex losses; uses projections"
    oracles: ClassVar[tuple[str, ...]] = ("zero", "project")
    horizon: ArrayLike = param(range="[1, inf)", doc="T, number of rounds; it affects only gamma")
    curvature: ArrayLike = param(range="(0, inf)", doc="alpha, modulus of strong convexity of the losses")
    lipschitz: ArrayLike = param(1.0, "(0, inf)", "G, bound on the gradients of losses and constraints")
    beta: ArrayLike = param(1.0, "(0, inf)", "b, scale of the violation")
    gamma: ArrayLike | None = param(None, "(0, inf)", "V, weight of the loss; None: 8 G^2 ln(e T) / alpha")

    @classmethod
    def example(cls) -> "StronglyConvexSinhaVaze":
        return cls(dim=2, horizon=200, curvature=0.5, lipschitz=2.0)

    def init(self, key: jax.Array) -> StronglyConvexSinhaVazeState:
        del key  # deterministic
        zero = jnp.zeros(())
        gamma = self.gamma
        if gamma is None:
            rounds = jnp.asarray(self.horizon, zero.dtype)
            # G / alpha is computed first, since it does not depend on the units of the losses, while G^2 may overflow.
            gamma = 8.0 * (self.lipschitz / self.curvature) * self.lipschitz * (1.0 + jnp.log(rounds))
            gamma = jnp.where(gamma > 0.0, points.nan_if_infinite(jnp.asarray(gamma, zero.dtype)), jnp.nan)
        x = self.domain.zero(self.dim) if self.start is None else self.start
        return StronglyConvexSinhaVazeState(
            x=jax.tree.map(lambda a: jnp.asarray(a, zero.dtype), x),
            queue=CompensatedSum.init(zero),
            surrogate=QuadraticLyapunov(*(jnp.asarray(a, zero.dtype) for a in (self.beta, gamma, 0.0))),
        )

    def point(self, state: StronglyConvexSinhaVazeState) -> Point:
        return state.x

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: StronglyConvexSinhaVazeState,
        obs: Obs,
        decision: PointDecision,
        feedback: Constrained,
    ) -> StronglyConvexSinhaVazeState:
        del key, obs, decision
        response = feedback.first()
        queue = state.queue.add(jnp.maximum(response.con, 0.0))
        weight = state.surrogate.weight(queue.total)
        h = surrogate_gradient(response.grad, response.con, response.con_grad, weight)
        step = 1.0 / (self.curvature * (t + 1).astype(weight.dtype))
        x = self.domain.project(points.add_scaled(state.x, -step, h))
        return state._replace(x=x, queue=queue)

    def diagnostics(self, state: StronglyConvexSinhaVazeState) -> dict[str, jax.Array]:
        """Return the `weight` of the constraint relative to the loss."""
        return {"weight": state.surrogate.weight(state.queue.total)}
