"""OPDP: online primal-dual Frank-Wolfe (after Lee, Ho-Nguyen & Lee, 2023, Algorithm 1; reconstructed).

    h_t   = grad f_t(x_t) + l_t grad g_t(x_t)
    F_t   = eta <h_1 + ... + h_t, x> + ||x - x_1||^2,       eta = D / (2 G T^{3/4})
    x_t+1 = x_t + sigma (v_t - x_t),  v_t = argmin_{v in K} <grad F_t(x_t), v>,  sigma = min(1, 2 / sqrt(t))
    l_t+1 = max(0, l_t + mu (g_t(x_t) - theta l_t))

Notation: T is the field `horizon`, G is `lipschitz`, D is `domain.diameter`, mu is `dual_step` and theta is `damping`.
A round needs one linear minimisation.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.coco import frank_wolfe
from jaxbandits.algorithms.coco.frank_wolfe import Step
from jaxbandits.algorithms.coco.learner import PointLearner
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, validate
from jaxbandits.base.ranges import BOOL
from jaxbandits.domains import points
from jaxbandits.domains.points import Point, Shape
from jaxbandits.types import Constrained, Obs, PointDecision


class OPDPState(NamedTuple):
    """State of `OPDP`: the iterate, the multiplier, the sum of gradients, and the step sizes."""

    last: Step  # x_t is last.x
    anchor: Point  # [d]  x_1
    grad_sum: Point  # [d]  sum of the gradients h
    dual: jax.Array  # []  l_t
    eta: jax.Array  # []  eta
    dual_step: jax.Array  # []  mu
    damping: jax.Array  # []  theta


@pytree
class OPDP(PointLearner):
    """OPDP: online Frank-Wolfe on $f_t + l_t g_t$, with a multiplier $l_t$ that increases while g is violated.

    This is a reconstruction, since the pseudo-code of the paper could not be obtained. The original method accepts any
    projection-free learner; this class uses online Frank-Wolfe. The results here do not apply to the original method.
    The domain needs `zero`, `lmo` and `diameter`. Decisions are points of any shape (`domains.points`).

    Guarantee:
      The rates that the literature quotes for OPDP are $T^{5/6}$ for regret and violation under stochastic constraints.
      Under adversarial constraints they are $T^{5/6 + a}$ for the regret and $T^{11/12 - a/2}$ for the violation, with
      a in (0, 1).

    Deviations:
      * The method and its constants are our reconstruction. [reconstructed]
      * `hard` [ours]: with True, $g^+$ replaces g, so that a violation in one round cannot be offset in another round.
        The experiments of the constrained family use True.
      * `eta_scale` [ours] multiplies eta; online Frank-Wolfe uses 1.

    References:
      Dabeen Lee, Nam Ho-Nguyen, Dongyeong Lee: Projection-free Online Convex Optimization with Stochastic Constraints.
      2023. Algorithm 1.
      Elad Hazan, Satyen Kale: Projection-free Online Learning. ICML 2012 (online Frank-Wolfe).
    """

    feedback: ClassVar[type] = Constrained
    source: ClassVar[str] = "reconstruction after Lee, Ho-Nguyen & Lee, 2023, Algorithm 1"
    oracles: ClassVar[tuple[str, ...]] = ("zero", "lmo", "diameter")
    horizon: ArrayLike = param(range="[1, inf)", doc="T, number of rounds")
    lipschitz: ArrayLike = param(1.0, "(0, inf)", "G, bound on the gradients of losses and constraints")
    dual_step: ArrayLike | None = param(None, "[0, inf)", "mu, step size of the multiplier; None: T^(-5/6) / (G D)")
    damping: ArrayLike | None = param(
        None, "[0, inf)", "theta, damping that pulls the multiplier to 0; None: G D T^(-1/6)"
    )
    hard: ArrayLike = param(False, BOOL, "True: use g^+ in place of g")
    eta_scale: ArrayLike = param(1.0, "(0, inf)", "multiplier of eta")

    @classmethod
    def theory(cls, *, dim: Shape, horizon: ArrayLike, **changes: FieldValue) -> "OPDP":
        """Use the defaults: mu = T^{-5/6} / (G D) and theta = G D T^{-1/6}."""
        return cls(**{"dim": dim, "horizon": horizon} | changes)

    @classmethod
    def practical(cls, *, dim: Shape, horizon: ArrayLike, **changes: FieldValue) -> "OPDP":
        """Use our constants, which were chosen by hand.

        They were chosen on `LinearConstraints` and `QuadraticConstraints` (d = 10, T = 4096) so that the violation is
        about as large as with `OFWTVC.practical`: g^+ replaces g, eta is multiplied by 10, mu is multiplied by 100, and
        theta is divided by 100.
        """
        fields = {"dim": dim, "horizon": horizon} | changes
        base = cls(**fields)
        validate(base)
        T, scale = np.asarray(base.horizon, dtype=float), base.lipschitz * base.domain.diameter
        steps = {"dual_step": 100.0 * T ** (-5.0 / 6.0) / scale, "damping": 0.01 * scale * T ** (-1.0 / 6.0)}
        return cls(**{"hard": True, "eta_scale": 10.0} | steps | fields)

    @classmethod
    def example(cls) -> "OPDP":
        return cls(dim=2, horizon=200, lipschitz=2.0)

    def init(self, key: jax.Array) -> OPDPState:
        del key  # deterministic
        last = frank_wolfe.init(self.domain, self.start, self.dim)
        real, diameter = last.gap.dtype, self.domain.diameter
        horizon, scale = jnp.asarray(self.horizon, real), self.lipschitz * diameter
        mu = horizon ** (-5.0 / 6.0) / scale if self.dual_step is None else self.dual_step
        theta = scale * horizon ** (-1.0 / 6.0) if self.damping is None else self.damping
        return OPDPState(
            last=last,
            anchor=last.x,
            grad_sum=points.zeros(self.dim),
            dual=jnp.zeros(()),
            eta=jnp.asarray(self.eta_scale * 0.5 * diameter / self.lipschitz * horizon**-0.75, real),
            dual_step=jnp.asarray(mu, real),
            damping=jnp.asarray(theta, real),
        )

    def update(
        self, key: jax.Array, t: jax.Array, state: OPDPState, obs: Obs, decision: PointDecision, feedback: Constrained
    ) -> OPDPState:
        del key, obs, decision
        response = feedback.first()
        inactive = self.hard & (response.con <= 0.0)
        con = jnp.where(inactive, 0.0, response.con)
        h = points.add_scaled(response.grad, jnp.where(inactive, 0.0, state.dual), response.con_grad)
        grad_sum = points.add(state.grad_sum, h)
        last = frank_wolfe.proximal_step(self.domain, state.last, state.anchor, grad_sum, state.eta, t + 1, 1.0)
        dual = jnp.maximum(state.dual + state.dual_step * (con - state.damping * state.dual), 0.0)
        return state._replace(last=last, grad_sum=grad_sum, dual=dual)

    def diagnostics(self, state: OPDPState) -> dict[str, jax.Array]:
        """Return the multiplier `dual`, the Frank-Wolfe `gap` of F_t at x_t, and the `oracle_calls` per round."""
        return {"dual": state.dual, "gap": state.last.gap, "oracle_calls": jnp.ones(())}
