"""LOO-BOGD: blocked online gradient descent with a linear oracle (Garber & Kretzu, COLT 2022, Algorithm 4).

    play x_m in the K rounds of block m; at the end of the block
      y' = y_m - eta (sum of the block's gradients)
      x_m+1, y_m+1 = close infeasible projection of y' from x_m (`infeasible_projection`), to accuracy eps

Notation: K, the number of rounds in a block, is the field `block`, T is `horizon`, G is `lipschitz`, and R is the
`outer_radius` of the domain. The constraints are ignored.
"""

from typing import ClassVar, NamedTuple

import jax

from jaxbandits.algorithms.coco import blocks, infeasible_projection
from jaxbandits.algorithms.coco.infeasible_projection import Iterate
from jaxbandits.algorithms.coco.learner import BlockLearner
from jaxbandits.base.pytree import pytree
from jaxbandits.domains import points
from jaxbandits.domains.points import Point
from jaxbandits.types import Gradient, Obs, PointDecision


class LOOBOGDState(NamedTuple):
    """State of `LOOBOGD`: the iterate, and the sum of the gradients in the current block."""

    run: Iterate  # x_m is run.x, y_m is run.y
    block_sum: Point  # [d]  sum of the gradients in the current block


@pytree
class LOOBOGD(BlockLearner):
    """LOO-BOGD: online gradient descent on blocks, with approximate projections that use linear minimisations.

    The domain needs `zero`, `lmo` and `outer_radius`. Decisions are points of any shape (`domains.points`).

    Guarantee:
      For convex $f_t$ that are G-Lipschitz on K, the regret is $O(G R T^{3/4})$ with at most T linear minimisations
      (Theorem 3 of the paper).

    Deviations:
      * The printed algorithm plays with a lag of one block, in which the projection is computed; this version has no
        lag. [ours]
      * `cut_first` [ours]: the squared distance that determines the step of the projection is computed after y' has
        been scaled back to the ball of radius R, which allows larger steps. With `cut_first = False` it is computed
        before that, as printed.
      * With the default $eps = 60 R^2 T^{-1/2}$ a projection returns $x_m$ unless the distance from $x_m$ to y', scaled
        back to the ball, exceeds $sqrt(180) R T^{-1/4}$. For $T <= 2025$ no point of the ball is so far from $x_m$, and
        for $T <= 32400$ none is so far from $x_1 = 0$, so that x never moves. `practical` has a smaller eps. [printed]
      * `most_calls` [ours]: the maximum number of oracle calls in one projection; `diagnostics` reports the projections
        that stopped early.

    References:
      Dan Garber, Ben Kretzu: New Projection-free Algorithms for Online Convex Optimization with Adaptive Regret
      Guarantees. COLT 2022 (PMLR 178). Algorithms 2-4.
    """

    feedback: ClassVar[type] = Gradient
    source: ClassVar[str] = "Garber & Kretzu, COLT 2022, Algorithm 4"

    def init(self, key: jax.Array) -> LOOBOGDState:
        del key  # deterministic
        run = infeasible_projection.init(self.domain, self.start, self.dim)
        return LOOBOGDState(run=run, block_sum=points.zeros(self.dim))

    def update(
        self, key: jax.Array, t: jax.Array, state: LOOBOGDState, obs: Obs, decision: PointDecision, feedback: Gradient
    ) -> LOOBOGDState:
        del key, obs, decision
        state = state._replace(
            run=infeasible_projection.stay(state.run),
            block_sum=points.add(state.block_sum, feedback.first().grad),
        )
        return blocks.at_end(t, self._block, self._end_block, state)

    def _end_block(self, state: LOOBOGDState) -> LOOBOGDState:
        return LOOBOGDState(run=self.descend(state), block_sum=points.zeros_like(state.block_sum))
