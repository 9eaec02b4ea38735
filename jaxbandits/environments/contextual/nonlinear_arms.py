"""Arms whose mean rewards are not linear in their features (Zhou, Li & Gu, ICML 2020, Section 7.1).

    arms of a round   K vectors, uniform on the unit sphere of R^d
    "quadratic"       10 (x'a)^2
    "form"            ||A x||^2,   A with standard normal entries
    "cosine"          cos(3 x'a)
    "cubic"           10 (x'a)^3
    reward_t = mean + N(0, R^2),   regret_t = (largest mean) - (mean of the arm played)

a is uniform on the unit sphere; a and A are drawn for every trial.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import unknown_name
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.environments.outcomes import RegretOutcome
from jaxbandits.estimation.arms import largest
from jaxbandits.numerics import rng
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import ArmDecision, ArmObs, Reward

_SHAPES = ("quadratic", "form", "cosine", "cubic")


class NonlinearArmsState(NamedTuple):
    """Problem instance of a trial, which does not change over rounds."""

    direction: Vector  # [d]  a
    matrix: jax.Array  # [d, d]  A


@pytree
class NonlinearArms:
    """Arms that are drawn anew in every round, with mean rewards that are a nonlinear function of their features.

    Deviations:
      * [printed] "quadratic", "form" and "cosine" are h_1, h_2, h_3 of the paper, with d = 20 and K = 4.
      * [reconstructed] The noise has standard deviation 1.
      * [ours] "cubic" is not in the paper.

    References:
      Dongruo Zhou, Lihong Li, Quanquan Gu. Neural Contextual Bandits with UCB-based Exploration. ICML 2020.
    """

    source: ClassVar[str] = "Zhou, Li & Gu, ICML 2020, Section 7.1"
    units: ClassVar = {"regret": "reward"}
    n_arms: int = static(4, "[1, inf)", "K, number of arms in a round")
    dim: int = static(20, "[1, inf)", "d, dimension of the arms")
    shape: str = static("quadratic", doc='"quadratic", "form", "cosine" or "cubic"')
    noise_scale: ArrayLike = param(1.0, "[0, inf)", "R, standard deviation of the noise")

    @classmethod
    def example(cls) -> "NonlinearArms":
        return cls(dim=3)

    def check(self) -> None:
        """Raise InputError for an unknown shape."""
        if self.shape not in _SHAPES:
            raise unknown_name("NonlinearArms.shape", self.shape, _SHAPES)

    def init(self, key: jax.Array) -> NonlinearArmsState:
        direction_key, matrix_key = jax.random.split(key)
        size = self.dim if self.shape == "form" else 0
        return NonlinearArmsState(rng.unit_vector(direction_key, self.dim), rng.normals(matrix_key, size, self.dim))

    def observe(self, key: jax.Array, t: jax.Array, state: NonlinearArmsState) -> ArmObs:
        del t, state
        return ArmObs(rng.unit_vectors(key, self.n_arms, self.dim))

    def means(self, state: NonlinearArmsState, arms: jax.Array) -> jax.Array:
        """Return the mean rewards `[K]` of arms `[K, d]`."""
        if self.shape == "form":
            return jnp.sum(jnp.square(arms @ state.matrix.T), axis=1)
        z = arms @ state.direction
        if self.shape == "cosine":
            return jnp.cos(3.0 * z)
        return 10.0 * z * z * (z if self.shape == "cubic" else 1.0)

    def step(
        self, key: jax.Array, t: jax.Array, state: NonlinearArmsState, obs: ArmObs, decision: ArmDecision
    ) -> tuple[NonlinearArmsState, Reward, RegretOutcome]:
        del t
        means = self.means(state, obs.arms)
        mean = jnp.sum(jnp.where(jnp.arange(self.n_arms) == decision.index, means, 0.0))
        return state, Reward(mean + self.noise_scale * rng.normal(key)), RegretOutcome(largest(means, obs.mask) - mean)

    def admits(self, state: NonlinearArmsState, obs: ArmObs, decision: ArmDecision) -> jax.Array:
        """Return True if the index of the arm is in range."""
        del state, obs
        return (decision.index >= 0) & (decision.index < self.n_arms)
