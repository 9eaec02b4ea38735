"""Logistic regression in one pass, with its Laplace posterior (Faury, Abeille, Jun & Calauzenes, AISTATS 2022).

    theta <- argmin_{||theta'|| <= S} ||theta' - theta||^2_W / (2 + D) + log(1 + e^z') - reward z',   z' = x'theta'
    W     <- W + mu'(x'theta) x x',   W_1 = lambda I,   mu(z) = 1 / (1 + e^-z)
    f_k = mu(z_k),   w_k = mu'(z_k) ||x_k||_{W^{-1}},   sample: mu(x_k'theta~),  theta~ ~ N(theta, W^{-1})

The update of theta is that of `ECOLog`. W is the sum of the Hessians of all rounds, each at the estimate of its round,
so that N(theta, W^{-1}) approximates the posterior for the prior N(0, I / lambda) without a pass over earlier rounds.
w_k is the width of the mean reward to first order. Notation: lambda is the field `ridge`, S is `norm_bound`, and D is
`diameter`. The cost per round is $O(K d^2)$ and a scalar root search.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.estimation.implicit import logistic_step
from jaxbandits.estimation.links import Bernoulli
from jaxbandits.numerics import inverse_factors, rng
from jaxbandits.numerics.inverse_factors import InverseFactors
from jaxbandits.numerics.linalg import Vector
from jaxbandits.numerics.projection import project_ball
from jaxbandits.types import ArmDecision, ArmObs

_LINK = Bernoulli()


class LogisticRegressionState(NamedTuple):
    """Estimate of the parameter, and inverse of the Hessian."""

    theta: Vector  # [d]  estimate
    inverse: InverseFactors  # W^{-1}


@pytree
class LogisticRegression:
    """Model of Bernoulli rewards whose log-odds are linear in the features of the arms.

    Deviations:
      * [ours] The posterior is Gaussian around the one-pass estimate, as in `GLMTS`; Chapelle and Li instead maximise
        the posterior and use a diagonal Hessian. Rewards are clipped to [0, 1].
      * [reconstructed] The quadratic term of the update has the weight 1 / (2 + D), where D = 2S by default.

    References:
      Louis Faury, Marc Abeille, Kwang-Sung Jun, Clement Calauzenes. Jointly Efficient and Optimal Algorithms for
      Logistic Bandits. AISTATS 2022, arXiv:2201.01985.
      Olivier Chapelle, Lihong Li. An Empirical Evaluation of Thompson Sampling. NIPS 2011, Algorithm 3.
    """

    reads_context: ClassVar[bool] = False
    has_fixed_start: ClassVar[bool] = True
    dim: int = static(range="[1, inf)", doc="d, dimension of the features of an arm")
    ridge: ArrayLike = param(1.0, "(0, inf)", "lambda, regularisation")
    norm_bound: ArrayLike = param(3.0, "(0, inf)", "S, bound on the norm of the true parameter")
    diameter: ArrayLike | None = param(
        None, "(0, inf)", "D, largest |x'(theta - theta')| over the arms and the ball; None for 2S"
    )

    def init(self, key: jax.Array) -> LogisticRegressionState:
        del key  # deterministic
        return LogisticRegressionState(jnp.zeros(self.dim), inverse_factors.init(self.dim, self.ridge))

    def predict(self, state: LogisticRegressionState, obs: ArmObs) -> jax.Array:
        return _LINK.mean(obs.arms @ state.theta)

    def width(self, state: LogisticRegressionState, obs: ArmObs) -> jax.Array:
        width_sq = inverse_factors.quadratic_forms(state.inverse, obs.arms)
        return _LINK.slope(obs.arms @ state.theta) * jnp.sqrt(jnp.maximum(width_sq, 0.0))

    def sample(self, key: jax.Array, state: LogisticRegressionState, obs: ArmObs) -> jax.Array:
        noise = inverse_factors.root_matvec(state.inverse, rng.normal_vector(key, self.dim))
        return _LINK.mean(obs.arms @ (state.theta + noise))

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: LogisticRegressionState,
        obs: ArmObs,
        decision: ArmDecision,
        reward: jax.Array,
    ) -> LogisticRegressionState:
        del key, t, obs
        x, reward = decision.x, jnp.clip(reward, 0.0, 1.0)
        diameter = 2.0 * self.norm_bound if self.diameter is None else self.diameter
        scale = 0.5 * (2.0 + diameter)

        def project(inverse: InverseFactors, y: Vector, weight: Any) -> Vector:
            del weight
            return project_ball(inverse, y, self.norm_bound)

        theta = logistic_step(state.inverse, state.theta, x, 1.0, reward, scale, self.norm_bound, project)
        image = inverse_factors.image(state.inverse, x)
        return LogisticRegressionState(theta, inverse_factors.add(state.inverse, _LINK.slope(x @ theta), image))
