"""Network in a random subspace of its weights, with an extended Kalman filter (Duran-Martin, Kara & Murphy, 2022).

    weights w = w_0 + A z,   z in R^s,   prior z ~ N(0, sigma_0^2 I);   columns of A: random directions of length 1
    h   = A' grad_w f_k(x; w),   V = (R / sigma_0)^2 I + sum h h'
    z  <- z + V_new^{-1} h (reward - f_k),   posterior N(z, R^2 V^{-1})
    f_k = output for arm k at z,   w_k = R sqrt(h_k'V^{-1} h_k),   sample: outputs at z~ ~ N(z, R^2 V^{-1})

After each reward, V and z are updated with h and f_k at the weights before the update; this is an extended Kalman
filter for a constant state. It makes one pass over the data and needs no buffer. Notation: R is the field
`noise_scale`, sigma_0 is `prior_scale`, and s is `subspace_dim`. For P weights, the cost per round is $O(K P s + K
s^2)$ with `width`, and $O(P s + s^2)$ with `sample`. The matrix A takes $P s$ numbers in the state.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from jaxbandits.base.pytree import ArrayLike, PyTree, param, pytree, static
from jaxbandits.estimation.models import mlp
from jaxbandits.estimation.models.network_model import PerceptronModel
from jaxbandits.estimation.models.protocol import at
from jaxbandits.numerics import inverse_factors, rng
from jaxbandits.numerics.inverse_factors import InverseFactors
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import ArmDecision, Obs


class SubspaceNetworkState(NamedTuple):
    """Subspace of the weights, and Gaussian posterior of the coordinates z in this subspace."""

    origin: jax.Array  # [P]  w_0
    basis: jax.Array  # [P, s]  A
    mean: Vector  # [s]  z
    inverse: InverseFactors  # V^{-1}


@pytree
class SubspaceNetwork(PerceptronModel):
    """Multilayer perceptron with a Gaussian posterior in a random subspace of its weights.

    Guarantee:
      There is no guarantee in general. Without hidden layers the outputs are linear in z, and the filter is Bayesian
      linear regression.

    Deviations:
      * [ours] w_0 is the random initialisation; the authors first take 2,000 steps of gradient descent on the initial
        rounds, and offer the principal components of these steps as columns of A.
      * [ours] R is a field. The authors' script for tables has R = 0, with which the rank of V^{-1} decreases by one in
        every round.

    References:
      Gerardo Duran-Martin, Aleyna Kara, Kevin Murphy. Efficient Online Bayesian Inference for Neural Bandits. AISTATS
      2022, Sections 3.2 and 3.3.
    """

    subspace_dim: int = static(50, "[1, inf)", "s, dimension of the subspace")
    noise_scale: ArrayLike = param(1.0, "(0, inf)", "R, standard deviation of the noise of rewards")
    prior_scale: ArrayLike = param(1.0, "(0, inf)", "sigma_0, standard deviation of z before the first round")

    def init(self, key: jax.Array) -> SubspaceNetworkState:
        layers_key, basis_key = jax.random.split(key)
        origin = ravel_pytree(mlp.init(layers_key, self.sizes))[0]
        basis = rng.normals(basis_key, len(origin), self.subspace_dim)
        basis = basis / jnp.sqrt(jnp.sum(basis * basis, axis=0))
        ratio = self.noise_scale / self.prior_scale
        inverse = inverse_factors.init(self.subspace_dim, ratio * ratio)
        return SubspaceNetworkState(origin, basis, jnp.zeros(self.subspace_dim), inverse)

    def predict(self, state: SubspaceNetworkState, obs: Obs) -> jax.Array:
        return self._outputs(state, state.mean, obs)

    def width(self, state: SubspaceNetworkState, obs: Obs) -> jax.Array:
        gradients = jax.jacrev(lambda z: self._outputs(state, z, obs))(state.mean)  # [K, s]
        width_sq = inverse_factors.quadratic_forms(state.inverse, gradients)
        return self.noise_scale * jnp.sqrt(jnp.maximum(width_sq, 0.0))

    def sample(self, key: jax.Array, state: SubspaceNetworkState, obs: Obs) -> jax.Array:
        noise = inverse_factors.root_matvec(state.inverse, rng.normal_vector(key, self.subspace_dim))
        return self._outputs(state, state.mean + self.noise_scale * noise, obs)

    def noise(self, state: SubspaceNetworkState) -> jax.Array:
        del state
        return jnp.zeros(()) + self.noise_scale

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: SubspaceNetworkState,
        obs: Obs,
        decision: ArmDecision,
        reward: jax.Array,
    ) -> SubspaceNetworkState:
        del key, t
        x = obs.context if self.reads_context else decision.x

        def value(z: Vector) -> jax.Array:
            outputs = mlp.apply(self._layers(state, z), x, self.activation)
            return at(outputs, decision.index) if self.reads_context else outputs[0]

        prediction, gradient = jax.value_and_grad(value)(state.mean)
        image = inverse_factors.image(state.inverse, gradient)
        mean = state.mean + image.u * ((reward - prediction) / (1.0 + image.width_sq))
        return state._replace(mean=mean, inverse=inverse_factors.add(state.inverse, 1.0, image))

    def _outputs(self, state: SubspaceNetworkState, z: Vector, obs: Obs) -> jax.Array:
        """Return the outputs `[K]` at coordinates z."""
        layers = self._layers(state, z)
        if self.reads_context:
            return mlp.apply(layers, obs.context, self.activation)
        return mlp.apply(layers, obs.arms, self.activation)[:, 0]

    def _layers(self, state: SubspaceNetworkState, z: Vector) -> PyTree:
        return mlp.unravel(state.origin + state.basis @ z, self.sizes)
