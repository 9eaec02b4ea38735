"""OFW-TVC: projection-free online learning with time-varying constraints (Wang, Wan & Zhang, AAAI 2025, Algorithm 1).

    h_t   = the gradient of the Lyapunov surrogate (`lyapunov`), from beta, gamma, lam and Q_t = sum g^+
    double G~ while G~ < beta G (gamma + w_t); a doubling starts an epoch: s = t, anchor = x_t, gradient sum = 0
    F_t   = eta <sum_{r=s..t} h_r, x> + ||x - x_s||^2,      eta = D / (2 G~ T^{3/4})                       (9)
    v_t   = argmin_{v in K} <grad F_t(x_t), v>              one linear minimisation, no projection      (10), (11)
    x_t+1 = x_t + sigma (v_t - x_t),                        sigma = min(1, 2 / sqrt(t - s + 1))     (12), (13)

The code divides all quantities by beta gamma, as in `lyapunov`: the level G' = G~ / (beta gamma) doubles while it is
below G (1 + rho) with rho = $w_t$ / gamma, and $eta h = eta' h'$ for $eta' = D / (2 G' T^{3/4})$.

Notation: K is the field `domain`, T is `horizon`, G is `lipschitz` and D is `domain.diameter`. A round needs one linear
minimisation, and the memory is $O(d)$.
"""

import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.coco.frank_wolfe import Epochs, init_epochs, step_epochs
from jaxbandits.algorithms.coco.learner import PointLearner
from jaxbandits.algorithms.coco.lyapunov import Lyapunov, surrogate_gradient
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, validate
from jaxbandits.domains.points import Point, Shape
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.types import Constrained, Obs, PointDecision


class OFWTVCState(NamedTuple):
    """State of `OFWTVC`: the iterate with its current epoch, and the cumulative violation."""

    run: Epochs  # x_t is run.last.x; gradients are divided by beta gamma
    queue: CompensatedSum  # []  Q_t, a compensated sum, so that small violations are not lost when Q_t is large
    surrogate: Lyapunov  # [] beta, gamma, lam


