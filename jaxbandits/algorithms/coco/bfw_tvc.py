"""BFW-TVC: projection-free bandit learning with time-varying constraints (Wang, Wan & Zhang, AAAI 2025, Algorithm 3).

    x_t = y_m + delta u_t,   u_t uniform on the unit sphere, y_m in (1 - delta / r) K; observed: f_t(x_t), g_t(x_t)
    e_t = (d / delta) (gamma beta f_t(x_t) + w_t beta g_t^+(x_t)) u_t,      w_t = Phi'(beta Q_t)  (`lyapunov`)
    at the end of block m of K rounds:
      double G~ while G~ < beta G (gamma + w_t); a doubling starts an epoch: anchor = y_m, sum of estimates = 0
      F_m(y) = eta <sum of e_t of the epoch, y> + ||y - anchor||^2,    eta = c D / (d M G~ T^{3/4})    (22), (23)
      y_m+1 = Frank-Wolfe with line search on F_m from y_m, up to the first step whose gap was <= eps  (24)-(26)

The code divides all quantities by beta gamma, as in `lyapunov`: $e' = e / (beta gamma)$, G' = G~ / (beta gamma), and
$eta e = eta' e'$ for $eta' = c D / (d M G' T^{3/4})$.

Notation: K, in "block m of K rounds", is the field `block`, T is `horizon`, G is `lipschitz` and M is `value_bound`; D
and r are `diameter` and `inner_radius` of the domain K, and delta is $c T^{-1/4}$ by default.
"""

import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.coco import blocks, frank_wolfe, perturbation
from jaxbandits.algorithms.coco.frank_wolfe import Step
from jaxbandits.algorithms.coco.learner import BanditLearner
from jaxbandits.algorithms.coco.lyapunov import Lyapunov, double_until, surrogate_values
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static, validate
from jaxbandits.base.ranges import BOOL
from jaxbandits.domains import points
from jaxbandits.domains.points import Point, Shape
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.tracing.batching import while_loop
from jaxbandits.types import ConstrainedValue, Obs, PointDecision


class BFWTVCState(NamedTuple):
    """State of `BFWTVC`: the centre $y_m$, the surrogate of the current epoch, and the cumulative violation."""

    last: Step  # y_m is last.x
    anchor: Point  # [d]  centre at the start of the epoch
    grad_sum: Point  # [d]  sum of the estimates in finished blocks of the epoch, divided by beta gamma
    block_sum: Point  # [d]  sum of the estimates of this block, divided by beta gamma
    direction: Point  # [d]  u_t of the next round
    queue: CompensatedSum  # []  Q_t
    surrogate: Lyapunov  # [] beta, gamma, lam
    level: jax.Array  # []  G~ / (beta gamma)
    calls: jax.Array  # [] int32, number of linear minimisations at the end of the last round
    unfinished: jax.Array  # [] bool, True if `most_steps` ended these minimisations early


