"""LinTS: linear Thompson sampling (Agrawal & Goyal, ICML 2013, Algorithm 1).

    theta~ ~ N(theta_t, v^2 V_t^{-1}),   play argmax_x x'theta~
    V_t    = V_{t-1} + x_t x_t',   theta_t = theta_{t-1} + V_t^{-1} x_t (r_t - x_t'theta_{t-1}),   V_0 = lambda I

Notation: v is the field `width` and lambda is `ridge`. The cost per round is $O(K d + d^2)$.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.estimation.arms import choose_best
from jaxbandits.numerics import inverse_factors, rng
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.numerics.inverse_factors import InverseFactors
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import ArmDecision, ArmObs, Reward


class LinTSState(NamedTuple):
    """State of `LinTS`, a ridge regression."""

    theta: Vector  # [d]  theta_t
    inverse: InverseFactors  # V_t^{-1}
    theta_rounding: Vector  # [d]  rounding error of theta (`numerics.compensated`)


@pytree
class LinTS:
    """Thompson sampling with the Gaussian posterior of a linear model.

    Guarantee:
      If the noise is R-sub-Gaussian, and the arms and theta* lie in the unit ball, then the regret with `theory` is
      $O~(d^{3/2} sqrt(T))$ with probability at least 1 - delta (Theorem 1).

    Deviations:
      * [printed] With the default v = 1, theta~ has the posterior distribution for noise of variance 1; `theory` uses
        the paper's v, which is larger by a factor of the order $sqrt(d log T)$.
      * [ours] `theory` uses log T in place of log t; lambda is a field (`ridge`), while the paper fixes it at 1. Ties
        go to the first arm.

    References:
      Shipra Agrawal, Navin Goyal. Thompson Sampling for Contextual Bandits with Linear Payoffs. ICML 2013, Algorithm 1.
      The bound and v are from the revised version, arXiv:1209.3352, Theorem 1.
    """

    feedback: ClassVar[type] = Reward
    source: ClassVar[str] = "Agrawal & Goyal, ICML 2013, Algorithm 1"
    environments: ClassVar[tuple[str, ...]] = ("linear/heavy_tailed",)
    dim: int = static(range="[1, inf)", doc="d, dimension of the arms")
    width: ArrayLike = param(1.0, "[0, inf)", "v, scale of the draws; 0: greedy play")
    ridge: ArrayLike = param(1.0, "(0, inf)", "lambda, ridge parameter")

    @classmethod
    def theory(
        cls,
        *,
        dim: int,
        horizon: ArrayLike,
        noise_scale: ArrayLike = 1.0,
        delta: ArrayLike = 0.05,
        **changes: FieldValue,
    ) -> "LinTS":
        """Use v = R sqrt(9 d log(T / delta)), where R is `noise_scale` and T is `horizon`."""
        dim, horizon = ranges.integer("dim", dim, "[1, 1e9]"), ranges.numbers("horizon", horizon, "[1, 1e18]")
        log_term = np.log(horizon / ranges.numbers("delta", delta, "(0, 1)"))
        width = ranges.numbers("noise_scale", noise_scale, "[0, 1e18]") * np.sqrt(9.0 * dim * log_term)
        return cls(**{"dim": dim, "width": width} | changes)

    @classmethod
    def example(cls) -> "LinTS":
        return cls(dim=2)

    def init(self, key: jax.Array) -> LinTSState:
        del key  # deterministic
        zero = jnp.zeros(self.dim)
        return LinTSState(zero, inverse_factors.init(self.dim, self.ridge), zero)

    def select(self, key: jax.Array, t: jax.Array, state: LinTSState, obs: ArmObs) -> ArmDecision:
        del t
        return choose_best(obs.arms, obs.mask, obs.arms @ self.draw(key, state))

    def draw(self, key: jax.Array, state: LinTSState) -> Vector:
        """Draw theta~ `[d]` from N(theta_t, v^2 V_t^{-1})."""
        noise = inverse_factors.root_matvec(state.inverse, rng.normal_vector(key, self.dim))
        return state.theta + self.width * noise

    def update(
        self, key: jax.Array, t: jax.Array, state: LinTSState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> LinTSState:
        del key, t, obs
        image = inverse_factors.image(state.inverse, decision.x)
        error = feedback.reward - decision.x @ state.theta
        step = image.u * (error / (1.0 + image.width_sq))
        theta, theta_rounding = CompensatedSum(state.theta, state.theta_rounding).add(step)
        return LinTSState(theta, inverse_factors.add(state.inverse, 1.0, image), theta_rounding)

    def recommend(self, state: LinTSState) -> Vector:
        """Return the ridge estimate `[d]` of theta*."""
        return state.theta
