"""Ridge regression for every arm on a context that all arms share (the estimate of LinUCB, Li et al., WWW 2010).

    A_k = lambda I + sum x x',   theta_k = A_k^{-1} sum reward x    over the rounds that played arm k
    f_k = x'theta_k,   w_k = R sqrt(x'A_k^{-1} x),   sample: f_k + w_k z_k, z independent standard normals

This is the posterior for the prior $theta_k ~ N(0, R^2 / lambda I)$ and Gaussian noise of standard deviation R, with
independent arms. The information gain of arm k is gamma_k = log det(A_k / lambda) / 2. Notation: lambda is the
field `ridge` and R is `noise_scale`. The cost per round is $O(K p^2)$.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.estimation import arm_models
from jaxbandits.estimation.moments import Moments
from jaxbandits.numerics import elementary, inverse_factors, rng
from jaxbandits.numerics.inverse_factors import InverseFactors
from jaxbandits.tracing.vmap_last import vmap_last
from jaxbandits.types import ArmDecision, ContextObs


class RidgeState(NamedTuple):
    """Estimates and design matrices of all arms."""

    theta: jax.Array  # [p, K]  theta_k
    inverse: InverseFactors  # leaves [..., K]  A_k^{-1}


@pytree
class Ridge:
    """Linear model for each arm on a shared context.

    References:
      Lihong Li, Wei Chu, John Langford, Robert Schapire. A Contextual-Bandit Approach to Personalized News Article
      Recommendation. WWW 2010, Algorithm 1.
    """

    reads_context: ClassVar[bool] = True
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")
    dim: int = static(range="[1, inf)", doc="p, dimension of the context")
    ridge: ArrayLike = param(1.0, "(0, inf)", "lambda, regularisation")
    noise_scale: ArrayLike = param(1.0, "[0, inf)", "R, standard deviation of the noise; scales widths and draws")

    def init(self, key: jax.Array) -> RidgeState:
        del key  # deterministic
        k = self.n_arms
        return RidgeState(jnp.zeros((self.dim, k)), arm_models.init(k, self.dim, self.ridge))

    def predict(self, state: RidgeState, obs: ContextObs) -> jax.Array:
        return obs.context @ state.theta

    def width(self, state: RidgeState, obs: ContextObs) -> jax.Array:
        width_sq = arm_models.widths_sq(state.inverse, obs.context)
        return self.noise_scale * jnp.sqrt(jnp.maximum(width_sq, 0.0))

    def sample(self, key: jax.Array, state: RidgeState, obs: ContextObs) -> jax.Array:
        return self.predict(state, obs) + self.width(state, obs) * rng.normal_vector(key, self.n_arms)

    def samples(self, key: jax.Array, state: RidgeState, obs: ContextObs, count: int) -> jax.Array:
        return self.predict(state, obs) + self.width(state, obs) * rng.normals(key, count, self.n_arms)

    def noise(self, state: RidgeState) -> jax.Array:
        del state
        return jnp.zeros(()) + self.noise_scale

    def information(self, state: RidgeState) -> jax.Array:
        pivots = vmap_last(inverse_factors.pivots)(state.inverse)  # [p, K]
        return 0.5 * jnp.sum(elementary.log(pivots / self.ridge), axis=0)

    def draw_prior(self, key: jax.Array, state: RidgeState) -> RidgeState:
        z = rng.normals(key, self.dim, self.n_arms)
        return state._replace(theta=self.noise_scale / jnp.sqrt(self.ridge) * z)

    def fit(self, moments: Moments) -> RidgeState:
        return vmap_last(self._fit_arm)(moments)

    def _fit_arm(self, moments: Moments) -> RidgeState:
        inverse = inverse_factors.from_matrix(moments.gram + self.ridge * jnp.eye(self.dim, dtype=moments.gram.dtype))
        return RidgeState(inverse_factors.matvec(inverse, moments.cross), inverse)

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: RidgeState,
        obs: ContextObs,
        decision: ArmDecision,
        reward: jax.Array,
    ) -> RidgeState:
        del key, t
        theta, inverse = arm_models.of_arm(state, decision.index)
        image = inverse_factors.image(inverse, obs.context)
        error = reward - obs.context @ theta
        arm: Any = RidgeState(
            theta + image.u * (error / (1.0 + image.width_sq)),
            inverse_factors.add(inverse, 1.0, image),
        )
        return arm_models.replace(state, decision.index, arm)
