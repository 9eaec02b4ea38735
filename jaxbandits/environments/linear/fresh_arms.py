"""Heavy-tailed linear bandit with new arms in every round (the experiment of Huang, Zhong, Wang & Yang, NeurIPS 2023).

    arms of a round   K vectors with coordinates uniform on (0, 1), each divided by its norm
    theta*            (1, ..., 1) / sqrt(d)
    reward_t          x_t'theta* + a_t eta_t,   nu_t = a_t (E |eta|^{1+eps})^{1/(1+eps)}
    regret_t          max_{x available at t} x'theta* - x_t'theta*       (computed from means)

Either $a_t = 1$ in every round, or log10 $a_t$ is drawn uniformly from (0, noise_decades). Public code for the paper
has $d = 10$, $K = 20$, Student t noise (df = 2), $eps = 0.99$, and 0 or 2 decades.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.environments.linear.noise import Noise, StudentT, check_moment, check_noise, sample_with_scale
from jaxbandits.environments.outcomes import RegretOutcome
from jaxbandits.estimation.arms import largest
from jaxbandits.numerics import rng
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import ArmDecision, ArmObs, Recommendation, ScaledReward


class FreshArmsState(NamedTuple):
    """Problem instance of a trial, which does not change over rounds."""

    theta: Vector  # [d]  theta*
    noise_scale: jax.Array  # []  nu, the moment scale of eta


@pytree
class FreshArms:
    """Linear bandit with K new unit vectors as arms in every round; the noise may have infinite variance.

    theta* is the same in all trials. The feedback is the reward and $nu_t$ (`ScaledReward`); a learner that declares
    `Reward` does not receive $nu_t$.

    Raises (by `validate`):
      InputError: if the noise has no moment of order 1 + eps.
    """

    source: ClassVar[str] = "Huang, Zhong, Wang & Yang, NeurIPS 2023, their experiment"
    dim: int = static(10, "[1, inf)", "d, dimension of the arms")
    n_arms: int = static(20, "[1, inf)", "K, number of arms in a round")
    noise: Noise = param(factory=lambda: StudentT(df=2.0), doc="distribution of eta")
    eps: ArrayLike = param(0.99, "(0, 1]", "nu_t is the scale of the moment of order 1 + eps")
    noise_decades: ArrayLike | None = param(None, "[0, inf)", "upper end of the range of log10 a_t; None for a_t = 1")

    @classmethod
    def example(cls) -> "FreshArms":
        return cls(dim=2, n_arms=5)

    def check(self) -> None:
        """Raise InputError if nu is infinite."""
        check_noise(self.noise, "FreshArms.noise")
        check_moment(self.noise, self.eps, "FreshArms.eps")

    def init(self, key: jax.Array) -> FreshArmsState:
        del key  # theta* is fixed, and arms are drawn in every round
        one = jnp.zeros(()) + self.dim**-0.5
        return FreshArmsState(jnp.zeros(self.dim) + one, jnp.zeros(()) + self.noise.scale(self.eps))

    def observe(self, key: jax.Array, t: jax.Array, state: FreshArmsState) -> ArmObs:
        del t, state
        values = rng.uniforms(key, self.n_arms * self.dim)
        rows = values.reshape(self.n_arms, self.dim)
        return ArmObs(rows * (1.0 / jnp.linalg.norm(rows, axis=1, keepdims=True)))  # one division per arm, not d

    def step(
        self, key: jax.Array, t: jax.Array, state: FreshArmsState, obs: ArmObs, decision: ArmDecision
    ) -> tuple[FreshArmsState, ScaledReward, RegretOutcome]:
        del t
        noise, scale = sample_with_scale(self.noise, key, state.noise_scale, self.noise_decades)
        mean = decision.x @ state.theta
        best = largest(obs.arms @ state.theta)
        return state, ScaledReward(reward=mean + noise, noise_scale=scale), RegretOutcome(regret=best - mean)

    def admits(self, state: FreshArmsState, obs: ArmObs, decision: ArmDecision) -> jax.Array:
        """Return True if the index of the arm is in range."""
        del state, obs
        return (decision.index >= 0) & (decision.index < self.n_arms)

    def at_record(self, state: FreshArmsState, recommendation: Recommendation) -> dict[str, jax.Array]:
        """Return `estimation_error`, the Euclidean distance between the recommended parameter `[d]` and theta*."""
        if recommendation is None or jnp.shape(recommendation) != state.theta.shape:  # the recommendation may be an arm
            return {}
        return {"estimation_error": jnp.linalg.norm(recommendation - state.theta)}
