"""LBPM: LPM with bandit feedback (after Garber & Kretzu, 2024, Algorithm 5; reconstructed).

    x_t = y_m + delta u_t,   u_t uniform on the unit sphere, y_m in (1 - delta / r) K; observed: f_t(x_t), g_t(x_t)
    e_t = (d / delta) (f_t(x_t) + l_m g_t^+(x_t)) u_t
    at the end of block m of K rounds
      z' = z_m - eta (sum of e_t),      l_m+1 = max(0, l_m + eta_l (sum of g_t^+(x_t) - K theta l_m))
      y_m+1, z_m+1 = close infeasible projection of z' from y_m on the shrunk set, to accuracy delta^2 / 3

Notation: the symbols are those of `lpm`; M is the field `value_bound`, r is the `inner_radius` of the domain, and delta
is $c T^{-1/4}$ by default.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.coco import blocks, infeasible_projection, perturbation
from jaxbandits.algorithms.coco.infeasible_projection import Iterate
from jaxbandits.algorithms.coco.learner import BanditLearner
from jaxbandits.algorithms.coco.lpm import ascend, dual_constants
from jaxbandits.algorithms.coco.lyapunov import surrogate_values
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static, validate
from jaxbandits.base.ranges import BOOL
from jaxbandits.domains import points
from jaxbandits.domains.points import Point, Shape
from jaxbandits.types import ConstrainedValue, Obs, PointDecision


class LBPMState(NamedTuple):
    """State of `LBPM`: the iterate, the multiplier, and the sums over the current block."""

    run: Iterate  # y_m is run.x, z_m is run.y
    dual: jax.Array  # []  l_m
    block_sum: Point  # [d]  sum of the estimates in the block
    violation: jax.Array  # []  sum of the violations g_t^+(x_t) in the block
    direction: Point  # [d]  u_t of the next round


@pytree
class LBPM(BanditLearner):
    """LBPM: LPM on the shrunk set (1 - delta / r) K, with one-point estimates of the gradient of the Lagrangian.

    Like LPM, this is a reconstruction; its results do not apply to the original method. The domain needs `zero`,
    `lmo`, `outer_radius`, `center` and `inner_radius` > 0. Decisions are points of any shape (`domains.points`).

    Guarantee:
      The rates that the literature quotes for LBPM are $O(T^{3/4} sqrt(log T))$ for the expected regret and $Q_T =
      O(T^{7/8} log T)$.

    Deviations:
      * The method and its constants are our reconstruction [reconstructed]; $eta = R (d M)^{-1/2} T^{-3/4}$ is taken
        from the bandit theorem of Garber & Kretzu (2022). That theorem has $K = 6 d M sqrt(T)$, which exceeds T unless
        T is very large; here $K = sqrt(T)$ [ours]. The step depends on the units of the losses: if losses, constraints,
        M and G are multiplied by s, then the step is multiplied by $sqrt(s)$.
      * `c` [ours]: $delta = c T^{-1/4}$ with $c = 0.9 r$ by default. The field `delta` overrides this value and must be
        below r.
      * `estimator` [ours]: `TwoPoint()` needs two values per round.
      * `cut_first` and `most_calls` [ours] have the same meaning as in LOO-BOGD.

    References:
      Dan Garber, Ben Kretzu: Projection-free Online Convex Optimization with Time-Varying Constraints. ICML 2024.
      Dan Garber, Ben Kretzu: New Projection-free Algorithms for Online Convex Optimization with Adaptive Regret
      Guarantees. COLT 2022 (PMLR 178).
    """

    source: ClassVar[str] = "reconstruction after Garber & Kretzu, ICML 2024, Algorithm 5"
    oracles: ClassVar[tuple[str, ...]] = ("zero", "lmo", "outer_radius", "center", "inner_radius")
    radius_power: ClassVar[float] = -0.25
    block: int | None = static(None, "[1, inf)", "K, number of rounds in a block; None: sqrt(T), rounded")
    value_bound: ArrayLike = param(1.0, "(0, inf)", "M, bound on the values of the losses")
    eta: ArrayLike | None = param(None, "(0, inf)", "eta, step size; None: R (d M)^(-1/2) T^(-3/4)")
    dual_step: ArrayLike | None = param(None, "(0, inf)", "eta_l, step size of the multiplier; None: T^(-3/4) / (G R)")
    damping: ArrayLike | None = param(
        None, "[0, inf)", "theta, damping that pulls the multiplier to 0; None: min(20 R G T^(-1/4), 1 / (eta_l K))"
    )
    cut_first: ArrayLike = param(
        True,
        BOOL,
        "True: the step of the projection uses the distance after y' is scaled back; False: before, as printed",
    )
    most_calls: int = static(1000, "[1, inf)", "maximum number of linear minimisations in one projection")

    @classmethod
    def theory(cls, *, dim: Shape, horizon: int, **changes: FieldValue) -> "LBPM":
        """Use the reconstructed constants, which are the defaults."""
        return cls(**{"dim": dim, "horizon": horizon} | changes)

    @classmethod
    def practical(cls, *, dim: Shape, horizon: int, **changes: FieldValue) -> "LBPM":
        """Use our constants, chosen by hand on `LinearConstraints` and `QuadraticConstraints` (d = 10, T = 4096).

        delta is 0.3 r, as in `BFWTVC.practical`; eta is multiplied by 10 and eta_l by 100. None of the multipliers that
        were tried performs well on linear losses.
        """
        fields = {"dim": dim, "horizon": horizon} | changes
        base = cls(**fields)
        validate(base)
        decay, radius = base.horizon**-0.75, base.domain.outer_radius(base.dim)
        eta = 10.0 * radius * (points.size(base.dim) * np.asarray(base.value_bound, dtype=float)) ** -0.5 * decay
        ours = {"eta": eta, "dual_step": 100.0 * decay / (base.lipschitz * radius)}
        return cls(**ours | {"delta": 0.3 * base.domain.inner_radius(base.dim)} | fields)

    @classmethod
    def example(cls) -> "LBPM":
        return cls(dim=2, horizon=36, lipschitz=2.0)

    def init(self, key: jax.Array) -> LBPMState:
        zero = jnp.zeros(())
        run = infeasible_projection.init(self._shrunk, self.start, self.dim)
        return LBPMState(
            run=run,
            dual=zero,
            block_sum=points.zeros(self.dim),
            violation=zero,
            direction=perturbation.direction(key, self.dim),
        )

    def point(self, state: LBPMState) -> Point:
        return state.run.x

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: LBPMState,
        obs: Obs,
        decision: PointDecision,
        feedback: ConstrainedValue,
    ) -> LBPMState:
        del obs, decision
        values = surrogate_values(feedback, state.dual)
        estimate = self.estimator.gradient(values, state.direction, self.radius)
        violation = state.violation + jnp.maximum(feedback.first().con, 0.0)
        state = state._replace(
            run=infeasible_projection.stay(state.run),
            block_sum=points.add(state.block_sum, estimate),
            violation=violation,
        )
        state = blocks.at_end(t, self._block, self._end_block, state)
        return state._replace(direction=perturbation.direction(key, self.dim))

    def _end_block(self, state: LBPMState) -> LBPMState:
        radius, shrunk = self.domain.outer_radius(self.dim), self._shrunk
        scale = (points.size(self.dim) * jnp.asarray(self.value_bound)) ** -0.5
        run = infeasible_projection.descend(
            shrunk,
            state.run,
            radius * scale * self.horizon**-0.75 if self.eta is None else self.eta,
            state.block_sum,
            eps=self.radius**2 / 3.0,
            radius=shrunk.outer_radius(self.dim),
            most_calls=self.most_calls,
            cut_first=self.cut_first,
        )
        dual = ascend(
            state.dual,
            state.violation,
            *dual_constants(self.dual_step, self.damping, self.horizon, self._block, self.lipschitz * radius),
            self._block,
        )
        return state._replace(
            run=run, dual=dual, block_sum=points.zeros_like(state.block_sum), violation=jnp.zeros_like(dual)
        )

    def diagnostics(self, state: LBPMState) -> dict[str, jax.Array]:
        """Return the multiplier `dual`, and `oracle_calls` and `unfinished` for the projection of the last round."""
        return {"dual": state.dual, "oracle_calls": state.run.calls, "unfinished": state.run.unfinished}

    @property
    def _block(self) -> int:
        return blocks.length(self.horizon, 0.5) if self.block is None else self.block
