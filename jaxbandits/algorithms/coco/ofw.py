"""OFW: online Frank-Wolfe (Hazan & Kale, ICML 2012).

    F_t   = eta <grad f_1 + ... + grad f_t, x> + ||x - x_1||^2,     eta = D / (2 G T^{3/4})
    x_t+1 = x_t + sigma (v_t - x_t),  v_t = argmin_{v in K} <grad F_t(x_t), v>,  sigma = min(1, 2 / sqrt(t))

Notation: K is the field `domain`, T is `horizon`, G is `lipschitz` and D is `domain.diameter`. A round needs one linear
minimisation, and the memory is $O(d)$.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.coco import frank_wolfe
from jaxbandits.algorithms.coco.learner import PointLearner
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.domains import points
from jaxbandits.domains.points import Point
from jaxbandits.types import Gradient, Obs, PointDecision


class OFWState(NamedTuple):
    """State of `OFW`: the iterate, the first iterate, and the sum of gradients."""

    last: frank_wolfe.Step  # x_t is last.x
    anchor: Point  # [d]  x_1
    grad_sum: Point  # [d]  sum of the gradients
    eta: jax.Array  # []  eta


@pytree
class OFW(PointLearner):
    """Online Frank-Wolfe that ignores the constraints, as a baseline for the learners with constraints.

    The domain needs `zero`, `lmo` and `diameter`.

    Guarantee: for convex losses with gradients of norm at most G, the regret is $O(G D T^{3/4})$.
    Deviations: `eta_scale` [ours] multiplies eta; the theory uses 1.
    References: E. Hazan, S. Kale, "Projection-free Online Learning", ICML 2012, Algorithm 1; constants as in E. Hazan,
      "Introduction to Online Convex Optimization", 2016, Algorithm 24.
    """

    feedback: ClassVar[type] = Gradient
    source: ClassVar[str] = "Hazan & Kale, ICML 2012; ignores constraints"
    oracles: ClassVar[tuple[str, ...]] = ("zero", "lmo", "diameter")
    horizon: ArrayLike = param(range="[1, inf)", doc="T, number of rounds")
    lipschitz: ArrayLike = param(1.0, "(0, inf)", "G, bound on the gradients of the losses")
    eta_scale: ArrayLike = param(1.0, "(0, inf)", "multiplier of eta; the theory uses 1")

    @classmethod
    def example(cls) -> "OFW":
        return cls(dim=2, horizon=200, lipschitz=2.0)

    def init(self, key: jax.Array) -> OFWState:
        del key  # deterministic
        last = frank_wolfe.init(self.domain, self.start, self.dim)
        decay = jnp.asarray(self.horizon, last.gap.dtype) ** -0.75
        eta = self.eta_scale * self.domain.diameter / (2.0 * self.lipschitz) * decay
        eta = jnp.asarray(eta, last.gap.dtype)
        return OFWState(last=last, anchor=last.x, grad_sum=points.zeros(self.dim), eta=eta)

    def update(
        self, key: jax.Array, t: jax.Array, state: OFWState, obs: Obs, decision: PointDecision, feedback: Gradient
    ) -> OFWState:
        del key, obs, decision
        grad_sum = points.add(state.grad_sum, feedback.first().grad)
        last = frank_wolfe.proximal_step(self.domain, state.last, state.anchor, grad_sum, state.eta, t + 1, 1.0)
        return state._replace(last=last, grad_sum=grad_sum)

    def diagnostics(self, state: OFWState) -> dict[str, jax.Array]:
        """Return the Frank-Wolfe `gap` of F_t at x_t and the `oracle_calls` per round."""
        return {"gap": state.last.gap, "oracle_calls": jnp.ones(())}
