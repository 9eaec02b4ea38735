"""SCOFW: online Frank-Wolfe for strongly convex losses (Wan & Zhang, AAAI 2021).

    F_t(x) = sum_{r <= t} <grad f_r, x> + (alpha / 2) ||x - x_r||^2
    x_t+1  = x_t + sigma (v_t - x_t),  v_t = argmin_{v in K} <grad F_t(x_t), v>,  sigma by exact line search on F_t

Notation: K is the field `domain` and alpha is `curvature`. A round needs one linear minimisation, and the memory is
$O(d)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.coco.frank_wolfe import QuadraticIterate, init_quadratic, step_quadratic
from jaxbandits.algorithms.coco.learner import PointLearner
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.types import Gradient, Obs, PointDecision


@pytree
class SCOFW(PointLearner):
    """Online Frank-Wolfe for strongly convex losses; it ignores constraints, and its domain needs `zero` and `lmo`.

    Guarantee: for alpha-strongly convex losses with bounded gradients, the regret is $O(T^{2/3})$ for every T.
    Deviations: no deviations from the paper are known.
    References: Y. Wan, L. Zhang, "Projection-free Online Learning over Strongly Convex Sets", AAAI 2021, its algorithm
      for strongly convex losses on general sets.
    """

    feedback: ClassVar[type] = Gradient
    source: ClassVar[str] = "Wan & Zhang, AAAI 2021; ignores constraints"
    oracles: ClassVar[tuple[str, ...]] = ("zero", "lmo")
    curvature: ArrayLike = param(range="(0, inf)", doc="alpha, modulus of strong convexity of the losses")

    @classmethod
    def example(cls) -> "SCOFW":
        return cls(dim=2, curvature=0.5)

    def init(self, key: jax.Array) -> QuadraticIterate:
        del key  # deterministic
        return init_quadratic(self.domain, self.start, self.dim)

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: QuadraticIterate,
        obs: Obs,
        decision: PointDecision,
        feedback: Gradient,
    ) -> QuadraticIterate:
        del key, obs, decision
        return step_quadratic(self.domain, state, t, feedback.first().grad, self.curvature)

    def diagnostics(self, state: QuadraticIterate) -> dict[str, jax.Array]:
        """Return the Frank-Wolfe `gap` of F_t at x_t and the `oracle_calls` per round."""
        return {"gap": state.last.gap, "oracle_calls": jnp.ones(())}
