"""LinUCB with disjoint linear models (Li, Chu, Langford & Schapire, WWW 2010, Algorithm 1).

    play     argmax_k  x'theta_k + alpha sqrt(x'A_k^{-1} x)
    A_k      <- A_k + x x',   theta_k <- theta_k + A_k^{-1} x (reward - x'theta_k)   for the arm k played

Here x is the context. Initially, $A_k = lambda I$ and $theta_k = 0$, so that $theta_k$ is always the ridge estimate.
Notation: lambda is the field `ridge`. The cost per round is $O(K p^2)$.
"""

import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.estimation import arm_models
from jaxbandits.estimation.arms import check_count, choose_best, optimistic
from jaxbandits.numerics import inverse_factors
from jaxbandits.numerics.inverse_factors import InverseFactors
from jaxbandits.types import ArmDecision, ContextObs, Reward


class DisjointState(NamedTuple):
    """Ridge regressions of all arms."""

    theta: jax.Array  # [p, K]  theta_k
    inverse: InverseFactors  # leaves [..., K]  A_k^{-1}


@pytree
class DisjointLinUCB:
    """LinUCB with a separate linear model for each arm.

    Guarantee:
      There is no guarantee for this form, because the choice of arms depends on past rewards. If the rewards of an arm
      were independent, its confidence interval would hold with probability at least 1 - delta for the alpha of `theory`
      (Section 3.1 of the paper).

    Deviations:
      * [ours] lambda is a field (`ridge`); it is 1 in the paper. Ties go to the first arm.

    References:
      Lihong Li, Wei Chu, John Langford, Robert Schapire. A Contextual-Bandit Approach to Personalized News Article
      Recommendation. WWW 2010, Algorithm 1.
    """

    feedback: ClassVar[type] = Reward
    source: ClassVar[str] = "Li, Chu, Langford & Schapire, WWW 2010, Algorithm 1"
    environments: ClassVar[tuple[str, ...]] = ("contextual/linear_contexts",)
    reads_context: ClassVar[bool] = True
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")
    dim: int = static(range="[1, inf)", doc="p, dimension of the context")
    alpha: ArrayLike = param(1.0, "[0, inf)", "alpha, multiplier of the widths")
    ridge: ArrayLike = param(1.0, "(0, inf)", "lambda, ridge parameter")

    @classmethod
    def theory(cls, *, n_arms: int, dim: int, delta: float = 0.05, **changes: FieldValue) -> "DisjointLinUCB":
        """Use alpha = 1 + sqrt(log(2 / delta) / 2)."""
        alpha = 1.0 + math.sqrt(0.5 * math.log(2.0 / ranges.real("delta", delta, "(0, 1)")))
        return cls(**{"n_arms": n_arms, "dim": dim, "alpha": alpha} | changes)

    @classmethod
    def example(cls) -> "DisjointLinUCB":
        return cls(n_arms=3, dim=2)

    def init(self, key: jax.Array) -> DisjointState:
        del key  # deterministic
        return DisjointState(jnp.zeros((self.dim, self.n_arms)), arm_models.init(self.n_arms, self.dim, self.ridge))

    def select(self, key: jax.Array, t: jax.Array, state: DisjointState, obs: ContextObs) -> ArmDecision:
        del key, t
        check_count(obs.arms, self.n_arms)
        width_sq = arm_models.widths_sq(state.inverse, obs.context)
        return choose_best(obs.arms, obs.mask, optimistic(obs.context @ state.theta, width_sq, self.alpha))

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: DisjointState,
        obs: ContextObs,
        decision: ArmDecision,
        feedback: Reward,
    ) -> DisjointState:
        del key, t
        theta, inverse = arm_models.of_arm(state, decision.index)
        image = inverse_factors.image(inverse, obs.context)
        error = feedback.reward - obs.context @ theta
        model = DisjointState(
            theta + image.u * (error / (1.0 + image.width_sq)), inverse_factors.add(inverse, 1.0, image)
        )
        return arm_models.replace(state, decision.index, model)

    def recommend(self, state: DisjointState) -> jax.Array:
        """Return the estimates theta_k of all arms, `[K, p]`."""
        return state.theta.T
