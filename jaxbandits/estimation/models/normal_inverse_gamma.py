"""Bayesian linear regression with unknown noise variance, on features of arms (the posterior of Riquelme et al., 2018).

    Lambda = lambda I + sum x x',   mu = Lambda^{-1} sum y x,   a = a_0 + n / 2,   b = b_0 + r / 2
    r      = sum (y - x'mu_before)^2 / (1 + x'Lambda_before^{-1} x)
    sample: s^2 = b / Gamma(a),   x_k'(mu + s Lambda^{-1/2} z);   x'mu + s sqrt(x'Lambda^{-1} x) z for a single arm
    f_k = x_k'mu,   w_k = sqrt(b / a) sqrt(x_k'Lambda^{-1} x_k), the scale of its Student t distribution

This is the posterior after n rewards, for the prior $s^2 ~ InverseGamma(a_0, b_0)$, $beta ~ N(0, s^2 / lambda I)$. y
are the rewards; in each term of r, mu_before and Lambda_before are those before its reward. r equals the paper's $y'y -
mu'Lambda mu$, which has no correct digit in float32 after 10^5 rounds; here r is computed as a sum of squares. The cost
per round is $O(K d^2)$. With `Intercept` and `PerArm` this is the model of the paper, which has one posterior per arm
on a shared context.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.estimation.moments import Moments
from jaxbandits.numerics import inverse_factors, rng
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.numerics.inverse_factors import InverseFactors
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import ArmDecision, ArmObs


class NormalInverseGammaState(NamedTuple):
    """Posterior of the coefficients and of the noise variance."""

    mean: Vector  # [d]  mu
    inverse: InverseFactors  # Lambda^{-1}
    shape: jax.Array  # []  a
    scale: CompensatedSum  # []  b
    mean_rounding: Vector  # [d]  rounding error of mu (`numerics.compensated`)


@pytree
class NormalInverseGamma:
    """Linear model of the features of arms with unknown noise variance.

    Deviations:
      * [printed] $a_0 = b_0 = 6$ and $lambda = 0.25$ are the authors' settings.
      * [ours] r is computed recursively. There is no intercept, and there are no initial rounds in which all arms are
        played in turn.

    References:
      Carlos Riquelme, George Tucker, Jasper Snoek. Deep Bayesian Bandits Showdown. ICLR 2018, Section 3, and the
      authors' code.
    """

    reads_context: ClassVar[bool] = False
    has_fixed_start: ClassVar[bool] = True
    dim: int = static(range="[1, inf)", doc="d, dimension of the features of an arm")
    ridge: ArrayLike = param(0.25, "(0, inf)", "lambda, regularisation")
    shape: ArrayLike = param(6.0, "(0, inf)", "a_0, shape parameter of the prior of the noise variance")
    scale: ArrayLike = param(6.0, "(0, inf)", "b_0, scale parameter of the prior of the noise variance")

    def init(self, key: jax.Array) -> NormalInverseGammaState:
        del key  # deterministic
        zero = jnp.zeros(self.dim)
        scale = CompensatedSum.init(jnp.zeros(()) + self.scale)
        inverse = inverse_factors.init(self.dim, self.ridge)
        return NormalInverseGammaState(zero, inverse, jnp.zeros(()) + self.shape, scale, zero)

    def predict(self, state: NormalInverseGammaState, obs: ArmObs) -> jax.Array:
        return obs.arms @ state.mean

    def width(self, state: NormalInverseGammaState, obs: ArmObs) -> jax.Array:
        width_sq = inverse_factors.quadratic_forms(state.inverse, obs.arms)
        return self.noise(state) * jnp.sqrt(jnp.maximum(width_sq, 0.0))

    def sample(self, key: jax.Array, state: NormalInverseGammaState, obs: ArmObs) -> jax.Array:
        normal_key, gamma_key = jax.random.split(key)
        gamma = rng.gammas(gamma_key, state.shape[None])[0]
        scale = jnp.sqrt(state.scale.total / gamma)
        if len(obs.arms) == 1:  # the same law from one normal variate
            width_sq = inverse_factors.quadratic_forms(state.inverse, obs.arms)
            return obs.arms @ state.mean + scale * jnp.sqrt(width_sq) * jax.random.normal(normal_key, (1,))
        noise = inverse_factors.root_matvec(state.inverse, rng.normal_vector(normal_key, self.dim))
        return obs.arms @ (state.mean + scale * noise)

    def noise(self, state: NormalInverseGammaState) -> jax.Array:
        return jnp.sqrt(state.scale.total / state.shape)

    def fit(self, moments: Moments) -> NormalInverseGammaState:
        inverse = inverse_factors.from_matrix(moments.gram + self.ridge * jnp.eye(self.dim, dtype=moments.gram.dtype))
        mean = inverse_factors.matvec(inverse, moments.cross)
        scale = CompensatedSum.init(jnp.zeros_like(moments.count) + self.scale)
        return NormalInverseGammaState(mean, inverse, self.shape + 0.5 * moments.count, scale, jnp.zeros_like(mean))

    def coefficients(self, state: NormalInverseGammaState) -> Vector:
        return state.mean

    def fit_noise(self, state: NormalInverseGammaState, squares: jax.Array) -> NormalInverseGammaState:
        # y'y - mu'Lambda mu = |y - X mu|^2 + lambda |mu|^2, a sum of squares.
        excess = 0.5 * (squares + self.ridge * jnp.sum(state.mean * state.mean))
        return state._replace(scale=CompensatedSum.init(self.scale + excess))

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: NormalInverseGammaState,
        obs: ArmObs,
        decision: ArmDecision,
        reward: jax.Array,
    ) -> NormalInverseGammaState:
        del key, t, obs
        image = inverse_factors.image(state.inverse, decision.x)
        error, shrink = reward - decision.x @ state.mean, 1.0 / (1.0 + image.width_sq)
        mean, rounding = CompensatedSum(state.mean, state.mean_rounding).add(image.u * (error * shrink))
        return NormalInverseGammaState(
            mean=mean,
            inverse=inverse_factors.add(state.inverse, 1.0, image),
            shape=state.shape + 0.5,
            scale=state.scale.add(0.5 * (error * error * shrink)),
            mean_rounding=rounding,
        )
