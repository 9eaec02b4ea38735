"""D-LinUCB: discounted linear UCB for non-stationary parameters (Russac, Vernade & Cappe, NeurIPS 2019, Algorithm 1).

    play    argmax_x  x'theta_t + beta_t ||x||_{V^{-1} W V^{-1}},   theta_t = V^{-1} b
    V       <- gamma V + x_t x_t' + (1 - gamma) lambda I,   W <- gamma^2 W + x_t x_t' + (1 - gamma^2) lambda I
    b       <- gamma b + r_t x_t,   V_0 = W_0 = lambda I
    beta_t  = sqrt(lambda) S + R sqrt(2 log(1/delta) + d log(1 + L^2 (1 - gamma^{2t}) / (lambda d (1 - gamma^2))))

These are the quantities after t rounds. Notation: gamma is the field `discount`, lambda is `ridge`, R is `noise_scale`,
S is `norm_bound` and L is `arm_bound`. The cost per round is $O(K d^2 + d^3)$.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.base.ranges import BOOL
from jaxbandits.estimation.arms import optimistic_arm
from jaxbandits.numerics import linalg
from jaxbandits.numerics.linalg import Symmetric, Vector
from jaxbandits.tracing.vmap_last import vmap_last
from jaxbandits.types import ArmDecision, ArmObs, Reward


class DLinUCBState(NamedTuple):
    """Discounted sums over the past rounds."""

    gram: Symmetric  # [d, d]  V
    squared: Symmetric  # [d, d]  W, the Gram matrix with squared weights
    moment: Vector  # [d]  b


@pytree
class DLinUCB:
    """Optimistic linear bandit with discounted least squares, in which weights decay by a factor gamma per round.

    Guarantee:
      None with these constants. For a variation B of theta over T rounds, the paper states a regret of the order
      $d^{2/3} B^{1/3} T^{2/3}$ with the gamma of `theory`, but the proof has a gap; the corrected proof gives the order
      $B^{1/4} T^{3/4}$ in B and T.

    Deviations:
      * [printed] With `authors_code`, W is gamma^2 V + x_t x_t' + (1 - gamma^2) lambda I, as in the authors' code. V,
        which replaces W on the right side, already contains round t, so that $x_t x_t'$ counts twice.
      * [ours] For gamma = 1, where the paper divides by 0, (1 - gamma^{2t}) / (1 - gamma^2) is replaced by its limit t.
        `beta_scale` multiplies the radius. Ties go to the first arm.

    References:
      Yoan Russac, Claire Vernade, Olivier Cappe. Weighted Linear Bandits for Non-Stationary Environments.
      NeurIPS 2019, arXiv:1909.09146, Algorithm 1, Corollary 1.
      Peng Zhao, Lijun Zhang, Yuan Jiang, Zhi-Hua Zhou. A Simple Approach for Non-stationary Linear Bandits.
      arXiv:2103.05324 (the gap and the corrected rate).
    """

    feedback: ClassVar[type] = Reward
    source: ClassVar[str] = "Russac, Vernade & Cappe, NeurIPS 2019, Algorithm 1"
    environments: ClassVar[tuple[str, ...]] = ("linear/heavy_tailed",)
    dim: int = static(range="[1, inf)", doc="d, dimension of the arms")
    discount: ArrayLike = param(range="(0, 1]", doc="gamma, factor by which the weight of a round decays per round")
    noise_scale: ArrayLike = param(1.0, "[0, inf)", "R, sub-Gaussian constant of the noise")
    ridge: ArrayLike = param(1.0, "(0, inf)", "lambda, ridge parameter")
    norm_bound: ArrayLike = param(1.0, "(0, inf)", "S, bound on ||theta||")
    arm_bound: ArrayLike = param(1.0, "(0, inf)", "L, bound on the norms of arms")
    delta: ArrayLike = param(0.01, "(0, 1)", "delta, failure probability")
    beta_scale: ArrayLike = param(1.0, "[0, inf)", "multiplier of the radius; the theory uses 1")
    authors_code: bool = static(False, BOOL, "True: use W of the authors' code; False: use W of the paper")

    @classmethod
    def theory(cls, *, dim: int, horizon: ArrayLike, variation: ArrayLike, **changes: FieldValue) -> "DLinUCB":
        """Use gamma = 1 - min(B / (d T), 1/2)^{2/3} for a variation B of theta over T rounds."""
        dim, horizon = ranges.integer("dim", dim, "[1, 1e9]"), ranges.numbers("horizon", horizon, "[1, 1e18]")
        share = ranges.numbers("variation", variation, "(0, inf)") / (dim * horizon)
        discount = 1.0 - np.minimum(share, 0.5) ** (2.0 / 3.0)
        return cls(**{"dim": dim, "discount": discount} | changes)

    @classmethod
    def example(cls) -> "DLinUCB":
        return cls(dim=2, discount=0.98)

    def init(self, key: jax.Array) -> DLinUCBState:
        del key  # deterministic
        gram = self.ridge * jnp.eye(self.dim)
        return DLinUCBState(gram, gram, jnp.zeros(self.dim))

    def select(self, key: jax.Array, t: jax.Array, state: DLinUCBState, obs: ArmObs) -> ArmDecision:
        del key
        factors = linalg.factor(state.gram)
        solve_all = vmap_last(linalg.solve, (None, -1))
        shape = solve_all(factors, solve_all(factors, state.squared).T)  # V^{-1} W V^{-1}
        theta = linalg.solve(factors, state.moment)
        return optimistic_arm(obs.arms, obs.mask, theta, shape, self.radius(t, state))

    def update(
        self, key: jax.Array, t: jax.Array, state: DLinUCBState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> DLinUCBState:
        del key, t, obs
        gamma, new = self.discount, jnp.outer(decision.x, decision.x)
        identity = self.ridge * jnp.eye(self.dim)
        gram = gamma * state.gram + new + (1.0 - gamma) * identity
        decayed = gram if self.authors_code else state.squared
        return DLinUCBState(
            gram=gram,
            squared=gamma * gamma * decayed + new + (1.0 - gamma * gamma) * identity,
            moment=gamma * state.moment + feedback.reward * decision.x,
        )

    def recommend(self, state: DLinUCBState) -> Vector:
        """Return the estimate `[d]` of the current theta."""
        return linalg.solve(linalg.factor(state.gram), state.moment)

    def radius(self, t: ArrayLike, state: DLinUCBState) -> jax.Array:
        """Return the confidence radius beta_t `[]` after t rounds, times `beta_scale`."""
        del state
        rounds = jnp.asarray(t).astype(jnp.result_type(float))
        square = jnp.square(jnp.minimum(self.discount, 1.0 - jnp.finfo(rounds.dtype).eps))
        square = jnp.maximum(square, jnp.finfo(square.dtype).tiny)  # log 0 would give 0 (-inf) = NaN before round 1
        weight = jnp.expm1(rounds * jnp.log(square)) / (square - 1.0)
        weight = jnp.where(jnp.asarray(self.discount) < 1.0, weight, rounds)
        log_term = self.dim * jnp.log1p(jnp.square(self.arm_bound) * weight / (self.ridge * self.dim))
        root = jnp.sqrt(log_term - 2.0 * jnp.log(self.delta))
        return self.beta_scale * (jnp.sqrt(self.ridge) * self.norm_bound + self.noise_scale * root)
