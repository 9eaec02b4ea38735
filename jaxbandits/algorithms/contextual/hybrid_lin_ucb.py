"""LinUCB with hybrid linear models: per-arm and shared coefficients (Li et al., WWW 2010, Algorithm 2).

    mean of arm k   z_k'beta + x'theta_k     context x, features z_k of the arm
    u_k = A_k^{-1} x,   v_k = z_k - B_k'u_k,   w_k = x'u_k
    play            argmax_k  v_k'beta + u_k'b_k + alpha sqrt(v_k'A_0^{-1} v_k + w_k)
    A_0  <- A_0 + v_k v_k' / (1 + w_k),   beta <- beta + A_0^{-1} v_k (reward - u_k'b_k - v_k'beta) / (1 + w_k)
    A_k  <- A_k + x x',   B_k <- B_k + x z_k',   b_k <- b_k + reward x    for the arm k played

The paper instead updates each of $A_0$ and $b_0 = A_0 beta$ by three terms per round. These add up to the steps above
(block elimination), so that the scores and widths equal those of the paper. The cost per round is $O(K (p^2 + p q +
q^2))$.
"""

import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.estimation import arm_models
from jaxbandits.estimation.arms import check_count, check_features, choose_best, optimistic
from jaxbandits.numerics import inverse_factors
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.numerics.inverse_factors import InverseFactors
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import ArmDecision, ContextObs, Reward


class ArmModels(NamedTuple):
    """Inverse Gram matrices A_k^{-1}, cross terms B_k and reward sums b_k of all arms."""

    inverse: InverseFactors  # leaves [..., K]  A_k^{-1}
    cross: CompensatedSum  # [p, q, K]  B_k
    rewards: CompensatedSum  # [p, K]  b_k


class HybridState(NamedTuple):
    """Estimate of the shared coefficients, and the terms of every arm."""

    beta: Vector  # [q]
    inverse: InverseFactors  # A_0^{-1}
    arms: ArmModels


@pytree
class HybridLinUCB:
    """LinUCB with linear models that share some of their coefficients.

    Guarantee:
      There is no guarantee, because the choice of arms depends on past rewards; see `DisjointLinUCB`.

    Deviations:
      * [ours] lambda is a field (`ridge`); it is 1 in the paper. Ties go to the first arm.

    References:
      Lihong Li, Wei Chu, John Langford, Robert Schapire. A Contextual-Bandit Approach to Personalized News Article
      Recommendation. WWW 2010, Algorithm 2.
    """

    feedback: ClassVar[type] = Reward
    source: ClassVar[str] = "Li, Chu, Langford & Schapire, WWW 2010, Algorithm 2"
    environments: ClassVar[tuple[str, ...]] = ("contextual/linear_contexts",)
    reads_context: ClassVar[bool] = True
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")
    dim: int = static(range="[1, inf)", doc="p, dimension of the context")
    shared_dim: int = static(range="[1, inf)", doc="q, dimension of the features of arms")
    alpha: ArrayLike = param(1.0, "[0, inf)", "alpha, multiplier of the widths")
    ridge: ArrayLike = param(1.0, "(0, inf)", "lambda, ridge parameter")

    @classmethod
    def theory(
        cls, *, n_arms: int, dim: int, shared_dim: int, delta: float = 0.05, **changes: FieldValue
    ) -> "HybridLinUCB":
        """Use alpha = 1 + sqrt(log(2 / delta) / 2)."""
        alpha = 1.0 + math.sqrt(0.5 * math.log(2.0 / ranges.real("delta", delta, "(0, 1)")))
        return cls(**{"n_arms": n_arms, "dim": dim, "shared_dim": shared_dim, "alpha": alpha} | changes)

    @classmethod
    def example(cls) -> "HybridLinUCB":
        return cls(n_arms=3, dim=2, shared_dim=2)

    def init(self, key: jax.Array) -> HybridState:
        del key  # deterministic
        n, p, k = self.n_arms, self.dim, self.shared_dim
        cross, rewards = CompensatedSum.init(jnp.zeros((p, k, n))), CompensatedSum.init(jnp.zeros((p, n)))
        arms = ArmModels(arm_models.init(n, p, self.ridge), cross, rewards)
        return HybridState(jnp.zeros(k), inverse_factors.init(k, self.ridge), arms)

    def select(self, key: jax.Array, t: jax.Array, state: HybridState, obs: ContextObs) -> ArmDecision:
        del key, t
        check_count(obs.arms, self.n_arms)
        check_features(obs.arms, self.n_arms, self.shared_dim)
        arms = state.arms
        u = arm_models.products(arms.inverse, obs.context)  # [p, K]
        v = obs.arms - jnp.sum(arms.cross.total * u[:, None, :], axis=0).T  # [K, q]
        width_sq = inverse_factors.quadratic_forms(state.inverse, v) + obs.context @ u
        mean = v @ state.beta + jnp.sum(u * arms.rewards.total, axis=0)
        return choose_best(obs.arms, obs.mask, optimistic(mean, width_sq, self.alpha))

    def update(
        self, key: jax.Array, t: jax.Array, state: HybridState, obs: ContextObs, decision: ArmDecision, feedback: Reward
    ) -> HybridState:
        del key, t
        x, z, reward = obs.context, decision.x, feedback.reward
        inverse, cross, rewards = arm_models.of_arm(state.arms, decision.index)
        own = inverse_factors.image(inverse, x)
        v, weight = z - own.u @ cross.total, 1.0 / (1.0 + own.width_sq)
        image = inverse_factors.image(state.inverse, v)
        error = reward - own.u @ rewards.total - v @ state.beta
        cross, rewards = cross.add(jnp.outer(x, z)), rewards.add(reward * x)
        model = ArmModels(inverse_factors.add(inverse, 1.0, own), cross, rewards)
        return HybridState(
            beta=state.beta + image.u * (weight * error / (1.0 + weight * image.width_sq)),
            inverse=inverse_factors.add(state.inverse, weight, image),
            arms=arm_models.replace(state.arms, decision.index, model),
        )

    def recommend(self, state: HybridState) -> Vector:
        """Return the estimate `[q]` of the shared coefficients beta."""
        return state.beta
