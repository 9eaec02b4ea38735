"""Ridge regression on features of arms, with one parameter vector for all arms (the estimate of OFUL and LinTS).

    V = lambda I + sum x x',   theta = V^{-1} sum reward x
    f_k = x_k'theta,   w_k = R sqrt(x_k'V^{-1} x_k),   sample: x_k'(theta + R V^{-1/2} z)

This is the posterior for the prior $theta ~ N(0, R^2 / lambda I)$ and Gaussian noise of standard deviation R. gamma =
log det(V / lambda) / 2 is the information gain. Notation: lambda is the field `ridge` and R is `noise_scale`. The
cost per round is $O(K d^2)$, or $O(K d + d^2)$ if the arms never change.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.estimation import fixed_arms
from jaxbandits.estimation.moments import Moments
from jaxbandits.numerics import elementary, inverse_factors, rng
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.numerics.inverse_factors import InverseFactors
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import ArmDecision, ArmObs


class LinearState(NamedTuple):
    """Estimate and design matrix of the ridge regression."""

    theta: Vector  # [d]  estimate
    inverse: InverseFactors  # V^{-1}
    theta_rounding: Vector  # [d]  rounding error of theta (`numerics.compensated`)
    scores: Any = None  # fixed_arms.Scores; None if scores are computed from theta and V^{-1}


@pytree
class Linear:
    """Linear model of mean rewards, on features of the arms.

    References:
      Yasin Abbasi-Yadkori, David Pal, Csaba Szepesvari. Improved Algorithms for Linear Stochastic Bandits. NIPS 2011.
    """

    reads_context: ClassVar[bool] = False
    init_from_obs_is_for_widths: ClassVar[bool] = True  # without widths, recomputing scores is faster
    dim: int = static(range="[1, inf)", doc="d, dimension of the features of an arm")
    ridge: ArrayLike = param(1.0, "(0, inf)", "lambda, regularisation")
    noise_scale: ArrayLike = param(1.0, "[0, inf)", "R, standard deviation of the noise; scales widths and draws")

    def init(self, key: jax.Array) -> LinearState:
        del key  # deterministic
        zero = jnp.zeros(self.dim)
        inverse = inverse_factors.init(self.dim, self.ridge)
        return LinearState(theta=zero, inverse=inverse, theta_rounding=zero)

    def init_from_obs(self, state: LinearState, obs: ArmObs) -> LinearState:
        return state._replace(scores=fixed_arms.start(obs, state.theta, state.inverse))

    def predict(self, state: LinearState, obs: ArmObs) -> jax.Array:
        return obs.arms @ state.theta if state.scores is None else state.scores.mean

    def width(self, state: LinearState, obs: ArmObs) -> jax.Array:
        if state.scores is None:
            width_sq = inverse_factors.quadratic_forms(state.inverse, obs.arms)
        else:
            width_sq = state.scores.width_sq
        return self.noise_scale * jnp.sqrt(jnp.maximum(width_sq, 0.0))

    def sample(self, key: jax.Array, state: LinearState, obs: ArmObs) -> jax.Array:
        return obs.arms @ self.draw(key, state)

    def samples(self, key: jax.Array, state: LinearState, obs: ArmObs, count: int) -> jax.Array:
        z = rng.normals(key, count, self.dim)
        noise = jax.vmap(lambda row: inverse_factors.root_matvec(state.inverse, row))(z)  # [count, d]
        return self.predict(state, obs) + self.noise_scale * (noise @ obs.arms.T)

    def draw(self, key: jax.Array, state: LinearState) -> Vector:
        """Return a draw `[d]` from the posterior of theta."""
        noise = inverse_factors.root_matvec(state.inverse, rng.normal_vector(key, self.dim))
        return state.theta + self.noise_scale * noise

    def noise(self, state: LinearState) -> jax.Array:
        del state
        return jnp.zeros(()) + self.noise_scale

    def information(self, state: LinearState) -> jax.Array:
        return 0.5 * jnp.sum(elementary.log(inverse_factors.pivots(state.inverse) / self.ridge))

    def draw_prior(self, key: jax.Array, state: LinearState) -> LinearState:
        z = rng.normal_vector(key, self.dim)
        return state._replace(theta=self.noise_scale / jnp.sqrt(self.ridge) * z)

    def fit(self, moments: Moments) -> LinearState:
        inverse = inverse_factors.from_matrix(moments.gram + self.ridge * jnp.eye(self.dim, dtype=moments.gram.dtype))
        theta = inverse_factors.matvec(inverse, moments.cross)
        return LinearState(theta, inverse, jnp.zeros_like(theta))

    def update(
        self, key: jax.Array, t: jax.Array, state: LinearState, obs: ArmObs, decision: ArmDecision, reward: jax.Array
    ) -> LinearState:
        del key
        image = inverse_factors.image(state.inverse, decision.x)
        inverse = inverse_factors.add(state.inverse, 1.0, image)
        shrink = 1.0 / (1.0 + image.width_sq)
        length = (reward - decision.x @ state.theta) * shrink
        theta, theta_rounding = CompensatedSum(state.theta, state.theta_rounding).add(image.u * length)
        step = fixed_arms.Step(image.u, shrink, length)
        return LinearState(
            theta=theta,
            inverse=inverse,
            theta_rounding=theta_rounding,
            scores=fixed_arms.follow(t, obs, state.scores, theta, inverse, step),
        )
