"""OFUL: linear UCB with a self-normalised confidence set (Abbasi-Yadkori, Pal & Szepesvari, NeurIPS 2011, Theorem 2).

    play     argmax_x  x'theta_t + beta_scale radius_t ||x||_{V_t^{-1}}
    V_t      = V_{t-1} + x_t x_t',   V_0 = lambda I
    theta_t  = theta_{t-1} + V_t^{-1} x_t (r_t - x_t'theta_{t-1}),   which is V_t^{-1} sum_{s <= t} r_s x_s
    radius_t = R sqrt(log(det V_t / det lambda I) + 2 log(1/delta)) + sqrt(lambda) S

Notation: R is the field `noise_scale`, lambda is `ridge` and S is `norm_bound`. The cost per round is $O(K d^2)$, or
$O(K d + d^2)$ if the arms never change, and the memory is $O(d^2 + K)$.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.linear.multipliers import MULTIPLIERS
from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, Fields, FieldValue, param, pytree, static
from jaxbandits.estimation import fixed_arms
from jaxbandits.numerics import elementary, inverse_factors
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.numerics.inverse_factors import InverseFactors
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import ArmDecision, ArmObs, Reward


class OFULState(NamedTuple):
    """State of `OFUL`: ridge regression, and the determinant of its Gram matrix."""

    theta: Vector  # [d]  theta_t
    inverse: InverseFactors  # V_t^{-1}
    log_ratio: CompensatedSum  # []  log(det V_t / det lambda I) + 2 log(1/delta), under the root in radius_t
    theta_rounding: Vector  # [d]  rounding error of theta (`numerics.compensated`)
    scores: Any = None  # fixed_arms.Scores if the arms never change


@pytree
class OFUL:
    """Optimistic linear bandit for sub-Gaussian noise, with ridge regression and a self-normalised confidence set.

    Guarantee:
      If the noise is R-sub-Gaussian given the past and $||theta*|| <= S$, then `||theta_t - theta*||_{V_t} <= radius_t`
      for all t with probability at least 1 - delta (Theorem 2). For bounded arms and mean rewards, the regret is then
      $O~(d sqrt(T))$ for any sequence of arm sets (Theorem 3). Heavy-tailed noise has no finite R, and there is no
      guarantee; R may be set to the moment scale nu of the noise.

    Deviations:
      * [ours] The confidence set is the ellipsoid alone, not its intersection with the ball.
      * [ours] `beta_scale` multiplies the radius. Ties go to the first arm.
      * [reconstructed] The default of lambda is d, and `theory` and `practical` use delta = 1/(8T). Wang et al. (ICML
        2025) use these values for their own method and state no values for OFUL.

    Numerics:
      In float32 the estimate stays within 1e-4 of its float64 value, relative to the running maximum of the estimate,
      over 18000 rounds, some of which have rewards of 1e4 and more
      (float32/test_linear.py::test_estimates_keep_their_digits_over_a_long_run), since every step also corrects the
      rounding error of earlier steps. After 10^6 rounds of one oblique arm, the relative error of the estimate is below
      1e-3, that of the width is below 1e-4, and the squared width is never negative
      (float32/test_linear.py::test_a_million_rounds_of_one_arm), since $V^{-1}$ is stored as factors
      (`numerics.inverse_factors`) and sums over rounds are compensated. These figures are for $lambda = d$. With lambda
      = 1e-3, rounding errors in the components of theta that no reward determines grow to a few percent
      (float32/test_one_arm.py::test_what_no_reward_shows_drifts).

    References:
      Yasin Abbasi-Yadkori, David Pal, Csaba Szepesvari. Improved Algorithms for Linear Stochastic Bandits.
      NIPS 2011, Theorems 2 and 3.
    """

    feedback: ClassVar[type] = Reward
    source: ClassVar[str] = "Abbasi-Yadkori, Pal & Szepesvari, NeurIPS 2011, Theorem 2"
    environments: ClassVar[tuple[str, ...]] = ("linear/heavy_tailed",)
    dim: int = static(range="[1, inf)", doc="d, dimension of the arms")
    noise_scale: ArrayLike = param(1.0, "[0, inf)", "R, sub-Gaussian constant of the noise")
    ridge: ArrayLike | None = param(None, "(0, inf)", "lambda, ridge parameter; None: d")
    norm_bound: ArrayLike = param(1.0, "(0, inf)", "S, bound on ||theta*||")
    delta: ArrayLike = param(0.01, "(0, 1)", "delta, failure probability")
    beta_scale: ArrayLike = param(1.0, "[0, inf)", "multiplier of the confidence radius; the theory uses 1")

    @classmethod
    def theory(cls, *, dim: int, horizon: ArrayLike, noise_scale: ArrayLike = 1.0, **changes: FieldValue) -> "OFUL":
        """Use Theorem 2 with delta = 1/(8T), which is also the delta of `HvtUCB`."""
        delta = 1.0 / (8.0 * ranges.numbers("horizon", horizon, "[1, 1e18]"))
        return cls(**{"dim": dim, "noise_scale": noise_scale, "delta": delta} | changes)

    @classmethod
    def practical(cls, *, dim: int, horizon: ArrayLike, noise_scale: ArrayLike = 1.0, **changes: FieldValue) -> "OFUL":
        """Use the constants of the theory times the tuned multiplier (`jaxbandits tune linear`)."""
        fields: Fields = {"dim": dim, "horizon": horizon, "noise_scale": noise_scale, **MULTIPLIERS["oful"]}
        return cls.theory(**fields | changes)

    @classmethod
    def example(cls) -> "OFUL":
        return cls.practical(dim=2, horizon=200)

    def init(self, key: jax.Array) -> OFULState:
        del key  # deterministic
        log_ratio = CompensatedSum.init(jnp.zeros(()) - 2.0 * jnp.log(self.delta))
        zero = jnp.zeros(self.dim)
        return OFULState(
            theta=zero,
            inverse=inverse_factors.init(self.dim, self._ridge),
            log_ratio=log_ratio,
            theta_rounding=zero,
        )

    def init_from_obs(self, state: OFULState, obs: ArmObs) -> OFULState:
        """Return the state, with the scores of fixed arms if it is faster to update them than to recompute them."""
        return state._replace(scores=fixed_arms.start(obs, state.theta, state.inverse))

    def select(self, key: jax.Array, t: jax.Array, state: OFULState, obs: ArmObs) -> ArmDecision:
        del key
        return fixed_arms.play(obs, state.scores, state.theta, state.inverse, self.radius(t, state))

    def update(
        self, key: jax.Array, t: jax.Array, state: OFULState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> OFULState:
        del key
        image = inverse_factors.image(state.inverse, decision.x)
        inverse = inverse_factors.add(state.inverse, 1.0, image)
        u, width_sq = image.u, image.width_sq  # V_{t-1}^{-1} x, x'u
        error = feedback.reward - decision.x @ state.theta
        length = error / (1.0 + width_sq)  # u / (1 + x'u) = V_t^{-1} x
        theta, theta_rounding = CompensatedSum(state.theta, state.theta_rounding).add(u * length)
        step = fixed_arms.Step(u, 1.0 / (1.0 + width_sq), length)
        scores = fixed_arms.follow(t, obs, state.scores, theta, inverse, step)
        return OFULState(
            theta=theta,
            inverse=inverse,
            log_ratio=state.log_ratio.add(elementary.log1p(width_sq)),
            theta_rounding=theta_rounding,
            scores=scores,
        )

    def recommend(self, state: OFULState) -> Vector:
        """Return the ridge estimate `[d]` of theta*."""
        return state.theta

    def radius(self, t: ArrayLike, state: OFULState) -> jax.Array:
        """Return the confidence radius `[]` in the V_t norm after t rounds, times `beta_scale`."""
        del t  # the radius depends on the determinant only
        root, drift = jnp.sqrt(state.log_ratio.total), jnp.sqrt(self._ridge)
        return (root * self.noise_scale + drift * self.norm_bound) * self.beta_scale

    @property
    def _ridge(self) -> ArrayLike:
        return float(self.dim) if self.ridge is None else self.ridge
