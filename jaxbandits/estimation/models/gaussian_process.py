"""Gaussian process on fixed arms, represented by a square root of the posterior covariance (Srinivas et al., 2010).

    prior    f ~ N(0, s^2 k(x_i, x_j)),   reward = f_i + N(0, R^2)
    state    mean m `[K]` and L `[K, r]` with L L' the posterior covariance
    a reward y of arm i, where l is row i of L:   c = l'l + R^2,   u = L l
        m <- m + u (y - m_i) / c,   L <- L - u l' / (c + R sqrt(c)),   gamma <- gamma + log(1 + l'l / R^2) / 2
    f_k = m_k,   w_k = ||L_k||,   sample: m + L z

This is the exact posterior, computed by Potter's square-root update: a joint draw needs no factorisation, and no
variance is a difference of large numbers. $w_k^2$ is updated by $w_k^2 <- w_k^2 - u_k^2 / c$, and recomputed from L
after 1, 2, 4, ... rounds and every `fixed_arms.REFRESH` rounds. Since $w_k^2$ never grows, each round between two
recomputations adds at most one rounding error relative to its last recomputed value. Notation: s is the
field `scale` and R is `noise_scale`. The cost is $O(K r)$ per round, and $O(K^3)$ once per trial.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.estimation import fixed_arms
from jaxbandits.estimation.models.kernels import SquaredExponential, check_kernel, covariance_root
from jaxbandits.numerics import elementary, rng
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.tracing import batching
from jaxbandits.types import ArmDecision, ArmObs, FixedArmObs


class GaussianProcessState(NamedTuple):
    """Posterior of the arms' mean rewards."""

    mean: jax.Array  # [K]  m
    root: jax.Array  # [K, r]  L
    width_sq: jax.Array  # [K]  squares of the posterior standard deviations
    gamma: CompensatedSum  # []  mutual information between the rewards and f


@pytree
class GaussianProcess:
    """Gaussian process posterior over K fixed arms with features.

    Deviations:
      * [ours] `rank` truncates the root of the prior covariance to the largest eigenvalues (None does not truncate it);
        the posterior is exact for the truncated prior. Eigenvalues that are negative because of rounding count as 0.

    Numerics:
      In float32 no squared width is negative over 10^5 rounds, and widths stay within 1 % of those in float64
      (float32/test_models.py::test_widths_of_a_gaussian_process_keep_their_digits).

    References:
      Niranjan Srinivas, Andreas Krause, Sham Kakade, Matthias Seeger. Gaussian Process Optimization in the Bandit
      Setting: No Regret and Experimental Design. ICML 2010.
      James Potter, Robert Stern. Statistical Filtering of Space Navigation Measurements. AIAA Guidance and Control
      Conference 1963: the square-root update.
    """

    reads_context: ClassVar[bool] = False
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")
    kernel: Any = param(factory=SquaredExponential, doc="k, a kernel with variance 1 (jaxbandits.contextual.models)")
    scale: ArrayLike = param(1.0, "(0, inf)", "s, prior standard deviation of the mean of an arm")
    noise_scale: ArrayLike = param(0.1, "(0, inf)", "R, standard deviation of the noise; R^2 is the regularisation")
    rank: int | None = static(None, "[1, inf)", "r, number of columns of the root L; None for K")

    @classmethod
    def igp(cls, *, n_arms: int, horizon: ArrayLike, kernel: Any = None) -> "GaussianProcess":
        """Return a model with the regularisation 1 + 2 / T of IGP-UCB and GP-TS (Chowdhury & Gopalan, ICML 2017)."""
        regularisation = 1.0 + 2.0 / ranges.numbers("horizon", horizon, "[1, 1e18]")
        return cls(
            n_arms=n_arms, noise_scale=regularisation**0.5, kernel=SquaredExponential() if kernel is None else kernel
        )

    def check(self) -> None:
        """Raise InputError for a value that is not a kernel, or a rank above K."""
        check_kernel("GaussianProcess.kernel", self.kernel)
        if self.rank is not None and self.rank > self.n_arms:
            raise InputError(f"GaussianProcess.rank must be at most n_arms = {self.n_arms}, got {self.rank}")

    def init(self, key: jax.Array) -> GaussianProcessState:
        del key  # deterministic
        columns = self.n_arms if self.rank is None else self.rank
        zero = jnp.zeros(self.n_arms)
        gamma = CompensatedSum.init(jnp.zeros(()))
        return GaussianProcessState(zero, jnp.zeros((self.n_arms, columns)), zero, gamma)

    def init_from_obs(self, state: GaussianProcessState, obs: ArmObs) -> GaussianProcessState:
        """Return the state with the root of the prior covariance of the arms.

        Raises:
          InputError: if the arms may change.
        """
        if not isinstance(obs, FixedArmObs):
            raise InputError(
                "GaussianProcess needs arms that never change (FixedArmObs); for changing arms, "
                "RandomFeatures(model=Linear(...)) approximates the same posterior"
            )
        rank = state.root.shape[1]
        root = self.scale * covariance_root(self.kernel.gram(obs.arms, obs.arms), rank)
        return state._replace(root=root, mean=root @ state.mean[:rank], width_sq=_row_norms_sq(root))

    def predict(self, state: GaussianProcessState, obs: ArmObs) -> jax.Array:
        del obs
        return state.mean

    def width(self, state: GaussianProcessState, obs: ArmObs) -> jax.Array:
        del obs
        return jnp.sqrt(jnp.maximum(state.width_sq, 0.0))

    def sample(self, key: jax.Array, state: GaussianProcessState, obs: ArmObs) -> jax.Array:
        del obs
        return state.mean + state.root @ rng.normal_vector(key, state.root.shape[1])

    def samples(self, key: jax.Array, state: GaussianProcessState, obs: ArmObs, count: int) -> jax.Array:
        del obs
        return state.mean + rng.normals(key, count, state.root.shape[1]) @ state.root.T

    def noise(self, state: GaussianProcessState) -> jax.Array:
        del state
        return jnp.zeros(()) + self.noise_scale

    def information(self, state: GaussianProcessState) -> jax.Array:
        return state.gamma.total

    def draw_prior(self, key: jax.Array, state: GaussianProcessState) -> GaussianProcessState:
        # Standard normal coordinates, which `init_from_obs` multiplies by the root to get means.
        return state._replace(mean=rng.normal_vector(key, self.n_arms))

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: GaussianProcessState,
        obs: ArmObs,
        decision: ArmDecision,
        reward: jax.Array,
    ) -> GaussianProcessState:
        del key, obs
        row = state.root[decision.index]  # [r]
        spread = jnp.sum(row * row)
        total = spread + jnp.square(self.noise_scale)
        image = state.root @ row  # [K]
        error = reward - state.mean[decision.index]
        shrink = 1.0 / (total + self.noise_scale * jnp.sqrt(total))
        root = state.root - (shrink * image)[:, None] * row
        carried = state.width_sq - image * image / total
        return GaussianProcessState(
            mean=state.mean + image * (error / total),
            root=root,
            width_sq=batching.cond(fixed_arms.is_refreshed(t), lambda: _row_norms_sq(root), lambda: carried),
            gamma=state.gamma.add(0.5 * elementary.log1p(spread / jnp.square(self.noise_scale))),
        )


def _row_norms_sq(root: jax.Array) -> jax.Array:
    return jnp.sum(root * root, axis=1)
