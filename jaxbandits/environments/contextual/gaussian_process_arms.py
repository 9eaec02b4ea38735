"""Arms on a grid whose mean rewards are a sample path of a Gaussian process (Srinivas et al., ICML 2010, Section 6).

    arms      K points x_i of [0, 1]^d
    means     f ~ N(0, s^2 k(x_i, x_j)), drawn for every trial
    reward_t  f_i + N(0, R^2) for the arm i played,   regret_t = max_k f_k - f_i

For d = 1 the arms are K equidistant points, including 0 and 1; for d > 1 they are drawn for every trial, uniformly from
the cube.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.environments.outcomes import RegretOutcome
from jaxbandits.estimation.arms import largest
from jaxbandits.estimation.models.kernels import SquaredExponential, check_kernel, covariance_root
from jaxbandits.numerics import rng
from jaxbandits.types import ArmDecision, FixedArmObs, Reward


class GaussianProcessArmsState(NamedTuple):
    """Problem instance of a trial, which does not change over rounds."""

    arms: jax.Array  # [K, d]
    means: jax.Array  # [K]
    best: jax.Array  # []


@pytree
class GaussianProcessArms:
    """K fixed arms whose means are a smooth random function of their features.

    Deviations:
      * [reconstructed] The defaults K = 1000, length scale 0.2 and R^2 = 0.025 are the paper's synthetic setting.

    References:
      Niranjan Srinivas, Andreas Krause, Sham Kakade, Matthias Seeger. Gaussian Process Optimization in the Bandit
      Setting: No Regret and Experimental Design. ICML 2010, Section 6.
    """

    source: ClassVar[str] = "Srinivas, Krause, Kakade & Seeger, ICML 2010, Section 6"
    units: ClassVar = {"regret": "reward"}
    n_arms: int = static(1000, "[2, inf)", "K, number of arms")
    dim: int = static(1, "[1, inf)", "d, dimension of the arms")
    kernel: Any = param(factory=SquaredExponential, doc="k, a kernel with variance 1 (jaxbandits.contextual.models)")
    scale: ArrayLike = param(1.0, "(0, inf)", "s, standard deviation of the mean of an arm")
    noise_scale: ArrayLike = param(0.025**0.5, "[0, inf)", "R, standard deviation of the noise")

    @classmethod
    def example(cls) -> "GaussianProcessArms":
        return cls(n_arms=8)

    def check(self) -> None:
        """Raise InputError if `kernel` is not a kernel."""
        check_kernel("GaussianProcessArms.kernel", self.kernel)

    def init(self, key: jax.Array) -> GaussianProcessArmsState:
        arms_key, path_key = jax.random.split(key)
        if self.dim == 1:
            arms = jnp.linspace(0.0, 1.0, self.n_arms)[:, None]
        else:
            arms = rng.uniform_between(arms_key, (self.n_arms, self.dim), 0.0, 1.0)
        root = covariance_root(self.kernel.gram(arms, arms))
        means = self.scale * (root @ rng.normal_vector(path_key, self.n_arms))
        return GaussianProcessArmsState(arms, means, jnp.max(means))

    def observe(self, key: jax.Array, t: jax.Array, state: GaussianProcessArmsState) -> FixedArmObs:
        del key, t
        return FixedArmObs(state.arms)

    def step(
        self, key: jax.Array, t: jax.Array, state: GaussianProcessArmsState, obs: FixedArmObs, decision: ArmDecision
    ) -> tuple[GaussianProcessArmsState, Reward, RegretOutcome]:
        del t
        mean = state.means[decision.index]
        best = state.best if obs.mask is None else largest(state.means, obs.mask)
        return state, Reward(mean + self.noise_scale * rng.normal(key)), RegretOutcome(best - mean)

    def admits(self, state: GaussianProcessArmsState, obs: FixedArmObs, decision: ArmDecision) -> jax.Array:
        """Return True if the index of the arm is in range."""
        del state, obs
        return (decision.index >= 0) & (decision.index < self.n_arms)
