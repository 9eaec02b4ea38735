"""Ridge regression with per-arm and shared coefficients (the estimate of Li et al., WWW 2010, Algorithm 2).

    mean of arm k   z_k'beta + x'theta_k     context x, features z_k of the arm
    u_k = A_k^{-1} x,   v_k = z_k - B_k'u_k
    f_k = v_k'beta + u_k'b_k,   w_k = R sqrt(v_k'A_0^{-1} v_k + x'u_k)
    sample: z_k'beta~ + x'theta_k~
    beta~ ~ N(beta, R^2 A_0^{-1}),   theta_k~ ~ N(A_k^{-1} (b_k - B_k beta~), R^2 A_k^{-1})

The sums $A_0$, $A_k$, $B_k$ and $b_k$ are those of `HybridLinUCB`. Notation: R is the field `noise_scale`. The cost per
round is $O(K (p^2 + p q + q^2))$.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.estimation import arm_models
from jaxbandits.estimation.arms import check_features
from jaxbandits.numerics import inverse_factors, rng
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.numerics.inverse_factors import InverseFactors
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import ArmDecision, ContextObs


class HybridArms(NamedTuple):
    """Statistics of each arm, summed over the rounds in which it was played."""

    inverse: InverseFactors  # leaves [..., K]  A_k^{-1}
    cross: CompensatedSum  # [p, q, K]  B_k
    rewards: CompensatedSum  # [p, K]  b_k


class HybridState(NamedTuple):
    """Shared coefficients, and the statistics of every arm."""

    beta: Vector  # [q]
    inverse: InverseFactors  # A_0^{-1}
    arms: HybridArms


class _Images(NamedTuple):
    """Context and features after elimination of the per-arm coefficients."""

    u: jax.Array  # [p, K]  u_k
    v: jax.Array  # [K, q]  v_k
    own_sq: jax.Array  # [K]  x'A_k^{-1} x


@pytree
class Hybrid:
    """Linear models of the arms, with per-arm coefficients and shared coefficients.

    References:
      Lihong Li, Wei Chu, John Langford, Robert Schapire. A Contextual-Bandit Approach to Personalized News Article
      Recommendation. WWW 2010, Algorithm 2.
    """

    reads_context: ClassVar[bool] = True
    has_fixed_start: ClassVar[bool] = True
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")
    dim: int = static(range="[1, inf)", doc="p, dimension of the context")
    shared_dim: int = static(range="[1, inf)", doc="q, dimension of the features of an arm")
    ridge: ArrayLike = param(1.0, "(0, inf)", "lambda, regularisation")
    noise_scale: ArrayLike = param(1.0, "[0, inf)", "R, standard deviation of the noise; scales widths and draws")

    def init(self, key: jax.Array) -> HybridState:
        del key  # deterministic
        n, p, k = self.n_arms, self.dim, self.shared_dim
        cross, rewards = CompensatedSum.init(jnp.zeros((p, k, n))), CompensatedSum.init(jnp.zeros((p, n)))
        arms = HybridArms(arm_models.init(n, p, self.ridge), cross, rewards)
        return HybridState(jnp.zeros(k), inverse_factors.init(k, self.ridge), arms)

    def predict(self, state: HybridState, obs: ContextObs) -> jax.Array:
        check_features(obs.arms, self.n_arms, self.shared_dim)
        u, v, _ = _images(state, obs)
        return v @ state.beta + jnp.sum(u * state.arms.rewards.total, axis=0)

    def width(self, state: HybridState, obs: ContextObs) -> jax.Array:
        check_features(obs.arms, self.n_arms, self.shared_dim)
        _, v, own_sq = _images(state, obs)
        width_sq = inverse_factors.quadratic_forms(state.inverse, v) + own_sq
        return self.noise_scale * jnp.sqrt(jnp.maximum(width_sq, 0.0))

    def sample(self, key: jax.Array, state: HybridState, obs: ContextObs) -> jax.Array:
        check_features(obs.arms, self.n_arms, self.shared_dim)
        # Given beta~, the means of the arms are independent, with expectation f_k for beta = beta~ and variance
        # R^2 x'A_k^{-1} x.
        u, v, own_sq = _images(state, obs)
        z = rng.normal_vector(key, self.shared_dim + self.n_arms)
        beta = state.beta + self.noise_scale * inverse_factors.root_matvec(state.inverse, z[: self.shared_dim])
        own = jnp.sqrt(jnp.maximum(own_sq, 0.0)) * z[self.shared_dim :]
        return v @ beta + jnp.sum(u * state.arms.rewards.total, axis=0) + self.noise_scale * own

    def noise(self, state: HybridState) -> jax.Array:
        del state
        return jnp.zeros(()) + self.noise_scale

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: HybridState,
        obs: ContextObs,
        decision: ArmDecision,
        reward: jax.Array,
    ) -> HybridState:
        del key, t
        x, z = obs.context, decision.x
        check_features(z, self.shared_dim)
        inverse, cross, rewards = arm_models.of_arm(state.arms, decision.index)
        own = inverse_factors.image(inverse, x)
        v, weight = z - own.u @ cross.total, 1.0 / (1.0 + own.width_sq)
        image = inverse_factors.image(state.inverse, v)
        error = reward - own.u @ rewards.total - v @ state.beta
        cross, rewards = cross.add(jnp.outer(x, z)), rewards.add(reward * x)
        arm = HybridArms(inverse_factors.add(inverse, 1.0, own), cross, rewards)
        return HybridState(
            beta=state.beta + image.u * (weight * error / (1.0 + weight * image.width_sq)),
            inverse=inverse_factors.add(state.inverse, weight, image),
            arms=arm_models.replace(state.arms, decision.index, arm),
        )


def _images(state: HybridState, obs: ContextObs) -> _Images:
    u = arm_models.products(state.arms.inverse, obs.context)
    v = obs.arms - jnp.sum(state.arms.cross.total * u[:, None, :], axis=0).T
    return _Images(u, v, obs.context @ u)
