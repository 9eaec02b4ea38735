"""PF-OFW: online Frank-Wolfe without a known bound on the gradients (Wang, Wan & Zhang, AAAI 2025, inside Algorithm 1).

    double G~ while G~ < ||h_t||; a doubling starts an epoch: s = t, anchor = x_t, gradient sum = 0
    F_t   = eta <sum_{r=s..t} h_r, x> + ||x - x_s||^2,      eta = D / (2 G~ T^{3/4})
    x_t+1 = x_t + sigma (v_t - x_t),  v_t = argmin_{v in K} <grad F_t(x_t), v>,  sigma = min(1, 2 / sqrt(t - s + 1))

Notation: K is the field `domain`, T is `horizon`, D is `domain.diameter`, and the initial value G~_1 is `g_init`. A
round needs one linear minimisation, and the memory is $O(d)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.coco.frank_wolfe import Epochs, init_epochs, step_epochs
from jaxbandits.algorithms.coco.learner import PointLearner
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.domains import points
from jaxbandits.types import Gradient, Obs, PointDecision


@pytree
class PFOFW(PointLearner):
    """Online Frank-Wolfe that doubles its bound on the gradients when necessary and ignores constraints.

    The domain needs `zero`, `lmo` and `diameter`.

    Guarantee: for convex losses, the regret is $O(G D T^{3/4})$, where G is the largest gradient norm that occurs and
      need not be known (by the argument of Theorem 1 without constraints).

    Deviations:
      * `g_init`: 1.0 [printed], None [ours]. With None, the initial G~ is the norm of the first nonzero gradient, so
        that the plays do not depend on the scale of the losses.
      * `step_cap`: inf [printed], 1 [ours], as in OFW-TVC.
      * `eta_scale` [ours] multiplies eta; the paper uses 1.

    References:
      Yibo Wang, Yuanyu Wan, Lijun Zhang: Revisiting Projection-Free Online Learning with Time-Varying Constraints.
      AAAI 2025. Algorithm 1 and the remark after it.
    """

    feedback: ClassVar[type] = Gradient
    source: ClassVar[str] = "Wang, Wan & Zhang, AAAI 2025, inside Algorithm 1; ignores constraints"
    oracles: ClassVar[tuple[str, ...]] = ("zero", "lmo", "diameter")
    horizon: ArrayLike = param(range="[1, inf)", doc="T, number of rounds")
    g_init: ArrayLike | None = param(
        None, "(0, inf)", "G~_1, gradient bound; None: the norm of the first nonzero gradient; the paper uses 1"
    )
    eta_scale: ArrayLike = param(1.0, "(0, inf)", "multiplier of eta; the paper uses 1")
    step_cap: ArrayLike = param(1.0, "[1, inf]", "largest step size sigma; the paper uses inf")

    @classmethod
    def example(cls) -> "PFOFW":
        return cls(dim=2, horizon=200)

    def init(self, key: jax.Array) -> Epochs:
        del key  # deterministic
        eta_level = self.eta_scale * 0.5 * self.domain.diameter * jnp.asarray(self.horizon, float) ** -0.75
        level = 0.0 if self.g_init is None else self.g_init
        return init_epochs(self.domain, self.start, self.dim, level, eta_level)

    def update(
        self, key: jax.Array, t: jax.Array, state: Epochs, obs: Obs, decision: PointDecision, feedback: Gradient
    ) -> Epochs:
        del key, obs, decision
        h = feedback.first().grad
        size = points.norm(h)
        if self.g_init is not None:
            return step_epochs(self.domain, state, t, h, size, self.step_cap)
        # The level is 0 before the first nonzero gradient; steps up to then use an arbitrary positive level.
        largest = jnp.maximum(state.level, size)
        level = jnp.where(state.level > 0.0, state.level, jnp.where(size > 0.0, size, 1.0))
        run = step_epochs(self.domain, state._replace(level=level), t, h, size, self.step_cap)
        return run._replace(level=jnp.where(largest > 0.0, run.level, 0.0))

    def diagnostics(self, state: Epochs) -> dict[str, jax.Array]:
        """Return `gradient_bound` G~, the Frank-Wolfe `gap` of F_t at x_t and the `oracle_calls` per round."""
        return {"gradient_bound": state.level, "gap": state.last.gap, "oracle_calls": jnp.ones(())}