@pytree
class OFWTVC(PointLearner):
    """OFW-TVC: online Frank-Wolfe on a Lyapunov surrogate of loss and violation, restarted when its gradients grow.

    The domain needs `zero`, `lmo` and `diameter`. Decisions are points of any shape (`domains.points`).
    The iterates depend on `beta`, `gamma` and `lam` only through `lam beta` and `lam / gamma` (and `g_init`, if given).

    Guarantee:
      Theorem 1 for the default constants: if $f_t$ and $g_t$ are convex and G-Lipschitz on K and some point of K
      satisfies every constraint, then the regret against any feasible point is at most $64 G D (T^{3/4} + 1)$, and $Q_T
      <= 128 G D T^{3/4}$ ln(2 + 4 T) (constants of the proof). The theorem covers neither other constants nor values of
      `eta_scale` or `step_cap` above 1.

    Deviations:
      * `step_cap`: inf [printed], 1 [ours]. As printed, (12) takes steps of size 2, $sqrt(2)$ and 1.15 in the first
        rounds of an epoch, so that the iterates may leave K; Hazan & Kale cap the steps at 1.
      * `g_init`: 1.0 [printed], None for beta G gamma [ours]. The paper starts from G~ = 1, far above $beta G gamma = 1
        / (64 D)$; with G~ = 1, eta is too small by the factor 64 D, and the iterate oscillates around $x_1$. The
        default beta G gamma is a lower bound on every target of the doubling in line 5, so that the constants of the
        theorem hold.
      * `eta_scale` [ours] multiplies eta of (9); the paper uses 1.
      * `constraint_scale` [ours] multiplies $g_t$ and its gradient. The theory has one G for losses and constraints;
        the scale $G_f / G_g$ makes the two bounds equal. $Q_t$ is then in scaled units.
      * The exponent lam $beta Q_t$ is clamped at 60 in float32 and at 600 in float64. The theory does not cover a run
        in which this happens; `diagnostics` reports it. [ours]
      * All quantities are divided by beta gamma (see `lyapunov`), and $Q_t$ is a compensated sum; neither changes the
        iterates.

    References:
      Yibo Wang, Yuanyu Wan, Lijun Zhang: Revisiting Projection-Free Online Learning with Time-Varying Constraints.
      AAAI 2025. Algorithm 1, equations (4)-(13), Theorem 1.
      Elad Hazan, Satyen Kale: Projection-free Online Learning. ICML 2012 (online Frank-Wolfe).
    """

    feedback: ClassVar[type] = Constrained
    source: ClassVar[str] = "Wang, Wan & Zhang, AAAI 2025, Algorithm 1"
    oracles: ClassVar[tuple[str, ...]] = ("zero", "lmo", "diameter")
    horizon: ArrayLike = param(range="[1, inf)", doc="T, number of rounds")
    lipschitz: ArrayLike = param(1.0, "(0, inf)", "G, bound on the gradients of losses and constraints")
    beta: ArrayLike | None = param(None, "(0, inf)", "beta, scale of the surrogate; None: 1 / (64 G D)")
    gamma: ArrayLike = param(1.0, "(0, inf)", "gamma, weight of the loss")
    lam: ArrayLike | None = param(None, "(0, inf)", "lambda, exponent of Phi; None: T^(-3/4) / 2")
    g_init: ArrayLike | None = param(None, "(0, inf)", "G~_1, gradient bound; None: beta G gamma; the paper uses 1")
    eta_scale: ArrayLike = param(1.0, "(0, inf)", "multiplier of eta of (9); the paper uses 1")
    step_cap: ArrayLike = param(1.0, "[1, inf]", "largest step size sigma; the paper uses inf")
    constraint_scale: ArrayLike = param(
        1.0, "(0, inf)", "multiplier of g_t; the value G_f / G_g gives losses and constraints the same G"
    )

    @classmethod
    def theory(cls, *, dim: Shape, horizon: ArrayLike, **changes: FieldValue) -> "OFWTVC":
        """Use the constants of Theorem 1: beta = 1 / (64 G D), gamma = 1, lam = T^{-3/4} / 2, and G~_1 = beta G gamma.

        For horizons of 10^3 to 10^12 the weight of the constraint relative to the loss stays below 0.003 in every run.
        The constraint therefore has hardly any effect, and the bounds hold only because they are loose.
        """
        return cls(**{"dim": dim, "horizon": horizon} | changes)

    @classmethod
    def printed(cls, *, dim: Shape, horizon: ArrayLike, **changes: FieldValue) -> "OFWTVC":
        """Use Algorithm 1 as printed with the constants of Theorem 1; steps may exceed 1, so that x may leave K."""
        return cls(**{"dim": dim, "horizon": horizon, "g_init": 1.0, "step_cap": math.inf} | changes)

    @classmethod
    def practical(cls, *, dim: Shape, horizon: ArrayLike, **changes: FieldValue) -> "OFWTVC":
        """Use constants that give constraint and loss similar weights from the start; no theorem covers them.

        These constants are ours and were chosen by hand on one small problem: gamma = lam = T^{-3/4} / 2 and beta = 40
        / (G D); eta is multiplied by 10.
        """
        fields = {"dim": dim, "horizon": horizon} | changes
        base = cls(**fields)
        validate(base)
        gamma = 0.5 * np.asarray(base.horizon, dtype=float) ** -0.75
        beta = 40.0 / (base.lipschitz * base.domain.diameter)
        return cls(**{"gamma": gamma, "lam": gamma, "beta": beta, "eta_scale": 10.0} | fields)

    @classmethod
    def example(cls) -> "OFWTVC":
        return cls.practical(dim=2, horizon=200, lipschitz=2.0)

    def init(self, key: jax.Array) -> OFWTVCState:
        del key  # deterministic
        zero = jnp.zeros(())
        decay = jnp.asarray(self.horizon, zero.dtype) ** -0.75
        diameter = self.domain.diameter
        beta = 1.0 / (64.0 * self.lipschitz * diameter) if self.beta is None else self.beta
        lam = 0.5 * decay if self.lam is None else self.lam
        surrogate = Lyapunov(*(jnp.asarray(a, zero.dtype) for a in (beta, self.gamma, lam)))
        level = self.lipschitz if self.g_init is None else self.g_init / (beta * self.gamma)
        eta_level = self.eta_scale * 0.5 * diameter * decay
        run = init_epochs(self.domain, self.start, self.dim, level, eta_level)
        return OFWTVCState(run=run, queue=CompensatedSum.init(zero), surrogate=surrogate)

    def point(self, state: OFWTVCState) -> Point:
        return state.run.last.x

    def update(
        self, key: jax.Array, t: jax.Array, state: OFWTVCState, obs: Obs, decision: PointDecision, feedback: Constrained
    ) -> OFWTVCState:
        del key, obs, decision
        response = feedback.first()
        con = self.constraint_scale * response.con
        queue = state.queue.add(jnp.maximum(con, 0.0))
        weight = state.surrogate.weight(queue.total)
        h = surrogate_gradient(response.grad, con, response.con_grad, self.constraint_scale * weight)
        run = step_epochs(self.domain, state.run, t, h, self.lipschitz * (1.0 + weight), self.step_cap)
        return OFWTVCState(run=run, queue=queue, surrogate=state.surrogate)

    def diagnostics(self, state: OFWTVCState) -> dict[str, jax.Array]:
        """Return a dictionary of scalar diagnostics of the run.

        Returns:
          The keys are `weight` (of the constraint relative to the loss), `gradient_bound` (G~), `clamped` (True if the
          exponent is clamped), `gap` (the Frank-Wolfe gap of F_t at x_t, an upper bound on F_t(x_t) - min_K F_t) and
          `oracle_calls` (per round).
        """
        surrogate, queue = state.surrogate, state.queue.total
        return {
            "weight": surrogate.weight(queue),
            "gradient_bound": state.run.level * surrogate.beta * surrogate.gamma,
            "clamped": surrogate.is_clamped(queue),
            "gap": state.run.last.gap,
            "oracle_calls": jnp.ones(()),
        }
