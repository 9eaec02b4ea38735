"""Random Fourier features: a linear model that approximates a Gaussian process on changing arms (Rahimi & Recht).

    phi(x) = s sqrt(2 / D) cos(W x + b),   rows of W from the kernel's spectral density, b uniform on (0, 2 pi)

phi(x)'phi(y) has mean $s^2 k(x, y)$ and an error of order $D^{-1/2}$. A linear model on these features therefore
approximates a Gaussian process with the covariance $s^2 k$; s is in units of the prior standard deviation of the linear
model. W and b are drawn once per trial. The cost per round is that of the model in dimension D, plus $O(K d D)$.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, PyTree, param, pytree, static
from jaxbandits.estimation.models.feature_model import FeatureModel
from jaxbandits.estimation.models.kernels import SquaredExponential, check_kernel
from jaxbandits.estimation.models.protocol import check_model
from jaxbandits.numerics import rng
from jaxbandits.types import ArmDecision, ArmObs, ContextObs, FixedArmObs, Obs


class RandomFeaturesState(NamedTuple):
    """Parameters of the random features, and state of the inner model."""

    weights: jax.Array  # [D, d]  W
    phase: jax.Array  # [D]  b
    inner: PyTree  # state of the inner model
    arms: Any = None  # [K, D]  features phi of the arms if they never change, else None


@pytree
class RandomFeatures(FeatureModel):
    """Linear model on random features of a kernel.

    Guarantee:
      The guarantee of the linear model holds for functions that are linear in the D features. If D is less than the
      number of plays, widths far from the data may be too small (variance starvation; Mutny & Krause, NeurIPS 2018).

    References:
      Ali Rahimi, Benjamin Recht. Random Features for Large-Scale Kernel Machines. NIPS 2007.
    """

    model: Any = param(doc="linear model with dim = D, the number of features")
    input_dim: int = static(range="[1, inf)", doc="d, dimension of the arms or the context")
    kernel: Any = param(factory=SquaredExponential, doc="k, a kernel with variance 1 (jaxbandits.contextual.models)")
    scale: ArrayLike = param(1.0, "(0, inf)", "s, prior standard deviation of a mean, relative to that of the model")

    def check(self) -> None:
        """Raise InputError if `model` is not a model with a dimension, or if `kernel` is not a kernel."""
        check_model("RandomFeatures.model", self.model)
        check_kernel("RandomFeatures.kernel", self.kernel)
        if getattr(self.model, "dim", None) is None:
            raise InputError(f"RandomFeatures.model must have a dimension, but {type(self.model).__name__} has none")

    @property
    def dim(self) -> int:
        """d, dimension of the arms or the context."""
        return self.input_dim

    def init(self, key: jax.Array) -> RandomFeaturesState:
        weights_key, phase_key, model_key = jax.random.split(key, 3)
        count = self.model.dim
        weights = self.kernel.frequencies(weights_key, count, self.input_dim)
        return RandomFeaturesState(weights, 2.0 * math.pi * rng.uniforms(phase_key, count), self.model.init(model_key))

    def init_from_obs(self, state: RandomFeaturesState, obs: Obs) -> RandomFeaturesState:
        if isinstance(obs, FixedArmObs):
            state = state._replace(arms=self._rows(state, obs.arms))
        if hasattr(self.model, "init_from_obs"):
            state = state._replace(inner=self.model.init_from_obs(state.inner, self.map_obs(state, obs)))
        return state

    def features(self, state: RandomFeaturesState, x: jax.Array) -> jax.Array:
        """Return the features phi(x) `[D]` of x `[d]`."""
        return self.scale * math.sqrt(2.0 / self.model.dim) * jnp.cos(state.weights @ x + state.phase)

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: RandomFeaturesState,
        obs: Obs,
        decision: ArmDecision,
        reward: jax.Array,
    ) -> RandomFeaturesState:
        seen = self.map_obs(state, obs)
        if not self.reads_context:
            decision = decision._replace(x=seen.arms[decision.index])
        return state._replace(inner=self.model.update(key, t, state.inner, seen, decision, reward))

    def map_obs(self, state: RandomFeaturesState, obs: Obs) -> Any:
        if self.reads_context:
            return ContextObs(self.features(state, obs.context), obs.arms, obs.mask)
        if state.arms is not None:
            return FixedArmObs(state.arms, obs.mask)
        return ArmObs(self._rows(state, obs.arms), obs.mask)

    def _rows(self, state: RandomFeaturesState, arms: jax.Array) -> jax.Array:
        return jax.vmap(lambda x: self.features(state, x))(arms)
