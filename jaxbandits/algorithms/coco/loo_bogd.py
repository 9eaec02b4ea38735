"""LOO-BOGD: blocked online gradient descent with a linear oracle (Garber & Kretzu, COLT 2022, Algorithm 4).

    play x_m for the K rounds of block m; at its end
      y' = y_m - eta (sum of the block's gradients)
      x_m+1, y_m+1 = close infeasible projection of y' from x_m (`infeasible_projection`), to accuracy eps

Notation: K rounds `block`, T horizon, G lipschitz, R outer_radius of the domain. The constraints are ignored.
"""

from typing import Any, ClassVar, NamedTuple

import jax

from jaxbandits.algorithms.coco import blocks, infeasible_projection
from jaxbandits.algorithms.coco.infeasible_projection import Iterate
from jaxbandits.algorithms.coco.learner import PointLearner
from jaxbandits.base.pytree import ArrayLike, param, pytree, static, validate
from jaxbandits.base.ranges import BOOL
from jaxbandits.domains import points
from jaxbandits.domains.points import Point, Shape
from jaxbandits.types import Gradient, PointDecision


class LOOBOGDState(NamedTuple):
    """State of `LOOBOGD`: the iterate, and the sum over the current block."""

    run: Iterate  # x_m is run.x, y_m is run.y
    block_sum: Point  # [d]  sum of the gradients of the block


@pytree
class LOOBOGD(PointLearner):
    """LOO-BOGD: online gradient descent on blocks, with approximate projections by linear minimisations.

    The domain needs `zero`, `lmo` and `outer_radius`. Decisions are points of any form.

    Guarantee:
      For convex f_t, G-Lipschitz on K: regret O(G R T^{3/4}) with at most T linear minimisations (their Theorem 3).

    Deviations:
      * Their version plays one block late, so that the projection is computed meanwhile; here there is no lag.
        [ours]
      * `cut_first` [ours]: the squared distance that sets the step of the projection is computed after y' is scaled
        back to the ball of radius R, which allows larger steps. False: before, as printed.
      * With the default eps = 60 R^2 T^{-1/2} a projection returns x_m unless y' is farther than sqrt(180) R T^{-1/4}.
        No point of the ball is for T <= 2025, and none from x_1 = 0 for T <= 32400: x does not move until then.
        `practical` has a smaller eps. [printed]
      * `most_calls` [ours]: a cap on the oracle calls of one projection; `diagnostics` reports those that it stopped.

    References:
      Dan Garber, Ben Kretzu: New Projection-free Algorithms for Online Convex Optimization with Adaptive Regret
      Guarantees. COLT 2022 (PMLR 178). Algorithms 2-4.
    """

    feedback: ClassVar[type] = Gradient
    source: ClassVar[str] = "Garber & Kretzu, COLT 2022, Algorithm 4"
    oracles: ClassVar[tuple[str, ...]] = ("zero", "lmo", "outer_radius")
    horizon: int = static(range="[1, inf)", doc="T")
    block: int | None = static(None, "[1, inf)", "K, rounds in a block; None: 5 sqrt(T), rounded")
    lipschitz: ArrayLike = param(1.0, "(0, inf)", "G, bound on the gradients")
    eta: ArrayLike | None = param(None, "(0, inf)", "step size; None: (R / G) T^(-3/4)")
    eps: ArrayLike | None = param(None, "(0, inf)", "accuracy of the projections; None: 60 R^2 T^(-1/2)")
    cut_first: ArrayLike = param(
        True, BOOL, "False: the projection's step from the distance before the cut, as printed"
    )
    most_calls: int = static(1000, "[1, inf)", "cap on the linear minimisations of one projection")

    @classmethod
    def theory(cls, *, dim: Shape, horizon: int, **changes: Any) -> "LOOBOGD":
        """Use eta, eps and K of the theorem: the defaults. From x_1 = 0 the iterate does not move for T <= 32400."""
        return cls(**{"dim": dim, "horizon": horizon} | changes)

    @classmethod
    def practical(cls, *, dim: Shape, horizon: int, **changes: Any) -> "LOOBOGD":
        """Use blocks of sqrt(T) rounds and eps = 1.8 R^2 T^{-1/2}, 0.03 of the theorem's (ours, set by hand)."""
        fields = {"dim": dim, "horizon": horizon} | changes
        base = cls(**fields)
        validate(base)
        return cls(**infeasible_projection.practical_fields(base.domain, base.dim, base.horizon) | fields)

    @classmethod
    def example(cls) -> "LOOBOGD":
        return cls.practical(dim=2, horizon=36, lipschitz=2.0, eta=0.3)

    def init(self, key: jax.Array) -> LOOBOGDState:
        del key  # deterministic
        run = infeasible_projection.init(self.domain, self.start, self.dim)
        return LOOBOGDState(run=run, block_sum=points.zeros(self.dim))

    def select(self, key: jax.Array, t: jax.Array, state: LOOBOGDState, obs: Any) -> PointDecision:
        del key, t, obs
        return PointDecision.at(state.run.x)

    def update(
        self, key: jax.Array, t: jax.Array, state: LOOBOGDState, obs: Any, decision: PointDecision, feedback: Gradient
    ) -> LOOBOGDState:
        del key, obs, decision
        state = state._replace(
            run=infeasible_projection.stay(state.run),
            block_sum=points.add(state.block_sum, feedback.first().grad),
        )
        return blocks.at_end(t, self._block, self._end_block, state)

    def _end_block(self, state: LOOBOGDState) -> LOOBOGDState:
        radius = self.domain.outer_radius(self.dim)
        eta = radius / self.lipschitz * self.horizon**-0.75 if self.eta is None else self.eta
        run = infeasible_projection.descend(
            self.domain,
            state.run,
            eta,
            state.block_sum,
            eps=60.0 * radius**2 * self.horizon**-0.5 if self.eps is None else self.eps,
            radius=radius,
            most_calls=self.most_calls,
            cut_first=self.cut_first,
        )
        return LOOBOGDState(run=run, block_sum=points.zeros_like(state.block_sum))

    def diagnostics(self, state: LOOBOGDState) -> dict[str, jax.Array]:
        """Return the `oracle_calls` of the last round, and whether their cap left a projection `unfinished`."""
        return {"oracle_calls": state.run.calls, "unfinished": state.run.unfinished}

    @property
    def _block(self) -> int:
        return blocks.length(self.horizon, 0.5, 5.0) if self.block is None else self.block