@pytree
class BFWTVC(BanditLearner):
    """BFW-TVC: Frank-Wolfe on a Lyapunov surrogate, with one-point gradient estimates that are summed over blocks.

    The domain needs `zero`, `lmo`, `diameter`, `center` and `inner_radius` > 0. Decisions are points of any shape
    (`domains.points`).

    Guarantee:
      Theorem 3: if $f_t$ and $g_t$ are convex and G-Lipschitz, $|f_t| <= M$ on K, and some point of K satisfies every
      constraint, then the expected regret is $O(T^{3/4})$ and $Q_T$ is $O(T^{3/4} log T)$.

    Deviations:
      * `c` [ours]: the paper uses "a constant c > 0" with $delta <= r$; the default here is $c = 0.9 r$. The condition
        here is $delta < r$, since $(1 - delta / r) K$ is a single point for $delta = r$. The field `delta` overrides $c
        T^{-1/4}$.
      * `g_init` [ours]: the paper starts from G~ = 1. The default is beta G gamma, a lower bound on every target of the
        doubling, so that G~ is proportional to the gradients (see OFW-TVC).
      * eta of (22) [printed] is divided by both M and G~, although one of them would suffice: if losses, constraints, M
        and G are multiplied by s, then the step is divided by s. Choose units in which M is about 1, or set `eta_scale`
        = s.
      * `value_bound` [printed]: the M of Theorem 3 bounds $|f_t|$. The analysis needs a bound on the surrogate $f_t +
        (w_t / gamma) g_t^+$; to follow the proof, set `value_bound` to a bound on the surrogate. [reconstructed]
      * `beta` [printed]: 1 / C2 with C2 = $16 G (c D / r + 3 c + 1 + 2 c D / (d M) + d M D / c)$; the proof
        needs $D / 4$ where C2 has 1. This matters only for $D > 4$, and it does not change the rates.
      * `weight_before` [ours]: the paper computes the weight of round t from $Q_t$ [printed], which depends on $u_t$.
        Where g is linear and positive, this multiplies the estimate by a biased factor exp(s g) (1 + s g), s = lam
        beta. `weight_before = True` uses $Q_{t-1}$, which gives an unbiased estimate.
      * The condition of line 8, "for all rounds of the block", is evaluated in the last round of the block, since $Q_t$
        does not decrease. The initial values $k = b_1 = 1$ are not stated in the paper. [reconstructed]
      * `most_steps` [ours]: the maximum number of Frank-Wolfe steps per block. The default ceil(3.375 $sqrt(T)$) always
        suffices for the default eps, by the gap bound ceil(13.5 $D^2 / eps$) of Jaggi (ICML 2013). A smaller eps may
        need more steps; `diagnostics` reports the blocks that stopped early.
      * `estimator` [ours]: `TwoPoint()` needs two values per round, and the size of its estimates does not grow as
        delta decreases.
      * `eta_scale` and `constraint_scale` [ours] have the same meaning as in OFW-TVC.

    References:
      Yibo Wang, Yuanyu Wan, Lijun Zhang: Revisiting Projection-Free Online Learning with Time-Varying Constraints.
      AAAI 2025. Algorithm 3, equations (21)-(26), Theorem 3.
    """

    source: ClassVar[str] = "Wang, Wan & Zhang, AAAI 2025, Algorithm 3"
    oracles: ClassVar[tuple[str, ...]] = ("zero", "lmo", "diameter", "center", "inner_radius")
    radius_power: ClassVar[float] = -0.25
    block: int | None = static(None, "[1, inf)", "K, number of rounds in a block; None: sqrt(T), rounded")
    value_bound: ArrayLike = param(1.0, "(0, inf)", "M, bound on the values of the losses")
    beta: ArrayLike | None = param(None, "(0, inf)", "beta, scale of the violation; None: 1 / C2 of Theorem 3")
    gamma: ArrayLike = param(1.0, "(0, inf)", "gamma, weight of the loss")
    lam: ArrayLike | None = param(None, "(0, inf)", "lambda, exponent of Phi; None: T^(-3/4) / 2")
    eps: ArrayLike | None = param(None, "(0, inf)", "eps, gap at which Frank-Wolfe stops; None: 4 D^2 T^(-1/2)")
    g_init: ArrayLike | None = param(None, "(0, inf)", "G~_1, gradient bound; None: beta G gamma; the paper uses 1")
    weight_before: ArrayLike = param(
        False, BOOL, "True: compute the weight of a round from Q_{t-1} (unbiased); False: from Q_t, as in the paper"
    )
    eta_scale: ArrayLike = param(1.0, "(0, inf)", "multiplier of eta of (22); the paper uses 1")
    constraint_scale: ArrayLike = param(
        1.0, "(0, inf)", "multiplier of g_t; the value G_f / G_g gives losses and constraints the same G"
    )
    most_steps: int | None = static(
        None, "[1, inf)", "maximum number of Frank-Wolfe steps per block; None: ceil(3.375 sqrt(T))"
    )

    @classmethod
    def theory(cls, *, dim: Shape, horizon: int, **changes: FieldValue) -> "BFWTVC":
        """Use the constants of Theorem 3: gamma = 1, lam = T^{-3/4} / 2, beta = 1 / C2, and G~_1 = beta G gamma.

        As for `OFWTVC.theory`, the constraint has hardly any effect at practical horizons.
        """
        return cls(**{"dim": dim, "horizon": horizon} | changes)

    @classmethod
    def printed(cls, *, dim: Shape, horizon: int, **changes: FieldValue) -> "BFWTVC":
        """Use Algorithm 3 with the constants of Theorem 3 as printed, including G~_1 = 1."""
        return cls(**{"dim": dim, "horizon": horizon, "g_init": 1.0} | changes)

    @classmethod
    def practical(cls, *, dim: Shape, horizon: int, **changes: FieldValue) -> "BFWTVC":
        """Use constants that give constraint and loss similar weights from the start; no theorem covers them.

        These constants are ours and were chosen by hand on `LinearConstraints` (d = 10, T = 4096):
        gamma = lam = T^{-3/4} / 2 and beta = 40 / (G D), as in `OFWTVC.practical`; delta = 0.3 r; eta is multiplied by
        30.
        """
        fields = {"dim": dim, "horizon": horizon} | changes
        base = cls(**fields)
        validate(base)
        gamma = 0.5 * base.horizon**-0.75
        beta = 40.0 / (base.lipschitz * base.domain.diameter)
        delta = 0.3 * base.domain.inner_radius(base.dim)
        return cls(**{"gamma": gamma, "lam": gamma, "beta": beta, "delta": delta, "eta_scale": 30.0} | fields)

    @classmethod
    def example(cls) -> "BFWTVC":
        return cls.practical(dim=2, horizon=36, lipschitz=2.0)

    def init(self, key: jax.Array) -> BFWTVCState:
        zero, zero_point = jnp.zeros(()), points.zeros(self.dim)
        last = frank_wolfe.init(self._shrunk, self.start, self.dim)
        lam = 0.5 * self.horizon**-0.75 if self.lam is None else self.lam
        surrogate = Lyapunov(*(jnp.asarray(a, zero.dtype) for a in (self._beta, self.gamma, lam)))
        level = self.lipschitz if self.g_init is None else self.g_init / (surrogate.beta * self.gamma)
        return BFWTVCState(
            last=last,
            anchor=last.x,
            grad_sum=zero_point,
            block_sum=zero_point,
            direction=perturbation.direction(key, self.dim),
            queue=CompensatedSum.init(zero),
            surrogate=surrogate,
            level=jnp.asarray(level, zero.dtype),
            calls=jnp.zeros((), jnp.int32),
            unfinished=jnp.zeros((), bool),
        )

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: BFWTVCState,
        obs: Obs,
        decision: PointDecision,
        feedback: ConstrainedValue,
    ) -> BFWTVCState:
        del obs, decision
        violation = jnp.maximum(self.constraint_scale * feedback.first().con, 0.0)
        queue = state.queue.add(violation)
        weighing_queue = jnp.where(self.weight_before, state.queue.total, queue.total)
        weight = self.constraint_scale * state.surrogate.weight(weighing_queue)
        values = surrogate_values(feedback, weight)
        estimate = self.estimator.gradient(values, state.direction, self.radius)
        state = state._replace(
            block_sum=points.add(state.block_sum, estimate),
            queue=queue,
            calls=jnp.zeros((), jnp.int32),
            unfinished=jnp.zeros((), bool),
        )
        state = blocks.at_end(t, self._block, self._end_block, state)
        return state._replace(direction=perturbation.direction(key, self.dim))

    def _end_block(self, state: BFWTVCState) -> BFWTVCState:
        level = double_until(state.level, self.lipschitz * (1.0 + state.surrogate.weight(state.queue.total)))
        restart = level > state.level
        anchor = points.where(restart, state.last.x, state.anchor)
        grad_sum = points.where(
            restart, state.block_sum, points.add(state.grad_sum, state.block_sum)
        )  # sum over the epoch
        eta_level = self.eta_scale * self._c * self.domain.diameter / (points.size(self.dim) * self.value_bound)
        linear = points.scale(grad_sum, eta_level * self.horizon**-0.75 / level)  # eta times the sum
        eps = 4.0 * self.domain.diameter**2 * self.horizon**-0.5 if self.eps is None else self.eps
        cap = math.ceil(3.375 * math.sqrt(self.horizon)) if self.most_steps is None else self.most_steps

        def cond_fun(carry: tuple[Step, jax.Array]) -> jax.Array:
            return (carry[0].gap > eps) & (carry[1] < cap)

        def body_fun(carry: tuple[Step, jax.Array]) -> tuple[Step, jax.Array]:
            last, steps = carry
            grad = points.add_scaled(linear, 2.0, points.subtract(last.x, anchor))
            return frank_wolfe.line_search_step(self._shrunk, last.x, grad, last.guess, 1.0), steps + 1

        first = state.last._replace(gap=jnp.full_like(state.last.gap, jnp.inf)), jnp.zeros((), jnp.int32)
        last, steps = while_loop(cond_fun, body_fun, first, cap)
        return state._replace(
            last=last,
            anchor=anchor,
            grad_sum=grad_sum,
            block_sum=points.zeros_like(grad_sum),
            level=level,
            calls=steps,
            unfinished=last.gap > eps,
        )

    def diagnostics(self, state: BFWTVCState) -> dict[str, jax.Array]:
        """Return a dictionary of scalar diagnostics of the run.

        Returns:
          The keys are `weight` (of the constraint relative to the loss), `gradient_bound` (G~), `clamped` (True if the
          exponent is clamped), `gap` (the gap before the last Frank-Wolfe step, an upper bound on F_m - min F_m),
          `oracle_calls` (in the last round) and `unfinished` (True if `most_steps` ended the minimisation early).
        """
        surrogate, queue = state.surrogate, state.queue.total
        return {
            "weight": surrogate.weight(queue),
            "gradient_bound": state.level * surrogate.beta * surrogate.gamma,
            "clamped": surrogate.is_clamped(queue),
            "gap": state.last.gap,
            "oracle_calls": state.calls,
            "unfinished": state.unfinished,
        }

    @property
    def _block(self) -> int:
        return blocks.length(self.horizon, 0.5) if self.block is None else self.block

    @property
    def _beta(self) -> ArrayLike:
        if self.beta is not None:
            return self.beta
        c, size = self._c, points.size(self.dim)
        diameter, bound = self.domain.diameter, self.value_bound
        shrinkage = c * diameter / self.domain.inner_radius(self.dim)
        values = 2.0 * c * diameter / (size * bound) + size * bound * diameter / c
        return 1.0 / (16.0 * self.lipschitz * (shrinkage + 3.0 * c + 1.0 + values))  # 1 / C2
